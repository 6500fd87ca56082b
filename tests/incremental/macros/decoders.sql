{#- Decoders of the scenarios of dependencies. They read the columns of every raw table of a scenario. -#}

{#- A decoder without dependencies: the first row of an id is an insert and the others are updates, in any order of
    arrival. -#}
{%- macro numbered(relation, second=none) -%}
    {{ return(spark_cdc.decode('steps.numbered', steps._spec_numbered(relation, second))) }}
{%- endmacro -%}

{%- macro _spec_numbered(relation, second=none) -%}
    {{ return({
        'relation': relation, 'lookups': {'second': second}, 'key': ['id'], 'columns': {'id': 'bigint', 'note': 'string'},
        'raw_columns': spark_cdc.columns_of(relation),
    }) }}
{%- endmacro -%}

{%- macro _outcomes_numbered(spec) -%}
    {%- set second = spec.lookups.second -%}
with numbered as (
    select
        id,
        header__change_seq,
        {{ 'coalesce(second.note, rows.note)' if second else 'note' }} as note,
        row_number() over (partition by id order by header__change_seq) as number,
        case when header__change_oper = '?' then 'bad_operation' end as reason,
        {{ 'cast(null as string)' if second else spark_cdc.raw_json(spec.raw_columns) }} as raw
    from {{ spec.relation }} as rows
    {{ 'left join ' ~ second ~ ' as second using (id)' if second }}
)

{{ spark_cdc.select_events(spec, {
    'cdc_operation': "if(number = 1, 'insert', 'update')", 'cdc_sequence': 'header__change_seq', 'cdc_reason': 'reason',
    'cdc_detail': "concat('row ', number)", 'cdc_raw': 'raw',
}, 'numbered') }}
{%- endmacro -%}


{#- A decoder with all dependencies. An event is a key's last row; its note is the first answer of `base`. Rows of different
    keys with one transaction id are in conflict. Rows landed after `as_of`, and rows unknown to `base`, wait. A row with the
    operation `*` changes every note. -#}
{%- macro answered(relation, part, base, as_of=none) -%}
    {{ return(spark_cdc.decode('steps.answered', steps._spec_answered(relation, part, base, as_of))) }}
{%- endmacro -%}

{%- macro _spec_answered(relation, part, base, as_of=none) -%}
    {{ return(dict(steps._spec_numbered(relation), lookups={'base': base}, part=part, as_of='%03d' | format(as_of) if as_of else none)) }}
{%- endmacro -%}

{%- macro _answered_rows(spec) -%}
with delivered as (
    select
        *,
        {{ spark_cdc.raw_json(spec.raw_columns) }} as raw
    from {{ spec.relation }}
    where part = '{{ spec.part }}'
),

stars as (
    select count(*) as stars from delivered
    where header__change_oper = '*'
),

claims as (
    select header__transaction_id, count(distinct id) as ids from delivered
    group by header__transaction_id
),

judged as (
    select
        delivered.*,
        concat(base.note, repeat('*', stars.stars)) as answer,
        case
            when delivered.id is null then 'no_id'
            when claims.ids > 1 then 'conflict'
            when delivered.landed > {{ spec.as_of or 999 }} then 'waiting'
            when base.id is null then 'unanswered'
        end as reason,
        row_number() over (partition by delivered.id order by delivered.header__change_seq desc) as number
    from delivered
    cross join stars
    left join claims on delivered.header__transaction_id = claims.header__transaction_id
    left join {{ spec.lookups.base }} as base on delivered.id = base.id
)
{%- endmacro -%}

{%- macro _outcomes_answered(spec) -%}
{{ steps._answered_rows(spec) }},

outcomes as (
    select
        judged.id,
        judged.header__change_seq,
        judged.header__change_oper,
        {{ 'coalesce(built.note, judged.answer)' if spec.built else 'judged.answer' }} as note,
        judged.reason,
        judged.raw
    from judged
    {%- if spec.built %}
    left join {{ spec.built }} as built
        on
            judged.id = built.id
            and judged.header__change_seq = built.cdc_sequence
            and judged.answer not like '%*'
    {%- endif %}
    where
        judged.reason is not null
        or judged.number = 1
)

{{ spark_cdc.select_events(spec, {
    'cdc_operation': "'update'", 'cdc_sequence': 'header__change_seq', 'cdc_reason': 'reason',
    'cdc_detail': "concat('id ', id)", 'cdc_raw': 'raw',
}, 'outcomes') }}
{%- endmacro -%}

{%- macro _dependencies_answered(spec) -%}
    {%- set again -%}
select cast(id as string) from {{ spec.relation }}
where
    landed <= {{ spec.as_of or 999 }}
    and id in (select id from {{ spec.lookups.base }})
    {%- if spec.builds == 'events' %}
    and id not in (select id from {{ spec.built }})
    {%- else %}
    and cast(id as string) in (
        select get_json_object(raw, '$.id') from {{ spec.built }}
        where reason in ('waiting', 'unanswered')
    )
    {%- endif %}
    {%- endset -%}
    {{ return({
        'group': 'cast(id as string)',
        'event_group': 'cast(id as string)',
        'identity': 'header__transaction_id',
        'again': again,
        'keeps': "part = '" ~ spec.part ~ "'",
        'all_if': 'select 1 from ' ~ spec.new_rows ~ " as new_rows where header__change_oper = '*'",
    }) }}
{%- endmacro -%}


{#- One with a look-up, and without dependencies: `base` has the note of an id. -#}
{%- macro described(relation, base) -%}
    {{ return(spark_cdc.decode('steps.described', steps._spec_described(relation, base))) }}
{%- endmacro -%}

{%- macro _spec_described(relation, base) -%}
    {{ return(dict(steps._spec_numbered(relation), lookups={'base': base})) }}
{%- endmacro -%}

{%- macro _described_rows(spec) -%}
with numbered as (
    select
        id as number,
        header__change_seq,
        {{ spark_cdc.raw_json(spec.raw_columns) }} as raw
    from {{ spec.relation }}
),

described as (
    select
        number as id,
        header__change_seq,
        base.note,
        numbered.raw
    from numbered
    left join (select id, max(note) as note from {{ spec.lookups.base }} group by id) as base
        on number = base.id
)
{%- endmacro -%}

{%- macro _outcomes_described(spec) -%}
{{ steps._described_rows(spec) }}

{{ spark_cdc.select_events(spec, {
    'cdc_operation': "'update'", 'cdc_sequence': 'header__change_seq', 'cdc_reason': "if(note is null, 'no_note', null)",
    'cdc_detail': "'base has no such id'", 'cdc_raw': 'raw',
}, 'described') }}
{%- endmacro -%}


{#- One with two raw relations: a row of `notes` has the note of an id. With `by`, another group. -#}
{%- macro noted(relation, notes, by='id') -%}
    {{ return(spark_cdc.decode('steps.noted', steps._spec_noted(relation, notes, by))) }}
{%- endmacro -%}

{%- macro _spec_noted(relation, notes, by='id') -%}
    {{ return(dict(
        steps._spec_numbered(relation), by=by, inputs={'notes': notes}, input_columns={'notes': {'id': 'bigint', 'note': 'string'}}
    )) }}
{%- endmacro -%}

{%- macro _outcomes_noted(spec) -%}
with noted as (
    select
        rows.id,
        rows.header__change_seq,
        notes.note,
        if(rows.header__change_oper = '?', 'bad_operation', null) as reason,
        {{ spark_cdc.raw_json(spec.raw_columns) | replace('`id`', 'rows.`id`') | replace('`note`', 'rows.`note`') }} as raw
    from {{ spec.relation }} as rows
    left join (select id, max(note) as note from {{ spec.inputs.notes }} group by id) as notes
        on rows.id = notes.id
)

{{ spark_cdc.select_events(spec, {
    'cdc_operation': "'update'", 'cdc_sequence': 'header__change_seq', 'cdc_reason': 'reason', 'cdc_detail': "'a row'",
    'cdc_raw': 'raw',
}, 'noted') }}
{%- endmacro -%}

{%- macro _dependencies_noted(spec) -%}
    {%- set of_id = "concat('" ~ spec.by ~ "', cast(" -%}
    {{ return({
        'group': of_id ~ 'id as string))',
        'event_group': of_id ~ 'id as string))',
        'keeps': "part = 'a'",
        'inputs': {'notes': {'group': of_id ~ spark_cdc.input_column('notes', 'id') ~ ' as string))'}},
    }) }}
{%- endmacro -%}
