{#- The columns that an update names as changed are the ones that differ from its before image. See _generic_tests.yml. -#}
{%- test mask_names_changed_columns(model, leave_out=[]) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set names, types = [], spark_cdc.columns_of(model) -%}
{%- for name in types if not (name | lower).startswith('cdc_') -%}
    {%- do names.append(name) -%}
{%- endfor -%}
{%- set left_out = spark_cdc._resolve_names(
    'mask_names_changed_columns', 'leave_out', leave_out, names,
    'mask_names_changed_columns: {arguments: {leave_out: [photo]}}'
) -%}
{%- set left_out_texts = [] -%}
{%- set compared = spark_cdc._names_before(types, names) | reject('in', left_out) | list -%}
{#- a before image that has the key alone shows nothing of the other columns -#}
{%- for name in names if name not in compared -%}
    {%- do left_out_texts.append(spark_cdc._literal(name | lower)) -%}
{%- endfor -%}
with updates as (
    select
        cdc_sequence,
        transform(cdc_present_columns, name -> lower(name)) as present,
        array_sort(
            filter(
                transform(cdc_changed_columns, name -> lower(name)),
                name -> not array_contains(
                    cast(array({{ left_out_texts | join(', ') }}) as array<string>),
                    name
                )
            )
        ) as named,
        array_compact(array(
            {%- for name in compared %}
            {%- set column = spark_cdc._quote(name) %}
            if(
                {{ spark_cdc._bytewise('cdc_before.' ~ column, types[name]) }} <=> {{ spark_cdc._bytewise(column, types[name]) }},
                null,
                {{ spark_cdc._literal(name | lower) }}
            ){{ ',' if not loop.last }}
            {%- endfor %}
        )) as differing_there
    from {{ model }}
    where
        cdc_operation = 'update'
        and cdc_before is not null
        and cdc_changed_columns is not null
),

-- a column that the event does not carry cannot be checked
compared as (
    select
        cdc_sequence,
        named,
        array_sort(
            filter(differing_there, name -> present is null or array_contains(present, name))
        ) as differing
    from updates
)

select
    cdc_sequence,
    array_except(named, differing) as named_but_equal,
    array_except(differing, named) as differing_but_not_named
from compared
where not (named <=> differing)
{%- endif -%}
{%- endtest -%}
