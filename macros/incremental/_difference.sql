{#- The difference between the rows of a model and the rows that were made of the raw rows, and how it is written down. -#}

{#- The difference between two selects of rows. Both have the same `columns`, a dict of name -> type, and one row for each
    `identity`. The result has the rows of `made` that are missing in `existing` or differ there. It also has, as
    cdc_is_removed, the rows that only `existing` has, if they meet `goes`, a condition on `existing`. With `keep_old`,
    cdc_old is the row of `existing`. -#}
{%- macro _difference(existing, made, identity, columns, goes='true', keep_old=false) -%}
    {%- set same = [] -%}
    {%- for name in identity -%}
        {%- do same.append('existing.' ~ spark_cdc._quote(name) ~ ' <=> made.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
with existing as (
    select
        *,
        {{ spark_cdc._struct(columns) | indent(8) }} as cdc_row
    from (
        {{ existing | indent(8) }}
    ) as existing
),

made as (
    select
        *,
        {{ spark_cdc._struct(columns) | indent(8) }} as cdc_row
    from (
        {{ made | indent(8) }}
    ) as made
),

differing_rows as (
    select
        made.cdc_row is null as cdc_is_removed,
        existing.cdc_row as cdc_old,
        coalesce(made.cdc_row, existing.cdc_row) as cdc_row
    from existing
    full outer join made
        on {{ same | join(' and ') }}
    where
        not (
            {{ spark_cdc._is_same_row('existing.cdc_row', 'made.cdc_row', columns) | indent(12) }}
        )
        and (made.cdc_row is not null or {{ goes }})
)

select
    cdc_is_removed,
    {{ 'cdc_old,' if keep_old }}
    cdc_row.*
from differing_rows
{%- endmacro -%}

{#- A condition: a sequence begins with a text between `low` and `high`. -#}
{%- macro _sequence_range(column, low, high) -%}
    {%- if low is none -%}
        {{ return('false') }}
    {%- endif -%}
    {{ return(
        column ~ ' >= ' ~ spark_cdc._literal(low) ~ ' and ' ~ column ~ ' < ' ~ spark_cdc._literal(high ~ '~')
    ) }}
{%- endmacro -%}

{#- The same for the sequences in the run's increment, as a condition on stored rows. -#}
{%- macro _range_of_increment(run) -%}
    {{ return(spark_cdc._sequence_range('stored.cdc_sequence', run.found.low, run.found.high)) }}
{%- endmacro -%}

{#- The difference in the model's events: in affected groups, or in all. -#}
{%- macro _changes_in_events(run, decoded, affected=none) -%}
    {%- set existing, made = 'select * from ' ~ run.target, decoded -%}
    {%- if affected -%}
        {%- set in_groups = run.dependencies.event_group ~ ' in (select cdc_group from ' ~ affected.groups ~ ')' -%}
        {%- set range = spark_cdc._sequence_range('cdc_sequence', affected.low, affected.high) ~ '\nand '
            if run.dependencies.is_prefix else '' -%}
        {%- set existing = existing ~ '\nwhere\n    ' ~ (range ~ in_groups) | indent(4) -%}
        {%- if run.dependencies.identity -%}
            {%- set made = 'select * from (\n    ' ~ decoded | indent(4) ~ '\n) as made\nwhere ' ~ in_groups -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(spark_cdc._difference_of_events(run, existing, made)) }}
{%- endmacro -%}

{#- The difference between two selects of events, as `_difference`, with the batch of the run. -#}
{%- macro _difference_of_events(run, existing, made, goes='true') -%}
    {%- set columns = spark_cdc._columns_of_target(run) -%}
    {%- do columns.pop('cdc_batch') -%}
select
    *,
    {{ spark_cdc._literal(run.batch) }} as cdc_batch
from (
    {{ spark_cdc._difference(existing, made, ['cdc_sequence'], columns, goes, keep_old=true) | indent(4) }}
) as difference
{%- endmacro -%}

{#- Stores events that are retracted or replaced. Models built on this one compute the keys of these events again. All
    columns are stored, since a view may filter by any of them. This happens before the model is written. If a run is killed
    in between, too many events are stored, which does no harm. -#}
{%- macro _keep_retracted_events(run) -%}
    {%- set retracted -%}
select
    cdc_old.*,
    cdc_batch
from {{ run.increment }}
where cdc_old is not null
    {%- endset -%}
    {%- if run.found.retracted -%}
        {#- events retracted before the last rebuild no longer matter, and may have other columns -#}
        {%- set epoch = {'spark_cdc.generation': run.properties['spark_cdc.generation']} -%}
        {%- if spark_cdc._is_there(run.retracted)
            and spark_cdc._properties(run.retracted).get('spark_cdc.generation') == epoch['spark_cdc.generation'] -%}
            {%- do run_query('insert into ' ~ run.retracted ~ ' by name\n' ~ retracted) -%}
        {%- else -%}
            {#- made under another name, so that the leftover of a killed run is not in the way -#}
            {%- set made = spark_cdc._side_table('replaced_' ~ run.suffix) -%}
            {%- do run_query(spark_cdc._create_as(
                run, made, retracted, dict(epoch, **spark_cdc._statistics_of_model(run))
            )) -%}
            {%- do spark_cdc._check_lock(run) -%}
            {%- do spark_cdc._drop(run.retracted) -%}
            {%- do run_query('alter table ' ~ made ~ ' rename to ' ~ run.retracted) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}
