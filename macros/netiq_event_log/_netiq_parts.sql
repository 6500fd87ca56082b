{#- Which log rows make one event. -#}

{#- CTEs from `remaining` to `parts`: consecutive rows that make one event, as an array of structs with the columns
    `carried`. `group` is the key, or a finer group of rows. -#}
{%- macro _netiq_parts(spec, carried, group='cdc_key') -%}
-- consecutive rows of a key with the same object, time and kind
kinds as (
    select
        *,
        case
            when cdc_event_type in (1, 7) then 'add'
            when cdc_event_type in (2, 3, 8) then 'modify'
            when cdc_event_type = 4 then 'delete'
            else 'row'
        end as cdc_kind
    from remaining
),

begun as (
    select
        *,
        cdc_event_type = 4
        or not struct(cdc_object, cdc_event_time, cdc_kind)
        <=> lag(struct(cdc_object, cdc_event_time, cdc_kind)) over in_order as cdc_begins
    from kinds
    window in_order as (partition by {{ group }} order by {{ spark_cdc._netiq_place(spec) }})
),

numbered as (
    select
        *,
        count_if(cdc_begins) over in_order as cdc_run
    from begun
    window in_order as (
        partition by {{ group }}
        order by {{ spark_cdc._netiq_place(spec) }}
        rows unbounded preceding
    )
),

runs as (
    select
        cdc_key,
        cdc_run,
        min(cdc_kind) as cdc_kind,
        array_sort(
            collect_list(
                struct(
                    {{ spark_cdc._netiq_place(spec) }},
                    {{- '\n                    cdc_event_time,' if not spec.is_by_time }}
                    {{ carried | join(',\n') | indent(20) }}
                )
            )
        ) as cdc_rows
    from numbered
    group by {{ group }}, cdc_run
),

-- a column that occurs again begins another event
parts as (
    select
        runs.cdc_key,
        runs.cdc_kind,
        part.cdc_rows
    from runs
        lateral view explode(
            case
                when
                    runs.cdc_kind in ('add', 'modify')
                    and size(runs.cdc_rows)
                    > size(array_distinct(transform(runs.cdc_rows, one -> one.cdc_column)))
                    then {{ spark_cdc._netiq_split() | indent(20) }}
                else array(runs.cdc_rows)
            end
        ) part as cdc_rows
)
{%- endmacro -%}

{#- The rows of a run, split into arrays in which no column occurs twice. They are split in blocks: Spark copies an array to
    append to it, so one array for a run of many thousand rows would take hours. -#}
{%- macro _netiq_split() -%}
aggregate(
    transform(sequence(2, size(runs.cdc_rows), 256), first -> slice(runs.cdc_rows, first, 256)),
    named_struct('done', slice(array(runs.cdc_rows), 1, 0), 'open', slice(runs.cdc_rows, 1, 1)),
    (before, block) -> aggregate(
        block,
        named_struct('done', slice(array(runs.cdc_rows), 1, 0), 'open', before.open),
        (state, one) -> if(
            exists(state.open, other -> other.cdc_column = one.cdc_column),
            named_struct('done', array_append(state.done, state.open), 'open', array(one)),
            named_struct('done', state.done, 'open', array_append(state.open, one))
        ),
        state -> named_struct('done', concat(before.done, state.done), 'open', state.open)
    ),
    state -> array_append(state.done, state.open)
)
{%- endmacro -%}
