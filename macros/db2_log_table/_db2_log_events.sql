{#- The events of keys, with the rows of `base`. -#}

{#- CTEs to `kept_events`: the model's events of keys without new rows. -#}
{%- macro _db2_log_kept_events(spec) -%}
    {%- set keys = [] -%}
    {%- for name in spec.key -%}
        {%- set column = spark_cdc._bytewise(spark_cdc._quote(name), spec.columns[name]) -%}
        {#- not every table format has small integers -#}
        {%- if spark_cdc._type_facts(spec.columns[name]).family == 'integer' -%}
            {%- set column = 'cast(' ~ column ~ ' as ' ~ spec.columns[name] ~ ')' -%}
        {%- endif -%}
        {%- do keys.append(spark_cdc._literal(name) ~ ', ' ~ column) -%}
    {%- endfor -%}
kept_buckets as (
    select distinct pmod(xxhash64(cdc_key), 1048576) as cdc_bucket
    from logged_keys
    where not cdc_is_changed
),

built_events as (
    select
        named_struct(
            {{ keys | join(',\n') | indent(12) }}
        ) as cdc_key,
        cdc_operation = 'delete' as cdc_was_deleted,
        {{ spark_cdc._struct(spec.columns) | indent(8) }} as cdc_kept_row
    from {{ spec.built }}
),

kept_events as (
    select /*+ broadcast(kept_buckets) */ built_events.*
    from built_events
    left semi join kept_buckets
        on pmod(xxhash64(built_events.cdc_key), 1048576) = kept_buckets.cdc_bucket
)
{%- endmacro -%}

{#- The CTE `events`: the keys with their answers. -#}
{%- macro _db2_log_events(spec) -%}
    {%- set is_gone = 'base_rows.cdc_key is null' -%}
    {%- if spec.built -%}
        {%- set is_gone = 'coalesce(kept_events.cdc_was_deleted, ' ~ is_gone ~ ')' -%}
    {%- endif -%}
events as (
    select
        logged_keys.cdc_key,
        logged_keys.cdc_raw_rows,
        base_rows.cdc_row,
        {%- if spec.built %}
        kept_events.cdc_was_deleted is not null as cdc_is_kept,
        kept_events.cdc_kept_row,
        {%- endif %}
        timestamp_micros(shiftright(logged_keys.cdc_last, 2)) as cdc_time,
        case
            when logged_keys.cdc_last & 3 = 2 - (logged_keys.cdc_last_turned & 3)
                then cast(logged_keys.cdc_last & 3 as int)
        end as cdc_last_operation,
        case
            when {{ is_gone }} then 'delete'
            -- the first rows are all inserts
            when logged_keys.cdc_first_turned & 3 = 2 then 'insert'
            else 'update'
        end as cdc_operation
    from logged_keys
    left join base_rows
        on logged_keys.cdc_key = base_rows.cdc_key
    {%- if spec.built %}
    left join kept_events
        on
            logged_keys.cdc_key = kept_events.cdc_key
            and not logged_keys.cdc_is_changed
    {%- endif %}
    -- a key of which base has only rows with bad values has no event
    where
        base_rows.cdc_key is null
        or base_rows.cdc_row is not null
        {%- if spec.built %}
        or kept_events.cdc_was_deleted is not null
        {%- endif %}
)
{%- endmacro -%}

{#- A column of an event. -#}
{%- macro _db2_log_value(spec, name) -%}
    {%- set quoted = spark_cdc._quote(name) -%}
    {%- if name in spec.key -%}
        {%- set key = 'cdc_key.' ~ quoted -%}
        {{ return(key if spark_cdc._bytewise(key, spec.columns[name]) == key else 'cast(' ~ key ~ ' as ' ~ spec.columns[name] ~ ')') }}
    {%- elif spec.built -%}
        {{ return('if(cdc_is_kept, cdc_kept_row.' ~ quoted ~ ', cdc_row.' ~ quoted ~ ')') }}
    {%- endif -%}
    {{ return('cdc_row.' ~ quoted) }}
{%- endmacro -%}

{#- The CTE `bad_keys`, after the CTEs of `_base_rows`: the keys of which `base` has only rows with bad values. -#}
{%- macro _db2_log_bad_keys() -%}
bad_keys as (
    select
        cdc_key,
        min(cdc_bad_base) as cdc_bad_base
    from base_judged
    group by cdc_key
    having bool_and(cdc_bad_base is not null)
)
{%- endmacro -%}
