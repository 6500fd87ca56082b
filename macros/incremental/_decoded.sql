{#- Runs of models of change events and of quarantined rows.

    A run looks for rows of the raw relation that it has not read (_raw_rows.sql), reads with them the older rows that they can
    change the meaning of, decodes those and puts the difference into the model. Then it adds the new rows to those it has
    read: a run that is killed before that finds them again, and comes to the same.

    Which older rows those are says _dependencies_<decoder>(spec); `decode` in _macros.yml has its keys. Of a decoder without
    it all rows are decoded. One whose parser has a state has _resume_<decoder>(spec) instead (_resumed.sql). -#}

{%- macro _run_decoded(run) -%}
    {%- set resume = spark_cdc._part_of_decoder('cdc_incremental', 'resume', run.call.decoder, is_optional=true) -%}
    {%- do run.update({
        'raw': spark_cdc._helper('raw_' ~ run.suffix) if run.is_full
            else this.incorporate(path={'identifier': run.properties['spark_cdc.raw']}, type='table'),
        'replaced': spark_cdc._helper('replaced'),
        'missing': spark_cdc._helper('missing_' ~ run.suffix),
        'read': spark_cdc._helper('read_' ~ run.suffix),
        'groups': spark_cdc._helper('groups_' ~ run.suffix),
        'answers': this.incorporate(path={'identifier': run.properties['spark_cdc.answers']}, type='table')
            if run.properties.get('spark_cdc.answers') and not run.is_full else none,
        'resume': resume,
        'raw_columns': spark_cdc._columns_to_keep(run.call.spec),
        'raw_watermark': spark_cdc._raw_watermark(run.call.spec),
    }) -%}
    {%- do spark_cdc._keep_as_of(run) -%}
    {%- do spark_cdc._add_dependencies(run) -%}
    {%- if not run.is_full and run.raw.identifier | lower not in run.helpers -%}
        {{ spark_cdc._stop(
            'cdc_incremental', run.raw ~ ', the raw rows that ' ~ this ~ ' has read, is gone',
            'to build the model anew from the rows that the raw relation has now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- elif not run.is_full -%}
        {%- do run_query('refresh table ' ~ run.raw) -%}
    {%- endif -%}
    {%- if run.is_full or run.is_other -%}
        {%- do spark_cdc._number_run(run) -%}
    {%- endif -%}
    {%- if run.is_full -%}
        {#- copied first, so that all is read from one state -#}
        {%- do spark_cdc._copy_raw_rows(run) -%}
        {%- do spark_cdc._decode_all(run, {
            'spark_cdc.generation': run.batch, 'spark_cdc.raw': run.raw.identifier, 'spark_cdc.raw_added_to': 0
        }) -%}
    {%- else -%}
        {%- do spark_cdc._read_new_rows(run) -%}
        {%- set extent = 'anew' if run.is_other else spark_cdc._extent(run) -%}
        {%- if extent == 'anew' -%}
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


{#- Adds to a run what its decoder says of dependencies, and whether the kept rows or the model are of another call. Where these
    were written by a version of this package that did not note the dependencies, they are as now. -#}
{%- macro _add_dependencies(run) -%}
    {%- set keys = ['group', 'event_group', 'is_prefix', 'identity', 'again', 'keeps', 'all_if', 'inputs'] -%}
    {%- set dependencies = spark_cdc._part_of_decoder('cdc_incremental', 'dependencies', run.call.decoder, is_optional=true) -%}
    {%- set given = dependencies(dict(
        run.call.spec, relation=spark_cdc._raw_columns_of(run, run.raw), inputs=spark_cdc._inputs_of(run, {run.raw: none}),
        new_rows=spark_cdc._raw_columns_of(run, run.read), built=run.target, builds=run.call.builds, answers=run.answers
    )) if dependencies else {} -%}
    {%- set wrong = given.keys() | reject('in', keys) | list -%}
    {%- if wrong or (given.group and not given.event_group) or (given.identity and not given.group) -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'the dependencies of the decoder ' ~ run.call.decoder ~ ' have ' ~ given.keys() | list | join(', '),
            'group and event_group, and besides those ' ~ keys[2:] | join(', '), "{'group': 'left(position, 16)', 'event_group': 'left(cdc_sequence, 16)'}"
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
        'is_other': is_regrouped or run.properties.get('spark_cdc.definition') != run.definition,
    }) -%}
{%- endmacro -%}

{#- The select that the model is, over the raw rows in `relation`. `more` is what else the spec says: in an increment `built`, the
    model as it was, and `new_rows`, those of the raw rows that are new. -#}
{%- macro _decoded(run, relation, more={}) -%}
    {%- set select = spark_cdc._part_of_decoder('cdc_incremental', run.call.builds, run.call.decoder) -%}
    {{ return(select(dict(run.call.spec, relation=relation, batch=run.batch, **dict(more)))) }}
{%- endmacro -%}

{#- The model, from all rows that were read. Look-ups answer anew. -#}
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


{#- A time up to which is decoded never goes back: what one run has taken up stays so. -#}
{%- macro _keep_as_of(run) -%}
    {%- set spec = run.call.spec -%}
    {%- set before = run.properties.get('spark_cdc.as_of') if not run.is_full else none -%}
    {%- if spec.as_of and before and before > spec.as_of -%}
        {%- do spec.update({'as_of': before}) -%}
    {%- endif -%}
    {%- do spec.update({'as_of_before': before}) -%}
{%- endmacro -%}

{#- Writes what look-ups answer to the questions of raw rows into another table, `run.answers`, if the decoder has
    _answers_<decoder>(spec): a select of cdc_group and what else it finds again as spec.answers. In an increment, the answers of
    groups that are not `affected` stay. -#}
{%- macro _ask(run, relation, more, affected=none) -%}
    {%- set part = spark_cdc._part_of_decoder('cdc_incremental', 'answers', run.call.decoder, is_optional=true) -%}
    {%- if not part or not run.call.spec.lookups.values() | select | list -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set answers = spark_cdc._helper('answers_' ~ run.suffix) -%}
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

{#- What a run that wrote something notes of look-ups. -#}
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
        {#- without dependencies nothing is known of what look-ups answer -#}
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
    {%- set more = {'built': run.target, 'new_rows': spark_cdc._raw_columns_of(run, run.read, 'cdc_is_new') if run.has_new_rows else none} -%}
    {%- set increment = spark_cdc._helper('increment_' ~ run.suffix) -%}
    {%- set is_events = run.call.builds == 'events' -%}
    {%- set affected, sql = {}, '' -%}
    {%- if extent == 'groups' -%}
        {%- set affected = spark_cdc._read_affected_rows(run) -%}
        {%- set rows_read = spark_cdc._raw_columns_of(run, run.read) -%}
        {%- do more.update({'inputs': spark_cdc._inputs_of(run, {run.read: none})}) -%}
        {%- do spark_cdc._ask(run, rows_read, more, affected) -%}
        {%- set decoded = spark_cdc._decoded(run, rows_read, dict(more, answers=run.answers)) -%}
        {%- set sql = spark_cdc._changes_in_events(run, decoded, affected) if is_events
            else spark_cdc._changes_in_quarantine(run, decoded) -%}
    {%- else -%}
        {%- set all_rows = spark_cdc._all_raw_rows(run) -%}
        {%- do more.update({'inputs': spark_cdc._inputs_of(
            run, dict([(run.raw, none)] + ([(run.read, 'cdc_is_new')] if run.has_new_rows else []))
        )}) -%}
        {%- do spark_cdc._ask(run, all_rows, more) -%}
        {%- set decoded = spark_cdc._decoded(run, all_rows, dict(more, answers=run.answers)) -%}
        {%- set sql = spark_cdc._changes_in_events(run, decoded) if is_events else '' -%}
    {%- endif -%}
    {%- set noted = dict(run.get('watermark') or {}, **spark_cdc._properties_of_look_ups(run)) -%}
    {#- else a row that another run has just added is there twice -#}
    {%- do spark_cdc._check_claim(run, run.raw) -%}
    {%- if is_events -%}
        {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ sql) -%}
        {%- do spark_cdc._keep_replaced_events(run, increment) -%}
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


{#- Adds to `run.read`, which has the new rows, the older ones that are decoded with them, and says which groups are affected:
    a relation with their cdc_group, and the bounds between which they lie. Rows in which only an identity is shared with
    theirs are read, too, as cdc_is_context: what is made of those stays as it is. Of rows without a group, the deliveries of the
    same row are read, for their number, and those with such an identity. -#}
{%- macro _read_affected_rows(run) -%}
    {%- set dependencies = run.dependencies -%}
    {%- set names = spark_cdc._kept_columns(run) -%}
    {%- set groups = run.read -%}
    {%- if not run.has_new_rows -%}
        {%- do run_query(
            'create table ' ~ run.read ~ ' using parquet as\nselect ' ~ names ~ spark_cdc._flags(run, 'true')
            ~ ' from ' ~ run.raw ~ ' limit 0'
        ) -%}
    {%- endif -%}
    {%- if dependencies.again or dependencies.identity -%}
        {%- set groups = run.groups -%}
        {%- set sql -%}
create table {{ run.groups }} using parquet as
select distinct cdc_group from (
    select cdc_group from {{ run.read }}
    {%- if dependencies.again %}
    union all
    select cdc_group from (
        {{ dependencies.again | indent(8) }}
    ) as again (cdc_group)
    {%- endif %}
    {%- if dependencies.identity %}
    union all
    select cdc_group from {{ run.raw }}
    where cdc_identity in (select cdc_identity from {{ run.read }})
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
insert into {{ run.read }} ({{ names }}, cdc_is_new{{ ', cdc_is_context' if dependencies.identity }})
    {%- if dependencies.identity %}
with identities as (
    select cdc_identity from {{ run.read }}
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
        (cdc_hash_1, cdc_hash_2) in (select cdc_hash_1, cdc_hash_2 from {{ run.read }} where cdc_group is null)
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

{#- What `run.read` says of a row besides the columns that are kept. -#}
{%- macro _flags(run, is_new, is_context='false') -%}
    , {{ is_new }} as cdc_is_new{{ ', ' ~ is_context ~ ' as cdc_is_context' if run.dependencies.identity }}
{%- endmacro -%}


{#- Where the sequences lie that begin with what lies between two texts. -#}
{%- macro _sequence_range(column, low, high) -%}
    {%- if low is none -%}
        {{ return('false') }}
    {%- endif -%}
    {{ return(
        column ~ ' >= ' ~ spark_cdc._literal(low) ~ ' and ' ~ column ~ ' < ' ~ spark_cdc._literal(high ~ '~')
    ) }}
{%- endmacro -%}

{#- The same of the sequences in an increment, as a condition on the rows that are stored. -#}
{%- macro _range_of_increment(increment) -%}
    {%- set bounds = run_query('select min(cdc_sequence), max(cdc_sequence) from ' ~ increment).rows[0] -%}
    {{ return(spark_cdc._sequence_range('stored.cdc_sequence', bounds[0], bounds[1])) }}
{%- endmacro -%}

{#- What changes in the model's events: in those of affected groups, or in all. -#}
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

{#- The difference of two selects of events, as `_difference`, with the batch of the run. -#}
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

{#- What changes in the model's quarantined rows: all entries of the rows that were read, for those that are now. An entry
    is known by its raw row alone, which may have several. -#}
{%- macro _changes_in_quarantine(run, decoded) -%}
    {%- set has_context, conditions = run.dependencies.identity, [] -%}
    {%- if has_context -%}{%- do conditions.append('not cdc_is_context') -%}{%- endif -%}
    {%- if run.call.spec.inputs -%}{%- do conditions.append('cdc_input is null') -%}{%- endif -%}
    {{ return(spark_cdc._difference_of_entries(
        run, run.read ~ (' where ' ~ conditions | join(' and ') if conditions else ''), decoded,
        'raw in (select cdc_raw from rows_read)' if has_context else none
    )) }}
{%- endmacro -%}

{#- The same, of the raw rows in `rows`, for those of the entries `made` that meet a condition. -#}
{%- macro _difference_of_entries(run, rows, made, condition=none) -%}
with entries as (
    {{ made | indent(4) }}
),

rows_read as (
    select distinct {{ spark_cdc.raw_json(run.call.spec.raw_columns) | indent(4) }} as cdc_raw
    from {{ rows }}
)

select
    true as cdc_is_removed,
    cast(null as string) as cdc_source,
    cast(null as string) as reason,
    cast(null as string) as detail,
    cdc_raw as raw
from rows_read
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

{#- Keeps the events that are taken out or replaced: the models built on this one compute the keys that these name anew, and by
    any of their columns a view may have left them out. Written before the model: a run that is killed between has kept too
    much, which harms nothing. -#}
{%- macro _keep_replaced_events(run, increment) -%}
    {%- set replaced -%}
select
    cdc_old.*,
    cdc_batch
from {{ increment }}
where cdc_old is not null
    {%- endset -%}
    {%- if run_query('select 1 from (' ~ replaced ~ ') as replaced limit 1') | length > 0 -%}
        {#- what was kept before the model was last made anew counts no more, and may have other columns -#}
        {%- set generation = {'spark_cdc.generation': run.properties['spark_cdc.generation']} -%}
        {%- if spark_cdc._is_there(run.replaced)
            and spark_cdc._properties(run.replaced).get('spark_cdc.generation') == generation['spark_cdc.generation'] -%}
            {%- do run_query('insert into ' ~ run.replaced ~ ' by name\n' ~ replaced) -%}
        {%- else -%}
            {#- made under another name: what a run that was killed here has left stands in nobody's way -#}
            {%- set made = spark_cdc._helper('replaced_' ~ run.suffix) -%}
            {%- do run_query(spark_cdc._create_as(
                run, made, replaced, dict(generation, **spark_cdc._statistics_of_model(run))
            )) -%}
            {%- do spark_cdc._check_claim(run) -%}
            {%- do spark_cdc._drop(run.replaced) -%}
            {%- do run_query('alter table ' ~ made ~ ' rename to ' ~ run.replaced) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}
