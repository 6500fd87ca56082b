{#- The effects of change events on keys. -#}

{#- The table that a relation of change events describes. `columns` (the names of the result, in table order) and `key` are
    as the relation spells them. `collated` has the types of the attributes that have a collation. Wrong arguments stop. -#}
{%- macro _changed_table(macro_name, changes, key, columns, null_keys=false) -%}
    {%- do spark_cdc._check_null_keys(macro_name, null_keys) -%}
    {%- set example = "{{ spark_cdc." ~ macro_name ~ "(ref('orders__changes'), key=['order_id']) }}" -%}
    {%- set there = spark_cdc.columns_of(changes) -%}
    {%- set names = [] -%}
    {%- for name in there if not (name | lower).startswith('cdc_') -%}
        {%- do names.append(name) -%}
    {%- endfor -%}
    {%- set problems = spark_cdc._event_column_problems(there, [
        'cdc_operation', 'cdc_sequence', 'cdc_commit_sequence', 'cdc_commit_at', 'cdc_present_columns', 'cdc_before'
    ]) -%}
    {%- if problems -%}
        {{ spark_cdc._stop(
            macro_name, changes ~ ' does not have change events: ' ~ problems | join('; '),
            'the model of a decoder, or a view over one', example
        ) }}
    {%- endif -%}
    {%- set key_names = spark_cdc._resolve_key(macro_name, key, names, example) -%}
    {%- if columns is not none -%}
        {%- set wanted = spark_cdc._resolve_names(macro_name, 'columns', columns, names, example) -%}
        {%- set names = names | select('in', key_names + wanted) | list -%}
    {%- endif -%}
    {%- set collated, key_collated = {}, [] -%}
    {%- for name in names if ' collate ' in there[name] | lower -%}
        {%- if name in key_names -%}
            {%- do key_collated.append(name) -%}
        {%- else -%}
            {%- do collated.update({name: there[name]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({
        'columns': names,
        'key': key_names,
        'null_keys': null_keys,
        'attributes': names | reject('in', key_names) | list,
        'collated': collated,
        'key_is_collated': key_collated | length > 0,
    }) }}
{%- endmacro -%}

{#- CTEs that end in `effects`: the effects of the change events on keys. -#}
{%- macro _effects(changes, table) -%}
with changes as (
    select
        {%- for name in table.key %}
        {{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_present_columns,
        cdc_before,
        -- as one value: Spark plans longer if more columns go from step to step
        {{ spark_cdc._struct(table.attributes or table.key) | indent(8) }} as cdc_row,
        -- for an update: whether it moved its row here from another key (rule 3)
        {{ spark_cdc._is_move(table) | indent(8) }} as cdc_moved
    from {{ changes }}
),

-- the keys that each event names: its own key, and for a moved row also the key that it left
named_keys as (
    select
        {%- for name in table.key %}
        {{ spark_cdc._named_key(table, name) | indent(8) }} as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_row,
        -- a column that a moved row does not carry is null at its new key (rule 13)
        case when not cdc_moved then cdc_present_columns end as cdc_present_columns,
        case
            {{ spark_cdc._when_broken(table) | indent(12) }}
            when cdc_leaves or cdc_operation = 'delete' then -1
            when cdc_moved or cdc_operation = 'insert' then 1
            else 0
        end as cdc_row_delta
    from changes
        lateral view explode(
            case when cdc_moved then array(false, true) else array(false) end
        ) sides as cdc_leaves
    where not cdc_operation <=> 'truncate'
),

-- The effect of each event on each key that it names. Keys are counted (rule 4). An effect adds cdc_row_delta, and
-- after any effect other than a removal the count is at least 1. The column cdc_after has the row, and the columns
-- that the event carries (null: all).
effects as (
    select
        {{ spark_cdc._effect_key(table) | indent(8) }},
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_row_delta,
        case
            when cdc_row_delta >= 0
                then named_struct(
                    'cdc_present_columns', cdc_present_columns,
                    'cdc_row', cdc_row
                )
        end as cdc_after
    from named_keys
)
{%- endmacro -%}

{#- The first branch of a `case` over change events: the query stops at an event that has no place, or no key. The decoders of
    this package make none. A truncate has no key. -#}
{%- macro _when_broken(table, is_truncate=false) -%}
    {%- set problems, texts, values, shown = {}, [], [], ['cdc_operation', 'cdc_sequence', 'cdc_commit_sequence', 'cdc_commit_at'] -%}
    {%- for name in ('cdc_sequence', 'cdc_commit_sequence') -%}{%- do problems.update({name ~ ' is NULL': name ~ ' is null'}) -%}{%- endfor -%}
    {%- do problems.update({
        'cdc_commit_at is not in the years 1 to 9999': "cdc_commit_at < timestamp '0001-01-01 00:00:00Z'\n"
            ~ "or cdc_commit_at > timestamp '9999-12-31 23:59:59.999999Z'",
    }) -%}
    {%- if not is_truncate -%}
        {%- set operations = "'" ~ spark_cdc._event_operations() | join("', '") ~ "'" -%}
        {%- do problems.update({
            'cdc_operation is unknown': 'cdc_operation is null\nor cdc_operation not in (' ~ operations ~ ')',
        }) -%}
        {%- for name in table.key if not table.null_keys -%}
            {%- do problems.update({'the key column ' ~ name ~ ' is NULL': spark_cdc._quote(name) ~ ' is null'}) -%}
        {%- endfor -%}
        {%- do shown.extend(table.key) -%}
    {%- endif -%}
    {%- for problem, condition in problems.items() -%}
        {%- do texts.append(spark_cdc._call('if', [condition, spark_cdc._literal(problem), 'null'])) -%}
    {%- endfor -%}
    {%- for name in shown -%}
        {%- set value = 'cast(' ~ spark_cdc._quote(name) ~ ' as string)' -%}
        {%- do values.append(spark_cdc._call('concat', [spark_cdc._literal(name ~ ' = '), 'coalesce(' ~ value ~ ", 'NULL')"])) -%}
    {%- endfor -%}
{#- no to_json: where Spark does not compile it, it compiles no neighbour either -#}
when
    {{ problems.values() | join('\nor ') | indent(4) }}
    then raise_error(
        concat(
            'spark_cdc: a change event is broken: ',
            {{ spark_cdc._call('concat_ws', ["', '"] + texts) | indent(12) }},
            ' in ',
            {{ spark_cdc._call('concat_ws', ["', '"] + values) | indent(12) }}
        )
    )
{%- endmacro -%}

{#- Whether an event moves its row from another key. A NULL in a before image is unknown, unless NULL is a value of keys. -#}
{%- macro _is_move(table) -%}
    {%- set differ = [] -%}
    {%- for name in table.key -%}
        {%- set own = spark_cdc._quote(name) -%}
        {%- do differ.append(
            'not (cdc_before.' ~ own ~ ' <=> ' ~ own ~ ')' if table.null_keys
            else 'coalesce(cdc_before.' ~ own ~ ' <> ' ~ own ~ ', false)'
        ) -%}
    {%- endfor -%}
cdc_operation = 'update'{{ ' and cdc_before is not null' if table.null_keys }} and (
    {{ differ | join('\nor ') | indent(4) }}
)
{%- endmacro -%}

{#- A column of a key that an event names: of its own key or, with cdc_leaves, of the key in its before image. -#}
{%- macro _named_key(table, name) -%}
    {%- set own = spark_cdc._quote(name) -%}
    {%- set before = 'cdc_before.' ~ own if table.null_keys else 'coalesce(cdc_before.' ~ own ~ ', ' ~ own ~ ')' -%}
case
    when cdc_leaves then {{ before }}
    else {{ own }}
end
{%- endmacro -%}

{#- The columns that identify the key of an effect. A hash sorts fast, whatever the columns of the key are. But values that
    are equal in a collation have different hashes. -#}
{%- macro _effect_key(table) -%}
    {%- if not table.key_is_collated -%}
xxhash64({{ spark_cdc._column_list(table.key) }}) as cdc_key_hash,
{% endif -%}
    {%- for name in table.key -%}
{{ spark_cdc._quote(name) }}{{ ',\n' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}

{#- The columns by which the effects of a key are grouped: see _effect_key. -#}
{%- macro _effect_group(table) -%}
    {{ return(table.key if table.key_is_collated else ['cdc_key_hash']) }}
{%- endmacro -%}
