{#- Capture tables that have only the key: one event for each key, at the position of its last row, with the values of
    `base`. -#}

{#- The CTE `keyed`: rows with cdc_key, which is compared with the keys of `base`. -#}
{%- macro _db2_keys(spec, rows) -%}
    {%- set key = [] -%}
    {%- for name in spec.key -%}
        {%- do key.append(
            spark_cdc._literal(name) ~ ', ' ~ spark_cdc._bytewise('cdc_row.' ~ spark_cdc._quote(name), spec.columns[name])
        ) -%}
    {%- endfor -%}
keyed as (
    select
        *,
        named_struct(
            {{ key | join(',\n') | indent(12) }}
        ) as cdc_key
    from {{ rows }}
)
{%- endmacro -%}

{#- CTEs to `answered_keys`: what `base` says about each key. An increment takes it from `spec.answers`, where an answer
    belongs to the rows of its key: see _answers_db2_capture_table. -#}
{%- macro _db2_answered_keys(spec) -%}
    {%- if spec.answers -%}
answered_keys as (
    select
        cdc_key,
        cdc_row,
        cdc_bad_base
    from {{ spec.answers }}
    where cdc_load_at is null
)
    {%- else -%}
{{ spark_cdc._base_rows(spec) }},

answered_keys as (
    select
        cdc_key,
        cdc_row,
        case when cdc_row is null then cdc_bad_base end as cdc_bad_base
    from base_rows
)
    {%- endif -%}
{%- endmacro -%}

{#- What became of the rows of a table with `base`. -#}
{%- macro _db2_decode_with_base(spec) -%}
    {%- set table = {} -%}
    {%- for name in spec.columns -%}
        {%- set column = spark_cdc._quote(name) -%}
        {%- do table.update({name: 'cdc_row.' ~ column if name in spec.key else 'cdc_answer.' ~ column}) -%}
    {%- endfor -%}
    {%- set present = [] -%}
    {%- for name in spec.columns if name in spec.key -%}{%- do present.append(spark_cdc._literal(name)) -%}{%- endfor -%}
    {%- set has_times = 'LOGMARKER' in spec.headers -%}
{{ spark_cdc._db2_judged(spec) }},
    {%- if has_times and not spec.answers %}

{{ spark_cdc._db2_load_times(spec) }},
    {%- elif has_times %}

load_times as (
    select
        cdc_load_at,
        cdc_anchor
    from {{ spec.answers }}
    where cdc_load_at is not null
),
    {%- endif %}

{{ spark_cdc._db2_keys(spec, 'judged') }},

{{ spark_cdc._db2_answered_keys(spec) }},

answered as (
    select{{ ' /*+ broadcast(load_times) */' if has_times }}
        keyed.* except (cdc_reason, cdc_bad_values),
        answered_keys.cdc_row as cdc_answer,
        {%- if has_times %}
        load_times.cdc_anchor,
        {%- endif %}
        case
            when keyed.cdc_reason is not null then keyed.cdc_reason
            when answered_keys.cdc_bad_base is not null then 'bad_value'
        end as cdc_reason,
        coalesce(keyed.cdc_bad_values, answered_keys.cdc_bad_base) as cdc_bad_values
    from keyed
    left join answered_keys
        on keyed.cdc_key = answered_keys.cdc_key
    {%- if has_times %}
    left join load_times
        on keyed.cdc_is_load and keyed.cdc_logmarker = load_times.cdc_load_at
    {%- endif %}
)
    {%- if spec.builds != 'quarantine' %},

sequenced as (
    select
        *,
        {{ spark_cdc._db2_sequence_of_row(spec).cdc_sequence | indent(8) }} as cdc_sequence
    from answered
    where cdc_reason is null
),

in_order_of_keys as (
    select
        * except (cdc_raw_rows),
        lead(cdc_sequence) over of_key is null as cdc_is_last,
        -- a pair is a delete and an insert in one commit, one after the other among the rows of the key
        cdc_operation = 'I'
        and lag(cdc_operation) over of_key <=> 'D'
        and lag(cdc_place) over of_key <=> cdc_place as cdc_is_pair,
        sum(cdc_raw_rows) over (partition by cdc_key) as cdc_raw_rows
    from sequenced
    window of_key as (partition by cdc_key, cdc_is_copy order by cdc_sequence)
),

last_rows as (
    select * except (cdc_sequence, cdc_is_last)
    from in_order_of_keys
    where
        cdc_is_last
        and not cdc_is_copy
){{ spark_cdc._db2_joined(spec, 'last_rows') }}
    {%- endif %}

{{ spark_cdc.select_events(spec, dict(spark_cdc._db2_of_event(spec), **{
    'cdc_operation': spark_cdc._db2_operation_of_answer(),
    'cdc_present_columns': 'case\n    when cdc_answer is null\n        then '
        ~ spark_cdc._call('array', present) | indent(8) ~ '\nend',
}), 'joined', table) }}
{{- spark_cdc._db2_and_refused(spec, 'answered') }}
{%- endmacro -%}

{#- The operation of an event with looked-up values: `base` decides whether the row exists. -#}
{%- macro _db2_operation_of_answer() -%}
case
    when cdc_answer is null then 'delete'
    when cdc_is_load then 'load'
    when cdc_operation = 'I' and not cdc_is_pair then 'insert'
    else 'update'
end
{%- endmacro -%}


{#- The answer of `base` for each key. cdc_question identifies the rows of the key, so the answer stays until a row joins or
    leaves them. It also has the anchor of each time of a full refresh: these depend on all changes, and an increment reads
    only a few. -#}
{%- macro _answers_db2_capture_table(spec) -%}
    {%- set content = ['cdc_place', 'cdc_intentseq', 'cdc_operation'] -%}
    {%- for name in spark_cdc._db2_told(spec) if name in spec.headers -%}{%- do content.append('cdc_' ~ name | lower) -%}{%- endfor -%}
{{ spark_cdc._db2_judged(spec) }},

{{ spark_cdc._db2_keys(spec, 'judged') }},

questions as (
    select
        cdc_key,
        concat_ws(
            ' ',
            count(*),
            bit_xor(xxhash64({{ content | join(', ') }})),
            hex(min(concat(cdc_place, cdc_intentseq))),
            hex(max(concat(cdc_place, cdc_intentseq)))
        ) as cdc_question
    from keyed
    where
        cdc_reason is null
        and not cdc_is_copy
    group by cdc_key
),

{{ spark_cdc._base_rows(spec, 'questions' if spec.answers else none) }}
{%- if 'LOGMARKER' in spec.headers %},

{{ spark_cdc._db2_load_times(spec) }}
{%- endif %},

asked as (
    select
        questions.*,
        base_rows.cdc_row,
        case when base_rows.cdc_row is null then base_rows.cdc_bad_base end as cdc_bad_base
        {%- if spec.answers %},
        stored.cdc_question is not null and stored.cdc_bad_base is null as cdc_is_kept,
        stored.cdc_row as cdc_stored_row
        {%- endif %}
    from questions
    left join base_rows
        on questions.cdc_key = base_rows.cdc_key
    {%- if spec.answers %}
    left join {{ spec.answers }} as stored
        on questions.cdc_key = stored.cdc_key and questions.cdc_question = stored.cdc_question
    {%- endif %}
)

select
    {{ spark_cdc._key_columns_as_text(spec, 'cdc_key.') | indent(4) }} as cdc_group,
    cdc_key,
    cdc_question,
    {%- if spec.answers %}
    if(cdc_is_kept, cdc_stored_row, cdc_row) as cdc_row,
    if(cdc_is_kept, null, cdc_bad_base) as cdc_bad_base,
    {%- else %}
    cdc_row,
    cdc_bad_base,
    {%- endif %}
    cast(null as timestamp) as cdc_load_at,
    cast(null as string) as cdc_anchor
from asked
{%- if 'LOGMARKER' in spec.headers %}
union all
select
    null as cdc_group,
    null as cdc_key,
    null as cdc_question,
    null as cdc_row,
    null as cdc_bad_base,
    cdc_load_at,
    cdc_anchor
from load_times
{%- endif %}
{%- endmacro -%}

{#- The groups in quarantine because of a bad row of `base` that is corrected or gone by now. -#}
{%- macro _db2_unanswered_groups(spec) -%}
with waiting_keys as (
    select
        cdc_group,
        cdc_key
    from {{ spec.answers }}
    where cdc_bad_base is not null
),

{{ spark_cdc._base_rows(spec, 'waiting_keys') }}

select waiting_keys.cdc_group
from waiting_keys
left join base_rows
    on waiting_keys.cdc_key = base_rows.cdc_key
where
    base_rows.cdc_key is null
    or base_rows.cdc_row is not null
{%- endmacro -%}
