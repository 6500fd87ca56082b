{#- Which older raw rows have to be decoded again with the new ones: see `_dependencies_<decoder>` in CONTRIBUTING. -#}

{#- Adds the decoder's dependencies to a run. It also finds out whether the stored rows or the model were made with another
    call. An earlier version of this package did not store the dependencies; then they count as unchanged. -#}
{%- macro _add_dependencies(run) -%}
    {%- set keys = ['group', 'event_group', 'is_prefix', 'prefix_of', 'identity', 'again', 'keeps', 'all_if', 'inputs'] -%}
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
    {%- if run.call.spec.input_values -%}{%- do kept_by.append(run.call.spec.input_values) -%}{%- endif -%}
    {%- set kept_by = local_md5(tojson(kept_by)) -%}
    {%- set is_regrouped = run.properties.get('spark_cdc.kept_by', kept_by) not in ('', kept_by) -%}
    {%- do run.update({
        'dependencies': given,
        'kept_by': kept_by,
        'is_regrouped': is_regrouped,
        'is_other': is_regrouped or run.properties.get('spark_cdc.definition') != run.fingerprint
            or not run.properties.get('spark_cdc.quarantine'),
    }) -%}
{%- endmacro -%}

{#- How much an increment has to decode: nothing, groups or all. -#}
{%- macro _extent(run) -%}
    {%- set dependencies = run.dependencies -%}
    {%- if run.resume -%}
        {{ return('groups' if run.has_new_rows else 'nothing') }}
    {%- elif not dependencies.group -%}
        {#- without dependencies it is unknown whether a look-up has a new answer -#}
        {%- set is_asked = not dependencies
            and (run.call.spec.as_of or run.look_ups != (run.properties.get('spark_cdc.look_ups') or none)) -%}
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
    {%- set bounds = run_query(
        'select min(cdc_group), max(cdc_group), (select bool_or(cdc_group is null) from ' ~ run.to_decode ~ ') from ' ~ groups
    ).rows[0] -%}
    {%- set in_groups = 'false' -%}
    {%- if bounds[0] is not none -%}
        {%- set in_groups = 'cdc_group >= ' ~ spark_cdc._literal(bounds[0]) ~ '\n    and cdc_group <= ' ~ spark_cdc._literal(bounds[1])
            ~ '\n    and cdc_group in (select cdc_group from ' ~ groups ~ ')' -%}
        {#- in a raw log the files have no ranges of the group, but of the column that it begins -#}
        {%- if run.logs and dependencies.prefix_of -%}
            {%- set range = dependencies.prefix_of ~ ' >= ' ~ spark_cdc._literal(bounds[0]) -%}
            {%- if run.call.spec.inputs -%}{%- set range = '(' ~ range ~ ' or cdc_input is not null)' -%}{%- endif -%}
            {%- set in_groups = range ~ '\n    and ' ~ in_groups -%}
        {%- endif -%}
    {%- endif -%}
    {%- set has_no_group = not run.logs or dependencies.identity or bounds[2] -%}
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
    {%- if bounds[0] is not none or not has_no_group %}
select {{ names }}{{ spark_cdc._flags(run, 'false') }}
from {{ run.raw }}
where
    {{ in_groups }}
    {%- endif %}
    {%- if has_no_group %}
    {{ 'union all' if bounds[0] is not none }}
select {{ names }}{{ spark_cdc._flags(run, 'false') }}
from {{ run.raw }}
where
    cdc_group is null
    and (
        (cdc_hash_1, cdc_hash_2) in (select cdc_hash_1, cdc_hash_2 from {{ run.to_decode }} where cdc_group is null)
        {{ 'or cdc_identity in (select cdc_identity from identities)' if dependencies.identity }}
    )
    {%- endif %}
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
