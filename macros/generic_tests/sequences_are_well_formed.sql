{#- Every event has a position of its own, which is not before its commit. See _generic_tests.yml. -#}
{%- test sequences_are_well_formed(model, pattern=none) -%}
with counted as (
    select
        cdc_sequence,
        cdc_commit_sequence,
        count(*) over (partition by cdc_sequence) as events
    from {{ model }}
),

judged as (
    select
        *,
        case
            when cdc_sequence is null then 'cdc_sequence is null'
            when cdc_commit_sequence is null then 'cdc_commit_sequence is null'
            when events > 1 then 'another event has this cdc_sequence'
            when cdc_commit_sequence > cdc_sequence then 'the commit is after its event'
            {%- if pattern is not none %}
            {%- set whole = spark_cdc._literal('^(?:' ~ pattern ~ ')$') %}
            when not cdc_sequence rlike {{ whole }}
                then 'cdc_sequence is not of the pattern'
            when not cdc_commit_sequence rlike {{ whole }}
                then 'cdc_commit_sequence is not of the pattern'
            {%- endif %}
        end as problem
    from counted
)

select * from judged
where problem is not null
{%- endtest -%}
