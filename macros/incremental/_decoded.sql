{#- Runs of models of change events and of quarantined rows.

    A run finds the rows of the raw relation that it has not read (_raw_rows.sql). It adds older rows whose decoding depends
    on the new ones, decodes all of these, and writes the difference into the model. Then it stores the new rows. If a run is
    killed before that, the next run finds the same rows new, and its result is the same.

    The macro _dependencies_<decoder>(spec) says which older rows these are; `decode` in _macros.yml describes its keys.
    Without this macro all rows are decoded. A decoder with parser state has _resume_<decoder>(spec) instead (_resumed.sql). -#}

{%- macro _run_decoded(run) -%}
    {%- set resume = spark_cdc._part_of_decoder('cdc_incremental', 'resume', run.call.decoder, is_optional=true) -%}
    {%- do run.update({
        'raw': spark_cdc._side_table('raw_' ~ run.suffix) if run.is_full
            else this.incorporate(path={'identifier': run.properties['spark_cdc.raw']}, type='table'),
        'retracted': spark_cdc._side_table('replaced'),
        'missing': spark_cdc._side_table('missing_' ~ run.suffix),
        'to_decode': spark_cdc._side_table('rows_' ~ run.suffix),
        'groups': spark_cdc._side_table('groups_' ~ run.suffix),
        'answers': this.incorporate(path={'identifier': run.properties['spark_cdc.answers']}, type='table')
            if run.properties.get('spark_cdc.answers') and not run.is_full else none,
        'resume': resume,
        'raw_columns': spark_cdc._columns_to_keep(run.call.spec),
        'raw_watermark': spark_cdc._raw_watermark(run.call.spec),
    }) -%}
    {%- do spark_cdc._keep_as_of(run) -%}
    {%- do spark_cdc._add_dependencies(run) -%}
    {%- if not run.is_full and run.raw.identifier | lower not in run.side_tables -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'the table ' ~ run.raw ~ ' with the stored raw rows of ' ~ this ~ ' does not exist',
            '--full-refresh, which builds the model again from the rows that the raw relation has now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- elif not run.is_full -%}
        {%- do run_query('refresh table ' ~ run.raw) -%}
    {%- endif -%}
    {%- if run.is_full or run.is_other -%}
        {%- do spark_cdc._number_run(run) -%}
    {%- endif -%}
    {%- if run.is_full -%}
        {#- copied first, so that every later read sees the same rows -#}
        {%- do spark_cdc._copy_raw_rows(run) -%}
        {%- do spark_cdc._decode_all(run, {
            'spark_cdc.generation': run.batch, 'spark_cdc.raw': run.raw.identifier, 'spark_cdc.raw_added_to': 0
        }) -%}
    {%- else -%}
        {%- do spark_cdc._find_new_rows(run) -%}
        {%- set extent = 'rebuild' if run.is_other else spark_cdc._extent(run) -%}
        {%- if extent == 'rebuild' -%}
            {%- do spark_cdc._check_columns(run, spark_cdc._decoded(run, run.call.spec.relation)) -%}
            {%- do spark_cdc._keep_undecoded_rows(run) -%}
            {%- do spark_cdc._decode_all(run, {'spark_cdc.generation': run.batch}) -%}
        {%- elif extent == 'nothing' -%}
            {%- call noop_statement('main', 'no new raw rows') -%}{%- endcall -%}
        {%- elif resume -%}
            {%- do spark_cdc._resume_with_new_rows(run) -%}
        {%- else -%}
            {%- do spark_cdc._decode_new_rows(run, extent) -%}
        {%- endif -%}
        {%- do spark_cdc._drop_new_rows(run) -%}
    {%- endif -%}
{%- endmacro -%}


{#- Adds the decoder's dependencies to a run. It also finds out whether the stored rows or the model were made with another
    call. An earlier version of this package did not store the dependencies; then they count as unchanged. -#}
{%- macro _add_dependencies(run) -%}
    {%- set keys = ['group', 'event_group', 'is_prefix', 'identity', 'again', 'keeps', 'all_if', 'inputs'] -%}
    {%- set dependencies = spark_cdc._part_of_decoder('cdc_incremental', 'dependencies', run.call.decoder, is_optional=true) -%}
    {%- set given = dependencies(dict(
        run.call.spec, relation=spark_cdc._raw_columns_of(run, run.raw), inputs=spark_cdc._inputs_of(run, {run.raw: none}),
        new_rows=spark_cdc._raw_columns_of(run, run.to_decode), built=run.target, builds=run.call.builds, answers=run.answers
    )) if dependencies else {} -%}
    {%- set wrong = given.keys() | reject('in', keys) | list -%}
    {%- if wrong or (given.group and not given.event_group) or (given.identity and not given.group) -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'the dependencies of the decoder ' ~ run.call.decoder ~ ' have ' ~ given.keys() | list | join(', '),
            'group and event_group, and optionally ' ~ keys[2:] | join(', '), "{'group': 'left(position, 16)', 'event_group': 'left(cdc_sequence, 16)'}"
        ) }}
    {%- endif -%}
    {%- set kept_by = [given.get('group'), given.get('identity'), given.get('keeps')] -%}
    {%- if given.get('inputs') -%}{%- do kept_by.append(given.inputs) -%}{%- endif -%}
    {%- set kept_by = local_md5(tojson(kept_by)) -%}
    {%- set is_regrouped = run.properties.get('spark_cdc.kept_by', kept_by) not in ('', kept_by) -%}
    {%- do run.update({
        'dependencies': given,
        'kept_by': kept_by,
        'is_regrouped': is_regrouped,
        'is_other': is_regrouped or run.properties.get('spark_cdc.definition') != run.fingerprint,
    }) -%}
{%- endmacro -%}

{#- The model's SELECT over the raw rows in `relation`. `more` is added to the spec. In an increment it has `built`, the
    model before this run, and `new_rows`, the new raw rows. -#}
{%- macro _decoded(run, relation, more={}) -%}
    {%- set select = spark_cdc._part_of_decoder('cdc_incremental', run.call.builds, run.call.decoder) -%}
    {{ return(select(dict(run.call.spec, relation=relation, batch=run.batch, **dict(more)))) }}
{%- endmacro -%}

{#- Builds the model from all rows that were read. Look-ups are asked again. -#}
{%- macro _decode_all(run, properties) -%}
    {%- if run.resume -%}
        {%- do spark_cdc._resume_all(run, properties) -%}
    {%- else -%}
        {%- set all_rows = spark_cdc._raw_columns_of(run, run.raw) -%}
        {%- set inputs = spark_cdc._inputs_of(run, {run.raw: none}) -%}
        {%- do run.update({'answers': none}) -%}
        {%- do spark_cdc._ask(run, all_rows, {'inputs': inputs}) -%}
        {%- do spark_cdc._store_all(
            run, spark_cdc._decoded(run, all_rows, {'inputs': inputs, 'answers': run.answers}), dict(properties, **spark_cdc._properties_of_look_ups(run))
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#- The time up to which rows are decoded never goes back: rows that one run decoded stay decoded. -#}
{%- macro _keep_as_of(run) -%}
    {%- set spec = run.call.spec -%}
    {%- set before = run.properties.get('spark_cdc.as_of') if not run.is_full else none -%}
    {%- if spec.as_of and before and before > spec.as_of -%}
        {%- do spec.update({'as_of': before}) -%}
    {%- endif -%}
    {%- do spec.update({'as_of_before': before}) -%}
{%- endmacro -%}

{#- Stores the answers of look-ups in another table, `run.answers`, if the decoder has _answers_<decoder>(spec). This is a
    select of cdc_group and any other columns; the decoder reads them as spec.answers. In an increment, answers of groups
    that are not `affected` stay. -#}
{%- macro _ask(run, relation, more, affected=none) -%}
    {%- set part = spark_cdc._part_of_decoder('cdc_incremental', 'answers', run.call.decoder, is_optional=true) -%}
    {%- if not part or not run.call.spec.lookups.values() | select | list -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set answers = spark_cdc._side_table('answers_' ~ run.suffix) -%}
    {%- set select = part(dict(run.call.spec, relation=relation, answers=run.answers, **dict(more))) -%}
    {%- set sql -%}
create table {{ answers }} using parquet as
        {%- if affected and run.answers %}
select * from (
    {{ select | indent(4) }}
) as answered
where cdc_group in (select cdc_group from {{ affected.groups }})
union all
select stored.* from {{ run.answers }} as stored
left anti join {{ affected.groups }} as affected
    on stored.cdc_group = affected.cdc_group
        {%- else %}
{{ select }}
        {%- endif %}
    {%- endset -%}
    {%- do run_query(sql) -%}
    {%- do run.update({'answers': answers}) -%}
{%- endmacro -%}

{#- The properties about look-ups that a run stores after it has written. -#}
{%- macro _properties_of_look_ups(run) -%}
    {%- set properties = {} -%}
    {%- if run.answers -%}{%- do properties.update({'spark_cdc.answers': run.answers.identifier}) -%}{%- endif -%}
    {%- if run.call.spec.as_of -%}{%- do properties.update({'spark_cdc.as_of': run.call.spec.as_of}) -%}{%- endif -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- How much an increment has to decode: nothing, groups or all. -#}
{%- macro _extent(run) -%}
    {%- set dependencies = run.dependencies -%}
    {%- if run.resume -%}
        {{ return('groups' if run.has_new_rows else 'nothing') }}
    {%- elif not dependencies.group -%}
        {#- without dependencies it is unknown whether a look-up has a new answer -#}
        {%- set is_asked = not dependencies and (run.call.spec.lookups or run.call.spec.as_of) -%}
        {%- if dependencies.again -%}
            {%- set is_asked = run_query('select 1 from (' ~ dependencies.again ~ ') as again limit 1') | length > 0 -%}
        {%- endif -%}
        {{ return('all' if run.has_new_rows or is_asked else 'nothing') }}
    {%- elif run.has_new_rows and dependencies.all_if
        and run_query('select 1 from (' ~ dependencies.all_if ~ ') as all_if limit 1') | length > 0 -%}
        {{ return('all') }}
    {%- elif run.has_new_rows -%}
        {{ return('groups') }}
    {%- elif dependencies.again
        and run_query('select 1 from (' ~ dependencies.again ~ ') as again limit 1') | length > 0 -%}
        {{ return('groups') }}
    {%- endif -%}
    {{ return('nothing') }}
{%- endmacro -%}


{#- An increment. -#}
{%- macro _decode_new_rows(run, extent) -%}
    {%- if not run.has_new_rows -%}{%- do spark_cdc._begin_increment(run) -%}{%- endif -%}
    {%- set more = {'built': run.target, 'new_rows': spark_cdc._raw_columns_of(run, run.to_decode, 'cdc_is_new') if run.has_new_rows else none} -%}
    {%- set increment = spark_cdc._side_table('increment_' ~ run.suffix) -%}
    {%- set is_events = run.call.builds == 'events' -%}
    {%- set affected, sql = {}, '' -%}
    {%- if extent == 'groups' -%}
        {%- set affected = spark_cdc._add_affected_rows(run) -%}
        {%- set rows_to_decode = spark_cdc._raw_columns_of(run, run.to_decode) -%}
        {%- do more.update({'inputs': spark_cdc._inputs_of(run, {run.to_decode: none})}) -%}
        {%- do spark_cdc._ask(run, rows_to_decode, more, affected) -%}
        {%- set decoded = spark_cdc._decoded(run, rows_to_decode, dict(more, answers=run.answers)) -%}
        {%- set sql = spark_cdc._changes_in_events(run, decoded, affected) if is_events
            else spark_cdc._changes_in_quarantine(run, decoded) -%}
    {%- else -%}
        {%- set all_rows = spark_cdc._all_raw_rows(run) -%}
        {%- do more.update({'inputs': spark_cdc._inputs_of(
            run, dict([(run.raw, none)] + ([(run.to_decode, 'cdc_is_new')] if run.has_new_rows else []))
        )}) -%}
        {%- do spark_cdc._ask(run, all_rows, more) -%}
        {%- set decoded = spark_cdc._decoded(run, all_rows, dict(more, answers=run.answers)) -%}
        {%- set sql = spark_cdc._changes_in_events(run, decoded) if is_events else '' -%}
    {%- endif -%}
    {%- set noted = dict(run.get('watermark') or {}, **spark_cdc._properties_of_look_ups(run)) -%}
    {#- otherwise a row that another run has just added would be stored twice -#}
    {%- do spark_cdc._check_lock(run, run.raw) -%}
    {%- if is_events -%}
        {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ sql) -%}
        {%- do spark_cdc._keep_retracted_events(run, increment) -%}
        {%- set range = spark_cdc._sequence_range('stored.cdc_sequence', affected.low, affected.high)
            if affected and run.dependencies.is_prefix else spark_cdc._range_of_increment(increment) -%}
        {%- do spark_cdc._store_increment(run, increment, ['cdc_sequence'], noted, range) -%}
    {%- elif extent == 'groups' -%}
        {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ sql) -%}
        {%- do spark_cdc._store_increment(run, increment, ['raw'], noted, is_unique=false) -%}
    {%- else -%}
        {%- do spark_cdc._store_all(run, decoded, noted) -%}
    {%- endif -%}
    {%- do spark_cdc._keep_new_rows(run) -%}
    {%- do spark_cdc._drop(increment) -%}
{%- endmacro -%}


{#- Adds the older rows that depend on the new ones to `run.to_decode`. Gives the affected groups: a relation with their
    cdc_group, and its lowest and highest value. Rows that only share an identity with these rows are added as
    cdc_is_context; their own events stay as they are. Of the rows without a group it adds two kinds: equal rows, since their
    number counts, and rows with such an identity. -#}
{%- macro _add_affected_rows(run) -%}
    {%- set dependencies = run.dependencies -%}
    {%- set names = spark_cdc._kept_columns(run) -%}
    {%- set groups = run.to_decode -%}
    {%- if not run.has_new_rows -%}
        {%- do run_query(
            'create table ' ~ run.to_decode ~ ' using parquet as\nselect ' ~ names ~ spark_cdc._flags(run, 'true')
            ~ ' from ' ~ run.raw ~ ' limit 0'
        ) -%}
    {%- endif -%}
    {%- if dependencies.again or dependencies.identity -%}
        {%- set groups = run.groups -%}
        {%- set sql -%}
create table {{ run.groups }} using parquet as
select distinct cdc_group from (
    select cdc_group from {{ run.to_decode }}
    {%- if dependencies.again %}
    union all
    select cdc_group from (
        {{ dependencies.again | indent(8) }}
    ) as again (cdc_group)
    {%- endif %}
    {%- if dependencies.identity %}
    union all
    select cdc_group from {{ run.raw }}
    where cdc_identity in (select cdc_identity from {{ run.to_decode }})
    {%- endif %}
) as affected
where cdc_group is not null
        {%- endset -%}
        {%- do run_query(sql) -%}
    {%- endif -%}
    {%- set bounds = run_query('select min(cdc_group), max(cdc_group) from ' ~ groups).rows[0] -%}
    {%- set in_groups = 'false' -%}
    {%- if bounds[0] is not none -%}
        {%- set in_groups = 'cdc_group >= ' ~ spark_cdc._literal(bounds[0]) ~ '\n    and cdc_group <= ' ~ spark_cdc._literal(bounds[1])
            ~ '\n    and cdc_group in (select cdc_group from ' ~ groups ~ ')' -%}
    {%- endif -%}
    {%- set sql -%}
insert into {{ run.to_decode }} ({{ names }}, cdc_is_new{{ ', cdc_is_context' if dependencies.identity }})
    {%- if dependencies.identity %}
with identities as (
    select cdc_identity from {{ run.to_decode }}
    union
    select cdc_identity from {{ run.raw }}
    where
        {{ in_groups | indent(4) }}
)

    {%- endif %}
    {%- if bounds[0] is not none %}
select {{ names }}{{ spark_cdc._flags(run, 'false') }}
from {{ run.raw }}
where
    {{ in_groups }}
union all
    {%- endif %}
select {{ names }}{{ spark_cdc._flags(run, 'false') }}
from {{ run.raw }}
where
    cdc_group is null
    and (
        (cdc_hash_1, cdc_hash_2) in (select cdc_hash_1, cdc_hash_2 from {{ run.to_decode }} where cdc_group is null)
        {{ 'or cdc_identity in (select cdc_identity from identities)' if dependencies.identity }}
    )
    {%- if dependencies.identity %}
union all
select {{ names }}{{ spark_cdc._flags(run, 'false', 'true') }}
from {{ run.raw }} as kept
left anti join {{ groups }} as affected
    on kept.cdc_group = affected.cdc_group
where
    cdc_group is not null
    and cdc_identity in (select cdc_identity from identities)
    {%- endif %}
    {%- endset -%}
    {%- do run_query(sql) -%}
    {%- do run.update({'affected': {'groups': groups, 'low': bounds[0], 'high': bounds[1]}}) -%}
    {{ return(run.affected) }}
{%- endmacro -%}

{#- The columns of `run.to_decode` that are not stored with the raw rows. -#}
{%- macro _flags(run, is_new, is_context='false') -%}
    , {{ is_new }} as cdc_is_new{{ ', ' ~ is_context ~ ' as cdc_is_context' if run.dependencies.identity }}
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

{#- The same for the sequences in an increment, as a condition on stored rows. -#}
{%- macro _range_of_increment(increment) -%}
    {%- set bounds = run_query('select min(cdc_sequence), max(cdc_sequence) from ' ~ increment).rows[0] -%}
    {{ return(spark_cdc._sequence_range('stored.cdc_sequence', bounds[0], bounds[1])) }}
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
    {%- set columns = spark_cdc._described(run.target) -%}
    {%- do columns.pop('cdc_batch') -%}
select
    *,
    {{ spark_cdc._literal(run.batch) }} as cdc_batch
from (
    {{ spark_cdc._difference(existing, made, ['cdc_sequence'], columns, goes, keep_old=true) | indent(4) }}
) as difference
{%- endmacro -%}

{#- The difference in the model's quarantined rows: all entries of the decoded raw rows are removed, and their present
    entries are added. An entry is identified by its raw row alone, which may have several entries. -#}
{%- macro _changes_in_quarantine(run, decoded) -%}
    {%- set has_context, conditions = run.dependencies.identity, [] -%}
    {%- if has_context -%}{%- do conditions.append('not cdc_is_context') -%}{%- endif -%}
    {%- if run.call.spec.inputs -%}{%- do conditions.append('cdc_input is null') -%}{%- endif -%}
    {{ return(spark_cdc._difference_of_entries(
        run, run.to_decode ~ (' where ' ~ conditions | join(' and ') if conditions else ''), decoded,
        'raw in (select cdc_raw from rows_to_decode)' if has_context else none
    )) }}
{%- endmacro -%}

{#- The same for the raw rows in `rows`; only entries of `made` that meet a condition are added. -#}
{%- macro _difference_of_entries(run, rows, made, condition=none) -%}
with entries as (
    {{ made | indent(4) }}
),

rows_to_decode as (
    select distinct {{ spark_cdc.raw_json(run.call.spec.raw_columns) | indent(4) }} as cdc_raw
    from {{ rows }}
)

select
    true as cdc_is_removed,
    cast(null as string) as cdc_source,
    cast(null as string) as reason,
    cast(null as string) as detail,
    cdc_raw as raw
from rows_to_decode
where cdc_raw in (select raw from {{ run.target }})
union all
select
    false as cdc_is_removed,
    cdc_source,
    reason,
    detail,
    raw
from entries
    {%- if condition %}
where {{ condition }}
    {%- endif %}
{%- endmacro -%}

{#- Stores events that are retracted or replaced. Models built on this one compute the keys of these events again. All
    columns are stored, since a view may filter by any of them. This happens before the model is written. If a run is killed
    in between, too many events are stored, which does no harm. -#}
{%- macro _keep_retracted_events(run, increment) -%}
    {%- set retracted -%}
select
    cdc_old.*,
    cdc_batch
from {{ increment }}
where cdc_old is not null
    {%- endset -%}
    {%- if run_query('select 1 from (' ~ retracted ~ ') as retracted limit 1') | length > 0 -%}
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
