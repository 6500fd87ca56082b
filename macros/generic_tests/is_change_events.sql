{#- A relation has the shape of change events, and every event is one. See _generic_tests.yml. -#}
{%- test is_change_events(model, key=none, null_keys=false) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set there, key_nulls = spark_cdc.columns_of(model), [] -%}
{%- set problems = spark_cdc._event_column_problems(there) -%}
{%- do spark_cdc._check_null_keys('is_change_events', null_keys) -%}
{%- if key is not none -%}
    {%- set names = spark_cdc._resolve_key('is_change_events', key, there | list, 'is_change_events: {arguments: {key: [order_id]}}') -%}
    {%- for name in names if not null_keys -%}{%- do key_nulls.append(spark_cdc._quote(name) ~ ' is null') -%}{%- endfor -%}
{%- endif -%}
{%- if problems %}
select
    column_problem as problem,
    cast(null as string) as cdc_sequence
from values
    {%- for problem in problems %}
    ({{ spark_cdc._literal(problem) }}){{ ',' if not loop.last }}
    {%- endfor %}
as problems (column_problem)
{%- else -%}
{%- set operations = [] -%}
{%- for operation in spark_cdc._event_operations() -%}{%- do operations.append(spark_cdc._literal(operation)) -%}{%- endfor -%}
with counted as (
    select
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_operation <> 'truncate' and ({{ key_nulls | join(' or ') or 'false' }}) as cdc_key_is_null,
        count(*) over (partition by cdc_sequence) as events
    from {{ model }}
),

events_with_problem as (
    select
        cdc_sequence,
        case
            when cdc_operation is null or cdc_operation not in ({{ operations | join(', ') }})
                then concat('cdc_operation is ', coalesce(cdc_operation, 'null'))
            when cdc_sequence is null then 'cdc_sequence is null'
            when cdc_commit_sequence is null then 'cdc_commit_sequence is null'
            when not cdc_sequence rlike '^[ -}]+$'
                then 'cdc_sequence is not of printable ASCII characters before ~'
            when not cdc_commit_sequence rlike '^[ -}]+$'
                then concat('cdc_commit_sequence is not of printable ASCII characters before ~: ', cdc_commit_sequence)
            when cdc_commit_sequence > cdc_sequence
                then concat('cdc_commit_sequence is greater than cdc_sequence: ', cdc_commit_sequence)
            when cdc_key_is_null then 'a column of the key is null'
            when
                cdc_commit_at < timestamp '0001-01-01 00:00:00Z'
                or cdc_commit_at > timestamp '9999-12-31 23:59:59.999999Z'
                then 'cdc_commit_at is not in the years 1 to 9999'
            when events > 1 then concat(events, ' events have this cdc_sequence')
        end as problem
    from counted
)

select
    cdc_sequence,
    problem
from events_with_problem
where problem is not null
{%- endif -%}
{%- endif -%}
{%- endtest -%}
