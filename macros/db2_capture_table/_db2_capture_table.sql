{#- What the decoder of capture tables makes from rows that are judged: events. -#}

{#- CTEs to `paired`: the rows that make one event each. A delete that is directly followed by an insert of the same key, in
    the same commit, is half of an update. So is a delete at the position of an insert. -#}
{%- macro _db2_paired_rows(spec) -%}
    {%- set key, deleted, inserted, fields = [], [], [], [] -%}
    {%- for name in spec.key -%}
        {%- set column, data_type = spark_cdc._quote(name), spec.columns[name] -%}
        {%- set value = spark_cdc._bytewise('cdc_row.' ~ column, data_type) -%}
        {%- do key.append(spark_cdc._literal(name) ~ ', ' ~ value) -%}
        {%- do deleted.append(spark_cdc._bytewise('cdc_deleted_row.' ~ column, data_type) ~ ' = ' ~ value) -%}
        {%- do inserted.append('cdc_inserted_key.' ~ column ~ ' = ' ~ value) -%}
    {%- endfor -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set column = spark_cdc._quote(name) -%}
        {%- if name in spec.befores and name in spec.key -%}
            {%- set value = 'coalesce(cdc_before.' ~ column ~ ', cdc_row.' ~ column ~ ')' -%}
        {%- elif name in spec.befores -%}
            {%- set value = 'cdc_before.' ~ column -%}
        {%- elif name in spec.key -%}
            {%- set value = 'cdc_row.' ~ column -%}
        {%- else -%}
            {%- set value = 'cast(null as ' ~ spark_cdc._spaced(data_type) ~ ')' -%}
        {%- endif -%}
        {%- do fields.append(spark_cdc._literal(name) ~ ', ' ~ value) -%}
    {%- endfor -%}
{{ spark_cdc._db2_judged(spec) }},

side_by_side as (
    select
        *,
        lag(case when cdc_operation = 'D' then cdc_row end) over in_order as cdc_deleted_row,
        lead(
            case
                when cdc_operation = 'I'
                    then named_struct(
                        {{ key | join(',\n') | indent(24) }}
                    )
            end
        ) over in_order as cdc_inserted_key,
        lag(cdc_raw_rows) over in_order as cdc_deleted_raw_rows
    from judged
    where cdc_reason is null
    window in_order as (partition by cdc_bucket, cdc_place order by cdc_intentseq, cdc_is_after)
),

halves as (
    select
        *,
        coalesce(
            cdc_operation = 'D'
            and (
                cdc_is_half
                or (
                    {{ inserted | join('\nand ') | indent(20) }}
                )
            ),
            false
        ) as cdc_is_first_half,
        coalesce(
            cdc_operation = 'I'
            and (
                cdc_is_half
                or (
                    {{ deleted | join('\nand ') | indent(20) }}
                )
            ),
            false
        ) as cdc_is_pair
    from side_by_side
),

paired as (
    select
        * except (
            cdc_deleted_row, cdc_inserted_key, cdc_deleted_raw_rows, cdc_is_first_half, cdc_raw_rows{{ ', cdc_before' if spec.befores }}
        ),
        cdc_raw_rows + if(cdc_is_pair, cdc_deleted_raw_rows, 0L) as cdc_raw_rows,
        case
            when cdc_is_pair then cdc_deleted_row
            when cdc_operation = 'D' then cdc_row
            {%- if spec.befores %}
            when cdc_operation = 'U'
                then named_struct(
                    {{ fields | join(',\n') | indent(20) }}
                )
            {%- endif %}
        end as cdc_before
    from halves
    where not cdc_is_first_half
)
{%- endmacro -%}

{#- CTEs from `rows` to `joined`: the rows with their unit of work. They are joined by cdc_place, which for a row of a full
    refresh matches no commit. With `has_times`, also the anchor of each row of a full refresh. -#}
{%- macro _db2_joined(spec, rows, has_times=false) -%}
    {%- set joins = [] -%}
    {%- if spec.inputs -%}
,

{{ spark_cdc._db2_units(spec) }}
        {%- do joins.append('    left join units\n        on ' ~ rows ~ '.cdc_bucket = units.cdc_bucket and ' ~ rows ~ '.cdc_place = units.cdc_commitseq') -%}
    {%- endif -%}
    {%- if has_times and 'LOGMARKER' in spec.headers -%}
,

{{ spark_cdc._db2_load_times(spec) }}
        {%- do joins.append('    left join load_times\n        on ' ~ rows ~ '.cdc_is_load and ' ~ rows ~ '.cdc_logmarker = load_times.cdc_load_at') -%}
    {%- endif %},

joined as (
    {%- if not joins %}
    select * from {{ rows }}
    {%- else %}
    select{{ ' /*+ broadcast(load_times) */' if has_times and 'LOGMARKER' in spec.headers }}
        {{ rows }}.*,
        {%- if spec.inputs %}
        units.cdc_unit{{ ',' if has_times and 'LOGMARKER' in spec.headers }}
        {%- endif %}
        {%- if has_times and 'LOGMARKER' in spec.headers %}
        load_times.cdc_anchor
        {%- endif %}
    from {{ rows }}
{{ joins | join('\n') }}
    {%- endif %}
)
{%- endmacro -%}

{#- The sequence of a row of `joined`, and the sequence of its commit. -#}
{%- macro _db2_sequence_of_row(spec) -%}
    {%- set zeros = "'" ~ '0' * 32 ~ "'" -%}
    {%- set anchor = 'coalesce(cdc_anchor, ' ~ zeros ~ ')' if 'LOGMARKER' in spec.headers else zeros -%}
    {{ return({
        'cdc_sequence': "if(\n    cdc_is_load,\n    concat(" ~ anchor ~ ", '.', cast(cdc_place as string)),\n    concat(hex(cdc_place), '.', hex(cdc_intentseq))\n)",
        'cdc_commit_sequence': "if(\n    cdc_is_load,\n    concat(\n        " ~ anchor ~ ",\n        '.',\n        left(cast(cdc_place as string), 21)\n    ),\n    hex(cdc_place)\n)",
    }) }}
{%- endmacro -%}

{#- What every event has, with or without `base`. -#}
{%- macro _db2_of_event(spec) -%}
    {%- set told, metadata = {}, ["'intentseq', hex(cdc_intentseq)"] -%}
    {%- for name in spark_cdc._db2_told(spec) -%}
        {%- do told.update({name: ('cdc_' if name in spec.headers else 'cdc_unit.') ~ name | lower}) -%}
    {%- endfor -%}
    {%- do metadata.append("'logmarker', " ~ (told.LOGMARKER or 'cast(null as timestamp)')) -%}
    {%- for name in ('AUTHID', 'APPLY_QUAL') if name in told -%}
        {%- do metadata.append("'" ~ name | lower ~ "', " ~ told[name]) -%}
    {%- endfor -%}
    {{ return(dict(spark_cdc._db2_sequence_of_row(spec), **{
        'cdc_commit_at': 'to_utc_timestamp(' ~ told.LOGMARKER ~ ', ' ~ spark_cdc._literal(spec.source_timezone) ~ ')' if told.LOGMARKER else none,
        'cdc_transaction_id': told.UOWID,
        'cdc_metadata': spark_cdc._call('named_struct', metadata),
        'cdc_raw_rows': 'cdc_raw_rows',
    })) }}
{%- endmacro -%}

{#- The operation of an event. -#}
{%- macro _db2_operation() -%}
case
    when cdc_is_load then 'load'
    when cdc_operation = 'U' or cdc_is_pair then 'update'
    when cdc_operation = 'I' then 'insert'
    else 'delete'
end
{%- endmacro -%}

{#- The columns that an update changed. They are known for a pair, and for a row if every column has a before column. Spark
    evaluates `filter` outside of its generated code; see _qlik_names_where. -#}
{%- macro _db2_changed_columns(spec) -%}
    {%- set names = [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set column = spark_cdc._quote(name) -%}
        {%- do names.append(spark_cdc._call('if', [
            spark_cdc._bytewise('cdc_before.' ~ column, data_type) ~ ' <=> ' ~ spark_cdc._bytewise('cdc_row.' ~ column, data_type),
            'null', spark_cdc._literal(name),
        ])) -%}
    {%- endfor -%}
case
    when cdc_is_pair{{ " or cdc_operation = 'U'" if spec.befores | length == spec.columns | length }}
        then filter(
            array(
                {{ names | join(',\n') | indent(16) }}
            ),
            name -> name is not null
        )
end
{%- endmacro -%}
