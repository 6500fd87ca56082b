{#- The change events in Debezium's envelope, for other readers. See _macros.yml. -#}
{%- macro change_feed(changes, key, source={}, schema=false, keyed=false, null_keys=false) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(changes) -%}{{ return(spark_cdc._untold(changes)) }}{%- endif -%}
    {%- do spark_cdc._check_feed_model() -%}
    {%- set spec = spark_cdc._feed_spec(changes, key, source, schema, keyed, null_keys) -%}
    {{ return(spark_cdc._fit_for_view('change_feed', spark_cdc._change_feed(spec))) }}
{%- endmacro -%}

{#- The select. -#}
{%- macro _change_feed(spec) -%}
    {%- set position = 'cdc_commit_sequence, cdc_sequence' ~ (', cdc_step' if spec.keyed) -%}
{%- if spec.keyed -%}
{{ spark_cdc._feed_departures(spec) }},

{% else -%}
with {% endif -%}
change_rows as (
    select
        {%- for name in spec.columns %}
        {{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_source,
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_transaction_id,
        cdc_before,
        {%- for name in spec.for_sql_values %}
        {{ name }},
        {%- endfor %}
        cdc_batch,
        -- null: the event carries all columns
        transform(cdc_present_columns, present -> lower(present)) as cdc_carried
    from {{ spec.relation }}
),

events as (
    select
        {{ spark_cdc._feed_struct(spec, spec.key, 'row') | indent(8) }} as cdc_key,
        {{ spark_cdc._feed_struct(spec, spec.columns, 'row') | indent(8) }} as cdc_row,
        case
            when cdc_before is not null
                then {{ spark_cdc._feed_struct(spec, spec.columns, 'before') | indent(16) }}
        end as cdc_row_before,
        {{ spark_cdc._feed_source(spec) | indent(8) }} as cdc_source_block,
        case
            when cdc_transaction_id is not null
                then named_struct(
                    'id', cdc_transaction_id,
                    'total_order', cast(null as bigint),
                    'data_collection_order', cast(null as bigint)
                )
        end as cdc_transaction,
        case cdc_operation
            when 'load' then 'r'
            when 'insert' then 'c'
            when 'update' then 'u'
            when 'delete' then 'd'
            when 'truncate' then 't'
        end as cdc_op,
        {%- if spec.keyed %}
        {{ spark_cdc._is_move(spec) | indent(8) }} as cdc_moved,
        {{ spark_cdc._feed_struct(spec, spec.key, 'before') | indent(8) }} as cdc_key_before,
        {%- endif %}
        cdc_commit_at,
        cdc_commit_sequence,
        cdc_sequence,
        cdc_batch
    from change_rows
){{ ',' if spec.keyed }}
{%- if spec.keyed %}

-- A reader that keeps the last value of each key needs more rows: a moved row leaves its old key, and a tombstone
-- follows each key that is gone.
rows_of_events as (
    select
        events.* except (cdc_key, cdc_op, cdc_row_before),
        cdc_step,
        case when cdc_moved and cdc_step < 3 then cdc_key_before else cdc_key end as cdc_key,
        case
            when not cdc_moved then cdc_op
            when cdc_step = 3 then 'c'
            else 'd'
        end as cdc_op,
        case when not cdc_moved or cdc_step < 3 then cdc_row_before end as cdc_row_before
    from events
    left join departures_that_leave_a_row as departures
        on events.cdc_sequence = departures.cdc_sequence
        lateral view explode(
            case
                when cdc_moved and departures.cdc_sequence is null then array(1, 2, 3)
                when cdc_moved then array(3)
                when cdc_op = 'd' and departures.cdc_sequence is null then array(1, 2)
                when cdc_op = 'd' then cast(array() as array<int>)
                else array(1)
            end
        ) steps as cdc_step
)
{%- endif %}

select
    {{ spark_cdc._feed_key(spec) | indent(4) }} as {{ spark_cdc._quote('key') }},
    {{ spark_cdc._feed_value(spec) | indent(4) }} as {{ spark_cdc._quote('value') }},
    cdc_commit_sequence,
    cdc_sequence,
    {%- if spec.keyed %}
    cdc_step,
    {%- endif %}
    cdc_batch
from {{ 'rows_of_events' if spec.keyed else 'events' }}
order by {{ position }}
{%- endmacro -%}

{#- The key: NULL for a truncate, which names no row. -#}
{%- macro _feed_key(spec) -%}
    {%- set key = 'cdc_key' -%}
    {%- if spec.form != 'structs' -%}
        {%- set key = spark_cdc._connect_text(key, spark_cdc._connect_key_schema(spec) if spec.form == 'schema') -%}
    {%- endif -%}
case
    when cdc_op <> 't'
        then {{ key | indent(8) }}
end
{%- endmacro -%}

{#- The envelope; NULL for a tombstone. -#}
{%- macro _feed_value(spec) -%}
    {%- set value = spark_cdc._feed_envelope(spec) -%}
    {%- if spec.form != 'structs' -%}
        {%- set value = spark_cdc._connect_text(value, spark_cdc._connect_envelope_schema(spec) if spec.form == 'schema') -%}
    {%- endif -%}
    {%- if not spec.keyed -%}{{ return(value) }}{%- endif -%}
case
    when cdc_step <> 2
        then {{ value | indent(8) }}
end
{%- endmacro -%}

{#- The envelope as a struct. Its times are those of the commit: the same rows give the same feed, whenever it is made. -#}
{%- macro _feed_envelope(spec) -%}
named_struct(
    'before', case cdc_op
        when 'u' then cdc_row_before
        when 'd' then {{ 'if(cdc_moved, cdc_row_before, cdc_row)' if spec.keyed else 'cdc_row' }}
    end,
    'after', case when cdc_op in ('r', 'c', 'u') then cdc_row end,
    'source', cdc_source_block,
    'op', cdc_op,
    {{ spark_cdc._feed_times() | indent(4) }},
    'transaction', cdc_transaction
)
{%- endmacro -%}

{#- The commit time since 1970 in UTC. Nanoseconds end in the year 2262: later ones are NULL. -#}
{%- macro _feed_times() -%}
'ts_ms', unix_millis(cdc_commit_at),
'ts_us', unix_micros(cdc_commit_at),
'ts_ns', try_multiply(unix_micros(cdc_commit_at), 1000L)
{%- endmacro -%}
