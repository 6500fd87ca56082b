{#- A table is what a copy of the source table says. See _generic_tests.yml. -#}
{%- test equals_snapshot(
    model, snapshot, key, at=none, sequence=none, history=none, columns=none, exclude_columns=none, sample=none
) -%}
{%- if execute -%}
{%- for relation in (model, snapshot, history) if relation is not none and spark_cdc._test_is_untold(relation) -%}
    {{ return(spark_cdc._untold(relation)) }}
{%- endfor -%}
{%- set call = spark_cdc._snapshot_call(model, snapshot, key, at, sequence, history, columns, exclude_columns, sample) -%}
{{ spark_cdc._with_moments(call.moments, more=true) or 'with ' -}}
rows_of_both as (
    {{ spark_cdc._snapshot_rows(call) | indent(4) }}
    union all
    {{ spark_cdc._tested_rows(call) | indent(4) }}
),

rows_by_key as (
    select
        {{ spark_cdc._column_list(call.key) }},
        count(cdc_expected) as cdc_expected_rows,
        count(cdc_found) as cdc_found_rows,
        max(cdc_expected) as cdc_expected,
        max(cdc_found) as cdc_found
    from rows_of_both
    group by {{ spark_cdc._column_list(call.key) }}
    {%- if call.is_later %}
    -- keys that changed after the moment
    having not max(cdc_is_later)
    {%- endif %}
),

{% set values = spark_cdc._snapshot_values(call) -%}
{%- if values -%}
values_by_key as (
    select
        *,
        named_struct(
            {{ values | join(',\n') | indent(12) }}
        ) as cdc_value
    from rows_by_key
),

{% endif -%}
differences as (
    select
        {{ spark_cdc._column_list(call.key) }},
        explode(
            array_compact(
                array(
                    {{ spark_cdc._snapshot_differences(call) | join(',\n') | indent(20) }}
                )
            )
        ) as cdc_difference
    from {{ 'values_by_key' if values else 'rows_by_key' }}
)

select
    {{ spark_cdc._column_list(call.key) }},
    cdc_difference.*
from differences
{%- endif -%}
{%- endtest -%}

{#- The checked arguments. `key` and `compared` are names of the tested table, `types` its columns. `there` has for each name
    the column of the snapshot and its type. `rows` and `is_later` say which tested rows count. -#}
{%- macro _snapshot_call(model, snapshot, key, at, sequence, history, columns, exclude_columns, sample) -%}
    {%- set me = 'equals_snapshot' -%}
    {%- set example = "equals_snapshot: {arguments: {snapshot: ref('orders_copy'), key: [order_id]}}" -%}
    {%- set example_at = "equals_snapshot: {arguments: {snapshot: ref('orders_copy'), key: [order_id], at: '2026-03-02T08:30:00Z',"
        ~ " history: ref('orders__history')}}" -%}
    {%- set tested = model if history is none else history -%}
    {%- set in_tested, types = spark_cdc.columns_of(tested), {} -%}
    {%- for name, data_type in in_tested.items() if not (name | lower).startswith('cdc_') -%}
        {%- do types.update({name: data_type}) -%}
    {%- endfor -%}
    {%- set known = in_tested | map('lower') | list -%}
    {%- set is_history = history is not none or 'cdc_valid_from_sequence' in known -%}
    {%- if is_history -%}{%- do spark_cdc._columns_in_history(me, tested, example_at) -%}{%- endif -%}
    {%- set moment, rows, is_later = none, none, none -%}
    {%- if at is not none or sequence is not none -%}
        {%- set moment = spark_cdc._one_moment(me, {'at': at, 'sequence': sequence}, example_at) -%}
    {%- elif history is not none -%}
        {{ spark_cdc._stop(
            me, 'it has history, and neither at nor sequence', 'the moment of the snapshot with history; or no history', example_at
        ) }}
    {%- endif -%}
    {%- set has_deleted = 'cdc_is_deleted' in known -%}
    {%- if is_history -%}
        {%- set rows = spark_cdc._is_valid_at(moment) if moment is not none else 'cdc_is_current' -%}
    {%- elif moment is not none -%}
        {%- set place = 'cdc_commit_at' if moment.by == 'at' else 'cdc_commit_sequence' -%}
        {%- if place not in known or not has_deleted -%}
            {{ spark_cdc._stop(
                me, 'it has ' ~ moment.argument ~ ', and ' ~ model ~ ' does not tell what changed later: it lacks '
                ~ ('cdc_is_deleted' if place in known else place),
                'history, the history of the table; or a current state with keep_deleted=true', example_at
            ) }}
        {%- endif -%}
        {%- set is_later = 'coalesce(' ~ place ~ ' > ' ~ moment.sql ~ ', false)' -%}
    {%- elif has_deleted -%}
        {%- set rows = 'not cdc_is_deleted' -%}
    {%- endif -%}
    {%- if sample is not none -%}{%- do spark_cdc._check_sample(me, sample, example[:-2] ~ ', sample: 0.01}}') -%}{%- endif -%}
    {%- set key = spark_cdc._resolve_key(me, key, types | list, example) -%}
    {%- set there = spark_cdc._snapshot_columns(me, snapshot, key, types, columns, exclude_columns, example) -%}
    {%- set compared = types | list | select('in', there) | reject('in', key) | list -%}
    {{ return({
        'tested': tested, 'snapshot': snapshot, 'key': key, 'types': types, 'there': there, 'sample': sample,
        'compared': compared, 'moments': [] if moment is none else [moment], 'rows': rows, 'is_later': is_later,
    }) }}
{%- endmacro -%}

{#- The columns of the snapshot for those that are compared: a dict of name to name and type there. A column that only one of
    the two tables has stops, unless the arguments leave it out. -#}
{%- macro _snapshot_columns(me, snapshot, key, types, columns, exclude_columns, example) -%}
    {%- set in_snapshot, spelled, there, lacking, more = spark_cdc.columns_of(snapshot), {}, {}, [], [] -%}
    {%- set example = example[:-2] ~ ', exclude_columns: [loaded_at]}}' -%}
    {%- for name in in_snapshot -%}{%- do spelled.update({name | lower: name}) -%}{%- endfor -%}
    {%- for name in types if name | lower not in spelled -%}{%- do lacking.append(name) -%}{%- endfor -%}
    {%- for name in in_snapshot if name | lower not in types | map('lower') -%}{%- do more.append(name) -%}{%- endfor -%}
    {%- set left_out = spark_cdc._resolve_names(me, 'exclude_columns', exclude_columns or [], types | list + more, example) -%}
    {%- set asked = types | list if columns is none else key + spark_cdc._resolve_names(me, 'columns', columns, types | list, example) -%}
    {%- for name in key if name in left_out -%}
        {{ spark_cdc._stop(me, 'exclude_columns names ' ~ name ~ ', a column of the key', 'columns outside of the key', example) }}
    {%- endfor -%}
    {%- for name in asked if name in lacking and name not in left_out -%}
        {{ spark_cdc._stop(
            me, 'the snapshot, ' ~ snapshot ~ ', lacks the column ' ~ name ~ '; it has ' ~ in_snapshot | join(', '),
            'a snapshot with all columns of the table, or exclude_columns with the columns that are not compared', example
        ) }}
    {%- endfor -%}
    {%- for name in more if columns is none and name not in left_out -%}
        {{ spark_cdc._stop(
            me, 'the snapshot, ' ~ snapshot ~ ', has the column ' ~ name ~ ', which the tested table lacks',
            'a table with all columns of the snapshot, or exclude_columns with the columns that are not compared', example
        ) }}
    {%- endfor -%}
    {%- for name in asked if name not in left_out -%}
        {%- set column = spelled[name | lower] -%}
        {%- do spark_cdc._check_cast(me, column ~ ' of the snapshot', in_snapshot[column], types[name]) -%}
        {%- do there.update({name: {'name': column, 'type': in_snapshot[column]}}) -%}
    {%- endfor -%}
    {{ return(there) }}
{%- endmacro -%}
