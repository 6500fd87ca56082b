{#- The parts of the decoder of event logs: from log rows to events. -#}

{#- A text of the log as a value of its column. Strings are as logged, binary is base64, all other types are read from
    trimmed text. NULL if the text is not exactly a value of the type. Times may also have Db2's form; digits after
    microseconds are cut. -#}
{%- macro _netiq_value(text, data_type) -%}
    {%- set family = spark_cdc._type_facts(data_type).family -%}
    {%- if family == 'text' -%}
        {{ return(spark_cdc._typed(text, 'string', data_type)) }}
    {%- elif data_type | lower | trim == 'binary' -%}
        {{ return(spark_cdc._call('try_to_binary', [spark_cdc._call('regexp_replace', [text, "'[ \\\\t\\\\r\\\\n\\\\f]'", "''"]), "'base64'"])) }}
    {%- endif -%}
    {%- set prepared = spark_cdc._time_in_spark_form(text) if family in ('timestamp', 'date') else 'trim(' ~ text ~ ')' -%}
    {{ return(spark_cdc._typed_once(prepared, data_type)) }}
{%- endmacro -%}

{#- A column of the log. Texts are compared by their bytes, whatever their collation. -#}
{%- macro _netiq_raw(spec, name) -%}
    {%- set column = spec.layout[name] -%}
    {{ return(spark_cdc._bytewise(spark_cdc._quote(column), spec.raw_columns[column])) }}
{%- endmacro -%}

{#- Its type, without a collation. -#}
{%- macro _netiq_raw_type(spec, name) -%}
    {{ return(modules.re.sub('(?i) collate .*', '', spec.raw_columns[spec.layout[name]])) }}
{%- endmacro -%}

{#- A number of the log, decimal(38, 0); NULL if it is not a whole number. -#}
{%- macro _netiq_raw_number(spec, name) -%}
    {{ return(spark_cdc._typed(spark_cdc._netiq_raw(spec, name), spark_cdc._netiq_raw_type(spec, name), 'decimal(38, 0)')) }}
{%- endmacro -%}

{%- macro _netiq_raw_record_id(spec) -%}
    {{ return(spark_cdc._netiq_raw_number(spec, 'record_id')) }}
{%- endmacro -%}

{#- The local time of an event, as `_local_time` gives it. -#}
{%- macro _netiq_raw_time(spec) -%}
    {{ return(spark_cdc._local_time(spark_cdc._netiq_raw(spec, 'event_time'), spark_cdc._netiq_raw_type(spec, 'event_time'))) }}
{%- endmacro -%}

{#- The literal of a local time, in the same form. -#}
{%- macro _netiq_time_literal(text) -%}
    {{ return("timestamp '" ~ text ~ "Z'") }}
{%- endmacro -%}

{#- The name of a row's table, without its schema. -#}
{%- macro _netiq_raw_table(spec) -%}
    {{ return("lower(trim(substring_index(" ~ spark_cdc._netiq_raw(spec, 'table_name') ~ ", '.', -1)))") }}
{%- endmacro -%}

{#- Whether a row belongs to the table, or has no table name. The name is evaluated once for each row. -#}
{%- macro _netiq_is_of_table(spec) -%}
    {{ return('coalesce(' ~ spark_cdc._netiq_raw_table(spec) ~ ", '') in (" ~ spark_cdc._literal(spec.table) ~ ", '')") }}
{%- endmacro -%}


{#- The grammar of table_key as regular expressions. Every repeated group is possessive; otherwise a key of thousands of
    characters overflows Java's stack. -#}
{%- macro _netiq_key_grammar() -%}
    {%- set name = '[^=+"\\\\,;<>]++' -%}
    {%- set value = '"[^"\\\\]*+(?:\\\\["\\\\][^"\\\\]*+)*+"|[^,;\'+"=\\\\<>]*+' -%}
    {{ return({
        'part': '(' ~ name ~ ')=(' ~ value ~ ')',
        'whole': '^' ~ name ~ '=(?:' ~ value ~ ')(?:[+]' ~ name ~ '=(?:' ~ value ~ '))*+\\z',
        'escape': '\\\\(["\\\\])',
        'prefix': '^pk_(?:sv_)?(?:[0-9]+_)?(?:_.+__)?',
    }) }}
{%- endmacro -%}

{#- The names in a table_key, in lower case, and its values, as a struct of two arrays. NULL if the text is malformed. This
    is checked first: in a long malformed text, a search for parts would start again at each position. -#}
{%- macro _netiq_key_parts(object) -%}
    {%- set grammar = spark_cdc._netiq_key_grammar() -%}
case
    when {{ object }} rlike {{ spark_cdc._literal(grammar.whole) }}
        then named_struct(
            'names', regexp_extract_all(lower({{ object }}), {{ spark_cdc._literal(grammar.part) }}, 1),
            'values', transform(
                regexp_extract_all({{ object }}, {{ spark_cdc._literal(grammar.part) }}, 2),
                value -> if(
                    left(value, 1) = '"',
                    regexp_replace(substr(value, 2, length(value) - 2), {{ spark_cdc._literal(grammar.escape) }}, '$1'),
                    value
                )
            )
        )
end
{%- endmacro -%}

{#- The key columns that the names mean, in their order; NULL for an unknown name. If the name of a view column can be read
    in several ways, the first matching key column counts. -#}
{%- macro _netiq_key_columns(spec, names) -%}
    {%- set known, prefixed = [], [] -%}
    {%- for name in spec.key -%}
        {%- set column = spark_cdc._literal(name | lower) -%}
        {%- do known.append(column) -%}
        {%- do prefixed.append(
            'when trim(name) rlike ' ~ spark_cdc._literal(
                spark_cdc._netiq_key_grammar().prefix ~ '\\Q' ~ (name | lower).replace('\\E', '\\E\\\\E\\Q') ~ '\\E\\z'
            ) ~ ' then ' ~ column
        ) -%}
    {%- endfor -%}
transform(
    {{ names }},
    name -> case
        when trim(name) in ({{ known | join(', ') }}) then trim(name)
        {{ prefixed | join('\n        ') }}
    end
)
{%- endmacro -%}

{#- The text of a key column. -#}
{%- macro _netiq_key_text(columns, values, name) -%}
    {%- set position = 'array_position(' ~ columns ~ ', ' ~ spark_cdc._literal(name | lower) ~ ')' -%}
    {{ return(spark_cdc._call('get', [values, 'cast(' ~ position ~ ' as int) - 1'])) }}
{%- endmacro -%}

{#- The group of a raw row: its key as text. The key is parsed once. -#}
{%- macro _netiq_group_of_raw_row(spec) -%}
    {%- set columns = spark_cdc._netiq_key_columns(spec, 'parts.names') -%}
    {%- set values = {} -%}
    {%- for name in spec.key -%}
        {%- set text = spark_cdc._netiq_key_text(columns, 'parts.values', name) -%}
        {%- do values.update({name: spark_cdc._netiq_value(text, spec.columns[name])}) -%}
    {%- endfor -%}
get(
    transform(
        array(
            {{ spark_cdc._netiq_key_parts(spark_cdc._netiq_raw(spec, 'table_key')) | indent(12) }}
        ),
        parts -> {{ spark_cdc._key_as_text(values, spec.columns) | indent(8) }}
    ),
    0
)
{%- endmacro -%}


{#- The ten columns as they are read. XDS documents also need the names as the log spells them. -#}
{%- macro _netiq_raw_columns(spec) -%}
{{ spark_cdc._netiq_raw_record_id(spec) }} as cdc_record_id,
rtrim({{ spark_cdc._netiq_raw(spec, 'status') }}) as cdc_status,
try_cast({{ spark_cdc._netiq_raw_number(spec, 'event_type') }} as int) as cdc_event_type,
{{ spark_cdc._netiq_raw_time(spec) }} as cdc_event_time,
{{ spark_cdc._netiq_raw(spec, 'perpetrator') }} as cdc_perpetrator,
{{ spark_cdc._netiq_raw_table(spec) }} as cdc_table,
{{ spark_cdc._netiq_raw(spec, 'table_key') }} as cdc_object,
lower(trim({{ spark_cdc._netiq_raw(spec, 'column_name') }})) as cdc_column,
{{ spark_cdc._netiq_raw(spec, 'old_value') }} as cdc_old_value,
{{ spark_cdc._netiq_raw(spec, 'new_value') }} as cdc_new_value,
{{ spark_cdc._netiq_raw(spec, 'event_time') }} is null as cdc_has_no_time
{%- if spec.is_spelled %},
struct(
    trim(substring_index({{ spark_cdc._netiq_raw(spec, 'table_name') }}, '.', -1)) as cdc_table_name,
    trim({{ spark_cdc._netiq_raw(spec, 'column_name') }}) as cdc_column_name
) as cdc_spelled
{%- endif %}
{%- endmacro -%}

{#- CTEs from the log to `judged_alone` and `merged`. `judged_alone` has the rows of the table, and rows without a table
    name, with the reason if one is refused on its own. `merged` has each well-formed row once. -#}
{%- macro _netiq_items(spec, as_delivered=false) -%}
    {%- set keys = [] -%}
    {%- for name in spec.key -%}
        {%- set value = spark_cdc._netiq_value(spark_cdc._netiq_key_text('cdc_key_columns', 'cdc_key_parts.values', name), spec.columns[name]) -%}
        {%- do keys.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._bytewise(value, spec.columns[name])) -%}
    {%- endfor -%}
with raw as (
    select
        {{ spark_cdc._netiq_raw_columns(spec) | indent(8) }}
        {%- if as_delivered %},
        cast({{ spark_cdc._netiq_raw(spec, 'record_id') }} as string) as cdc_record_id_as_logged,
        cast({{ spark_cdc._netiq_raw(spec, 'event_type') }} as string) as cdc_event_type_as_logged,
        cast({{ spark_cdc._netiq_raw(spec, 'event_time') }} as string) as cdc_event_time_as_logged,
        {{ spark_cdc.raw_json(spec.raw_columns) | indent(8) }} as cdc_raw
        {%- endif %}
    from {{ spec.relation }}
    where {{ spark_cdc._netiq_is_of_table(spec) }}
),

-- generators, so that Spark parses each key once for each row
parsed as (
    select
        raw.*,
        parts.cdc_key_parts,
        columns.cdc_key_columns
    from raw
        lateral view explode(array(
            {{ spark_cdc._netiq_key_parts('cdc_object') | indent(12) }}
        )) parts as cdc_key_parts
        lateral view explode(array(
            {{ spark_cdc._netiq_key_columns(spec, 'cdc_key_parts.names') | indent(12) }}
        )) columns as cdc_key_columns
),

keyed as (
    select
        parsed.*,
        keys.cdc_key
    from parsed
        lateral view explode(array(
            named_struct(
                {{ keys | join(',\n') | indent(16) }}
            )
        )) keys as cdc_key
),

judged_alone as (
    select
        keyed.* except (cdc_key_parts, cdc_key_columns),
        verdict.cdc_reason
    from keyed
        lateral view explode(array(
            {{ spark_cdc._netiq_reason(spec) | indent(12) }}
        )) verdict as cdc_reason
),

well_formed as (
    select * from judged_alone
    where cdc_reason is null
),

-- Hashes of record ids that can occur in several rows. A bucket holds whole ids. There are so few buckets that
-- they always fit in memory. Rows outside of them are not compared.
claims as (
    select xxhash64(cdc_record_id) as cdc_hash
    from raw
    where cdc_record_id is not null
    group by xxhash64(cdc_record_id)
    having count(*) > 1
),

repeated as (
    select distinct pmod(cdc_hash, 1048576) as cdc_bucket
    from claims
),

-- rows of one record id are one row if they agree in everything except the status; another status wins over N
gathered as (
    select /*+ broadcast(repeated) */
        cdc_record_id,
        coalesce(max(nullif(cdc_status, 'N')), 'N') as cdc_status,
        min({{ spark_cdc._netiq_content(spec) | indent(8) }}) as cdc_least,
        max({{ spark_cdc._netiq_content(spec) | indent(8) }}) as cdc_greatest
        {{- ',\n        min(cdc_spelled) as cdc_spelled' if spec.is_spelled }}
    from well_formed
    left semi join repeated
        on pmod(xxhash64(well_formed.cdc_record_id), 1048576) = repeated.cdc_bucket
    group by cdc_record_id
),

merged as (
    select /*+ broadcast(repeated) */
        cdc_record_id,
        cdc_status,
        cdc_event_type,
        cdc_event_time,
        cdc_perpetrator,
        cdc_object,
        cdc_column,
        cdc_new_value,
        cdc_key
        {{- ',\n        cdc_old_value,\n        cdc_spelled' if spec.is_spelled }}
    from well_formed
    left anti join repeated
        on pmod(xxhash64(well_formed.cdc_record_id), 1048576) = repeated.cdc_bucket
    union all
    select
        cdc_record_id,
        cdc_status,
        cdc_least.cdc_event_type,
        cdc_least.cdc_event_time,
        cdc_least.cdc_perpetrator,
        cdc_least.cdc_object,
        cdc_least.cdc_column,
        cdc_least.cdc_new_value,
        cdc_least.cdc_key
        {{- ',\n        cdc_least.cdc_old_value,\n        cdc_spelled' if spec.is_spelled }}
    from gathered
    where cdc_least <=> cdc_greatest
)
{%- endmacro -%}

{#- The first reason why a row is refused on its own. Without a key, only the reasons that need no key. -#}
{%- macro _netiq_reason(spec) -%}
    {%- set mismatch, bad_keys = [], [] -%}
    {%- for name in spec.key -%}
        {%- do mismatch.append('not coalesce(array_contains(cdc_key_columns, ' ~ spark_cdc._literal(name | lower) ~ '), false)') -%}
        {%- do bad_keys.append('cdc_key.' ~ spark_cdc._quote(name) ~ ' is null') -%}
    {%- endfor -%}
case
    when coalesce(cdc_table, '') = '' then 'missing_table_name'
    when coalesce(cdc_record_id < 1, true) then 'bad_record_id'
    when coalesce(cdc_status not in ('N', 'S', 'W', 'E', 'F'), true) then 'bad_status'
    when coalesce(cdc_event_type not between 1 and 8, true) then 'unknown_operation'
    when cdc_has_no_time then 'null_event_time'
    when
        not {{ spark_cdc._is_local_time('cdc_event_time') | indent(8) }}
        then 'bad_event_time'
    when
        cdc_key_parts is null
        or size(array_distinct(cdc_key_parts.names)) < size(cdc_key_parts.names)
        then 'malformed_table_key'
    {%- if spec.key %}
    when
        size(cdc_key_columns) <> {{ spec.key | length }}
        or {{ mismatch | join('\n        or ') }}
        then 'key_mismatch'
    {%- endif %}
    when
        cdc_event_type not between 4 and 6
        and coalesce(cdc_column, '') = ''
        then 'missing_column_name'
    {%- if spec.key %}
    when
        {{ bad_keys | join('\n        or ') }}
        or (
            cdc_event_type <= 3
            and cdc_new_value is not null
            and {{ spark_cdc._netiq_is_bad_value(spec) | indent(12) }}
        )
        then 'bad_value'
    {%- endif %}
end
{%- endmacro -%}

{#- The values in which rows of one record id must agree. -#}
{%- macro _netiq_content(spec) -%}
struct(
    cdc_event_type,
    cdc_event_time,
    cdc_perpetrator,
    cdc_object,
    cdc_column,
    cdc_old_value,
    cdc_new_value
    {{- ',\n    cdc_key' if spec.key }}
)
{%- endmacro -%}

{#- Whether a logged value is not of its column's type. -#}
{%- macro _netiq_is_bad_value(spec) -%}
    {%- set by_type = {} -%}
    {%- for name, data_type in spec.columns.items() if spark_cdc._netiq_value('cdc_new_value', data_type) != 'cdc_new_value' -%}
        {%- do by_type.setdefault(data_type, []).append(spark_cdc._literal(name | lower)) -%}
    {%- endfor -%}
    {%- if not by_type -%}
        {{ return('false') }}
    {%- endif -%}
case
    {%- for data_type, names in by_type.items() %}
    when cdc_column in ({{ names | join(', ') }})
        then {{ spark_cdc._netiq_value('cdc_new_value', data_type) | indent(8) }} is null
    {%- endfor %}
    else false
end
{%- endmacro -%}

{#- The position of a row in the order of the log. -#}
{%- macro _netiq_place(spec) -%}
    {{ return('cdc_event_time, cdc_record_id' if spec.is_by_time else 'cdc_record_id') }}
{%- endmacro -%}

{#- CTEs to `windowed`: the active rows, with the windows in which precedence applies. -#}
{%- macro _netiq_windows(spec, as_delivered=false) -%}
    {%- set conditions = [] -%}
    {%- if spec.is_by_time -%}
        {%- do conditions.append('cdc_event_time <= ' ~ spark_cdc._netiq_time_literal(spec.as_of)) -%}
    {%- endif -%}
    {%- if not spec.lookups.snapshot -%}
        {%- do conditions.append('cdc_event_type <= 4') -%}
    {%- endif -%}
{{ spark_cdc._netiq_items(spec, as_delivered) }},

-- waiting rows are not active yet{{ '; without a snapshot, query-back rows are in quarantine' if not spec.lookups.snapshot }}
active as (
    select * from merged
    {%- if conditions %}
    where
        {{ conditions | join('\n        and ') }}
    {%- endif %}
)
    {%- if spec.lookups.snapshot %},

{{ spark_cdc._netiq_divided(spec) }},

-- a window is identified by its rows, without deletes
windowed as (
    select
        *,
        cdc_deletes > cdc_deletes_before as cdc_is_overtaken,
        concat_ws(
            ' ',
            count(*) over in_window,
            bit_xor(xxhash64(cdc_record_id)) over in_window,
            min(cdc_record_id) over in_window,
            max(cdc_record_id) over in_window
        ) as cdc_question
    from divided
    window in_window as (
        partition by cdc_key, cdc_object, cdc_event_time, cdc_deletes_before, cdc_event_type = 4
    )
)
    {%- endif -%}
{%- endmacro -%}

{#- The CTE `divided`: the rows of `relation` with the number of earlier deletes of their key, which divide its windows. -#}
{%- macro _netiq_divided(spec, relation='active', is_delete='cdc_event_type = 4') -%}
-- the deletes of a key divide its windows
divided as (
    select
        *,
        count_if({{ is_delete }}) over before as cdc_deletes_before,
        count_if({{ is_delete }}) over (partition by cdc_key) as cdc_deletes
    from {{ relation }}
    window before as (
        partition by cdc_key
        order by {{ spark_cdc._netiq_place(spec) }}
        rows between unbounded preceding and 1 preceding
    )
)
{%- endmacro -%}

{#- CTEs to `snapshot_taken`: the snapshot's row of each key, unchanged but for collations. Of several rows the greatest is
    taken. -#}
{%- macro _netiq_snapshot_taken(spec) -%}
    {%- set there, keys = {}, [] -%}
    {%- for name, column in spec.snapshot_columns.items() -%}
        {%- do there.update({name: spark_cdc._bytewise(spark_cdc._quote(column.name), column.type)}) -%}
    {%- endfor -%}
    {%- for name in spec.key -%}
        {%- set value = spark_cdc._netiq_snapshot_value(spec, name, there[name]) -%}
        {%- do keys.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._bytewise(value, spec.columns[name])) -%}
    {%- endfor -%}
snapshot_keyed as (
    select
        named_struct(
            {{ keys | join(',\n') | indent(12) }}
        ) as cdc_key,
        named_struct(
            {%- for name, value in there.items() %}
            {{ spark_cdc._literal(name) }}, {{ value }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as cdc_there
    from {{ spec.lookups.snapshot }}
),

snapshot_taken as (
    select
        cdc_key,
        max(cdc_there) as cdc_there
    from snapshot_keyed
    where
        {%- for name in spec.key %}
        {{ 'and ' if not loop.first }}cdc_key.{{ spark_cdc._quote(name) }} is not null
        {%- endfor %}
    group by cdc_key
)
{%- endmacro -%}

{#- CTEs to `snapshot_rows`: what the snapshot has for each key, with the columns whose values are not of their type. -#}
{%- macro _netiq_snapshot(spec) -%}
    {%- set values, bad, answer = [], [], [] -%}
    {%- for name, column in spec.snapshot_columns.items() -%}
        {%- set quoted, literal = spark_cdc._quote(name), spark_cdc._literal(name) -%}
        {%- set value = spark_cdc._netiq_snapshot_value(spec, name, 'cdc_there.' ~ quoted) -%}
        {%- do values.append(literal ~ ', ' ~ value) -%}
        {%- do answer.append(literal ~ ', cdc_values.' ~ quoted) -%}
        {%- if value != 'cdc_there.' ~ quoted -%}
            {%- do bad.append(spark_cdc._call('if', [
                'cdc_there.' ~ quoted ~ ' is not null and cdc_values.' ~ quoted ~ ' is null',
                spark_cdc._call('named_struct', [
                    "'name', " ~ spark_cdc._literal(name | lower), "'value', cast(cdc_there." ~ quoted ~ ' as string)'
                ]),
                'null',
            ])) -%}
        {%- endif -%}
    {%- endfor -%}
{{ spark_cdc._netiq_snapshot_taken(spec) }},

snapshot_typed as (
    select
        cdc_key,
        cdc_there,
        named_struct(
            {{ values | join(',\n') | indent(12) }}
        ) as cdc_values
    from snapshot_taken
),

snapshot_rows as (
    select
        cdc_key,
        named_struct(
            {{ answer | join(',\n') | indent(12) }},
            'cdc_bad', {% if bad -%}
            filter(
                array(
                    {{ bad | join(',\n') | indent(20) }}
                ),
                one -> one is not null
            )
            {%- else -%}
            cast(array() as array<struct<name: string, value: string>>)
            {%- endif %}
        ) as cdc_answer
    from snapshot_typed
)
{%- endmacro -%}

{%- macro _netiq_snapshot_value(spec, name, expression) -%}
    {%- set type_there = spec.snapshot_columns[name].type -%}
    {%- if spark_cdc._type_facts(type_there).family == 'text' -%}
        {{ return(spark_cdc._netiq_value(expression, spec.columns[name])) }}
    {%- endif -%}
    {{ return(spark_cdc._typed(expression, type_there, spec.columns[name])) }}
{%- endmacro -%}

{#- CTEs to `answered`: the active rows with the snapshot's answers to query-back rows, and with the bad values in these
    answers. -#}
{%- macro _netiq_answered(spec, as_delivered=false) -%}
{{ spark_cdc._netiq_windows(spec, as_delivered) }}
    {%- if spec.lookups.snapshot %},
        {%- if not spec.answers %}

{{ spark_cdc._netiq_snapshot(spec) }},
        {%- endif %}

asked as (
    select
        windowed.*,
        {{ 'answers' if spec.answers else 'snapshot_rows' }}.cdc_answer
    from windowed
    {%- if spec.answers %}
    left join {{ spec.answers }} as answers
        on
            windowed.cdc_question = answers.cdc_question
            and windowed.cdc_event_type >= 5
    {%- else %}
    left join snapshot_rows
        on
            windowed.cdc_key = snapshot_rows.cdc_key
            and windowed.cdc_event_type >= 5
            and not windowed.cdc_is_overtaken
    {%- endif %}
),

answered as (
    select
        *,
        case
            when cdc_event_type in (5, 6) then get(cdc_answer.cdc_bad, 0)
            when cdc_event_type in (7, 8) then get(filter(cdc_answer.cdc_bad, one -> one.name = cdc_column), 0)
        end as cdc_bad
    from asked
)
    {%- endif -%}
{%- endmacro -%}


{#- CTEs to `events`: one row for each event, with its log rows. -#}
{%- macro _netiq_events(spec) -%}
    {%- set known = [] -%}
    {%- for name in spec.columns -%}{%- do known.append(spark_cdc._literal(name | lower)) -%}{%- endfor -%}
    {%- set carried = ['cdc_event_type', 'cdc_status', 'cdc_perpetrator', 'cdc_column', 'cdc_new_value'] -%}
    {%- if spec.lookups.snapshot -%}{%- do carried.append('cdc_answer') -%}{%- endif -%}
{{ spark_cdc._netiq_answered(spec) }},
    {%- if spec.lookups.snapshot %}

-- P3: a query-back event is ignored once the database object no longer exists
existing as (
    select
        *,
        cdc_answer is not null and cdc_bad is null as cdc_is_answered
    from answered
),

compared as (
    select
        *,
        bool_or(cdc_is_answered and cdc_event_type in (5, 6)) over in_window as cdc_has_row,
        collect_set(case when cdc_is_answered and cdc_event_type in (7, 8) then cdc_column end)
            over in_window as cdc_fields
    from existing
    window in_window as (partition by cdc_key, cdc_object, cdc_event_time, cdc_deletes_before)
),

-- P1: an event is ignored if a query-back event is logged for the same field or object.
-- P2: a query-back row event goes before a query-back field event of the same object.
remaining as (
    select * from compared
    where
        cdc_event_type = 4
        or (cdc_event_type <= 3 and not cdc_has_row and not array_contains(cdc_fields, cdc_column))
        or (cdc_event_type in (5, 6) and cdc_is_answered)
        or (cdc_event_type in (7, 8) and cdc_is_answered and not cdc_has_row)
),
    {%- else %}

remaining as (
    select * from active
),
    {%- endif %}

{{ spark_cdc._netiq_parts(spec, carried) }},

events as (
    select
        cdc_key,
        cdc_kind = 'row' as cdc_is_row,
        case
            when cdc_kind = 'add' or exists(cdc_rows, one -> one.cdc_event_type = 5) then 'insert'
            when cdc_kind = 'delete' then 'delete'
            else 'update'
        end as cdc_operation,
        cdc_rows[0] as cdc_first,
        element_at(cdc_rows, -1) as cdc_last,
        {%- if spec.is_by_time %}
        {{ spark_cdc._time_digits('cdc_rows[0].cdc_event_time') | indent(8) }} as cdc_first_time,
        {%- endif %}
        transform(cdc_rows, one -> one.cdc_record_id) as cdc_record_ids,
        case
            when cdc_kind in ('add', 'modify') then transform(cdc_rows, one -> one.cdc_column)
        end as cdc_names,
        case
            when cdc_kind in ('add', 'modify')
                then map_from_entries(transform(cdc_rows, one -> struct(one.cdc_column, one.cdc_new_value)))
        end as cdc_values
        {%- if spec.lookups.snapshot %},
        transform(filter(cdc_rows, one -> one.cdc_event_type >= 7), one -> one.cdc_column) as cdc_asked,
        get(filter(cdc_rows, one -> one.cdc_answer is not null), 0).cdc_answer as cdc_answer
        {%- endif %}
    from parts
    -- not an update that has only undeclared columns
    where
        cdc_kind <> 'modify'
        or exists(cdc_rows, one -> one.cdc_column in ({{ known | join(', ') }}))
)
{%- endmacro -%}

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

{#- The rows of a run, split into arrays in which no column occurs twice. -#}
{%- macro _netiq_split() -%}
aggregate(
    slice(runs.cdc_rows, 2, size(runs.cdc_rows)),
    named_struct(
        'done', slice(array(runs.cdc_rows), 1, 0),
        'open', slice(runs.cdc_rows, 1, 1)
    ),
    (state, one) -> if(
        exists(state.open, other -> other.cdc_column = one.cdc_column),
        named_struct('done', array_append(state.done, state.open), 'open', array(one)),
        named_struct('done', state.done, 'open', array_append(state.open, one))
    ),
    state -> array_append(state.done, state.open)
)
{%- endmacro -%}

{#- A column of an event. Keys are compared by their bytes; here they get their collation. -#}
{%- macro _netiq_event_value(spec, name) -%}
    {%- if name in spec.key -%}
        {%- set value = 'cdc_key.' ~ spark_cdc._quote(name) -%}
        {%- set is_collated = ' collate ' in spec.columns[name] | lower -%}
        {{ return(spark_cdc._typed(value, 'string', spec.columns[name]) if is_collated else value) }}
    {%- endif -%}
    {%- set literal = spark_cdc._literal(name | lower) -%}
    {%- set logged = spark_cdc._netiq_value('try_element_at(cdc_values, ' ~ literal ~ ')', spec.columns[name]) -%}
    {%- if not spec.lookups.snapshot -%}
        {{ return(logged) }}
    {%- endif -%}
case
    when cdc_is_row or array_contains(cdc_asked, {{ literal }}) then cdc_answer.{{ spark_cdc._quote(name) }}
    else {{ logged | indent(4) }}
end
{%- endmacro -%}

{#- The sequence of an event: the record id of its first row. If times order the log, the time comes before it. -#}
{%- macro _netiq_sequence(spec) -%}
    {%- set number = "lpad(cast(cdc_first.cdc_record_id as string), 38, '0')" -%}
    {%- if not spec.is_by_time -%}
        {{ return(number) }}
    {%- endif -%}
    {{ return(spark_cdc._call('concat', ['cdc_first_time', "'.'", number])) }}
{%- endmacro -%}

{#- The columns that an update changed. -#}
{%- macro _netiq_changed_columns(spec) -%}
case
    when cdc_operation = 'update' and not cdc_is_row
        then {{ spark_cdc._netiq_columns_where(spec, 'array_contains(cdc_names, lower(name))') | indent(8) }}
end
{%- endmacro -%}

{#- The columns that an event carries; NULL if it carries all of them. -#}
{%- macro _netiq_present_columns(spec) -%}
    {%- set key = [] -%}
    {%- for name in spec.key -%}{%- do key.append(spark_cdc._literal(name)) -%}{%- endfor -%}
    {%- set is_present = 'name in (' ~ key | join(', ') ~ ") or coalesce(array_contains(cdc_names, lower(name)), false)" -%}
case
    when not cdc_is_row
        then {{ spark_cdc._call('nullif', [
            spark_cdc._netiq_columns_where(spec, is_present), spark_cdc._netiq_columns_where(spec, 'true')
        ]) | indent(8) }}
end
{%- endmacro -%}

{%- macro _netiq_columns_where(spec, condition) -%}
    {%- set names = [] -%}
    {%- for name in spec.columns -%}{%- do names.append(spark_cdc._literal(name)) -%}{%- endfor -%}
filter(
    array(
        {{ names | join(',\n') | indent(8) }}
    ),
    name -> {{ condition }}
)
{%- endmacro -%}

{#- What else the log says about an event, taken from its last row. -#}
{%- macro _netiq_metadata() -%}
named_struct(
    'record_id', try_cast(cdc_last.cdc_record_id as bigint),
    'perpetrator', cdc_last.cdc_perpetrator,
    'event_time', cdc_last.cdc_event_time,
    'status', cdc_last.cdc_status
)
{%- endmacro -%}


{#- CTEs to `judged`: every delivery of the table's rows, with the reason if it is in quarantine. -#}
{%- macro _netiq_judged(spec, as_delivered=false, goes_on=false) -%}
    {%- set is_asked = spec.lookups.snapshot -%}
    {%- if not goes_on -%}
{{ spark_cdc._netiq_answered(spec, as_delivered) if is_asked else spark_cdc._netiq_items(spec, as_delivered) }},
{{ '\n' }}
    {%- endif -%}
    {%- if is_asked -%}
bad_answers as (
    select
        cdc_record_id,
        cdc_bad
    from answered
    where cdc_bad is not null
),
{{ '\n' }}
    {%- endif -%}
judged as (
    select
        judged_alone.* except (cdc_reason),
        {%- if is_asked %}
        bad_answers.cdc_bad,
        {%- endif %}
        case
            when judged_alone.cdc_reason is not null then judged_alone.cdc_reason
            when not gathered.cdc_least <=> gathered.cdc_greatest then 'sequence_conflict'
            {%- if is_asked %}
            when bad_answers.cdc_record_id is not null then 'bad_value'
            {%- else %}
            when
                judged_alone.cdc_event_type >= 5
                {%- if spec.is_by_time %}
                and judged_alone.cdc_event_time <= {{ spark_cdc._netiq_time_literal(spec.as_of) }}
                {%- endif %}
                then 'no_snapshot'
            {%- endif %}
        end as cdc_reason
    from judged_alone
    left join gathered
        on judged_alone.cdc_record_id = gathered.cdc_record_id
    {%- if is_asked %}
    left join bad_answers
        on judged_alone.cdc_record_id = bad_answers.cdc_record_id
    {%- endif %}
)
{%- endmacro -%}

{#- The text of `detail`: what a person needs to see with the reason. -#}
{%- macro _netiq_detail(spec) -%}
    {%- set texts, bad_keys = {}, [] -%}
    {%- for name in spec.key -%}
        {%- do bad_keys.append(
            'when cdc_key.' ~ spark_cdc._quote(name) ~ ' is null\n    then ' ~ spark_cdc._call('concat', [
                "'table_key is '", 'left(cdc_object, 100)', spark_cdc._literal('; ' ~ name ~ ' in it is no ' ~ spec.columns[name])
            ]) | indent(4)
        ) -%}
    {%- endfor -%}
case cdc_reason
    when 'missing_table_name' then 'table_name is NULL or empty'
    when 'bad_record_id' then concat('record_id is ', coalesce(cdc_record_id_as_logged, 'NULL'))
    when 'bad_status' then concat('status is ', coalesce(cdc_status, 'NULL'))
    when 'unknown_operation' then concat('event_type is ', coalesce(cdc_event_type_as_logged, 'NULL'))
    when 'null_event_time' then 'event_time is NULL'
    when 'bad_event_time' then concat('event_time is ', cdc_event_time_as_logged)
    when 'malformed_table_key' then concat('table_key is ', coalesce(left(cdc_object, 100), 'NULL'))
    when 'key_mismatch'
        then concat('table_key is ', left(cdc_object, 100), {{ spark_cdc._literal('; the key is ' ~ spec.key | join(', ')) }})
    when 'missing_column_name' then 'column_name is NULL or empty'
    when 'sequence_conflict' then concat('another row has record_id ', cdc_record_id)
    when 'no_snapshot' then concat('event_type is ', cdc_event_type, ', whose values only a snapshot has')
    when 'bad_value'
        then case
            {{ bad_keys | join('\n') | indent(12) }}
            {%- if spec.lookups.snapshot %}
            when cdc_bad is not null
                then concat(
                    cdc_bad.name,
                    ': \'',
                    left(cdc_bad.value, 100),
                    '\' in the snapshot is no ',
                    {{ spark_cdc._netiq_type_of(spec, 'cdc_bad.name') | indent(20) }}
                )
            {%- endif %}
            else concat(
                cdc_column,
                ': \'',
                left(cdc_new_value, 100),
                '\' is no ',
                {{ spark_cdc._netiq_type_of(spec, 'cdc_column') | indent(16) }}
            )
        end
end
{%- endmacro -%}

{#- The declared type of a column, by its name in lower case. -#}
{%- macro _netiq_type_of(spec, name) -%}
case {{ name }}
    {%- for column, data_type in spec.columns.items() %}
    when {{ spark_cdc._literal(column | lower) }} then {{ spark_cdc._literal(data_type) }}
    {%- endfor %}
end
{%- endmacro -%}
