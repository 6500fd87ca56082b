{#- The parts of the decoder of GBase capture streams. The Python functions spark_cdc_gbase_… read the bytes, and name their
    documents. The macros here pass rows to them, and turn their values into columns. In their names a stretch is a segment
    of a capture, and a bucket is a shard. -#}

{#- The spec of one table of a stream: a dict of what is known before any row is read. Wrong arguments stop here. -#}
{%- macro _spec_gbase_capture(
    relation, table_id, key, columns, gbase_encoding=none, gbase_rtrim_char=none, null_keys=false
) -%}
    {%- set me = 'gbase_capture' -%}
    {%- set example = "{{ spark_cdc.gbase_capture(source('gbase', 'chunks'), table_id=7, key=['id'], columns={'id': 'int'}) }}" -%}
    {%- if model is defined and model.resource_type == 'model' and model.config.materialized == 'view' -%}
        {{ spark_cdc._stop(
            me, model.name ~ ' is a view, which cannot call the functions that decode the bytes', 'a table, or cdc_incremental',
            "{{ config(materialized='table') }}"
        ) }}
    {%- endif -%}
    {%- do spark_cdc._check_functions(me, ['spark_cdc_gbase_stretches', 'spark_cdc_gbase_records', 'spark_cdc_gbase_changes'], '4.1') -%}
    {%- set in_relation = spark_cdc.columns_of(relation) -%}
    {%- set types = {} -%}
    {%- for name, data_type in in_relation.items() -%}{%- do types.update({name | lower: data_type | lower}) -%}{%- endfor -%}
    {%- set integers = 'bigint|int|smallint|tinyint|long|integer' -%}
    {#- a capture_id of another type has different texts in different time zones, or in JSON -#}
    {%- for name, accepted in [
        ('capture_id', '(string|varchar|char|date|' ~ integers ~ ')\\b.*'), ('chunk_number', integers), ('payload', 'binary')
    ] -%}
        {%- if not modules.re.fullmatch(accepted, types.get(name, '')) -%}
            {{ spark_cdc._stop(
                me, relation ~ ' has ' ~ (name ~ ' of type ' ~ types[name] if name in types else 'no column ' ~ name),
                'one row for each read of the capture: capture_id string, chunk_number bigint, payload binary',
                'create view chunks as select session as capture_id, n as chunk_number, unhex(bytes) as payload from …'
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {%- if table_id is not integer or table_id is boolean or table_id | abs >= 2 ** 31 -%}
        {{ spark_cdc._stop(
            me, 'table_id is ' ~ table_id, 'the 32-bit number that was given to cdc_startcapture for this table', example
        ) }}
    {%- endif -%}
    {%- if columns is not mapping or not columns -%}
        {{ spark_cdc._stop(
            me, 'columns is ' ~ ('empty' if columns is mapping else columns), 'a dict of name -> Spark SQL type',
            "columns={'id': 'int', 'amount': 'decimal(12,2)'}"
        ) }}
    {%- endif -%}
    {%- do spark_cdc._check_table_columns(me, columns, in_relation, example) -%}
    {%- for name, data_type in columns.items() -%}{%- do spark_cdc._check_cast(me, name, 'string', data_type) -%}{%- endfor -%}
    {%- set encoding = var('spark_cdc_gbase_encoding', 'utf-8') if gbase_encoding is none else gbase_encoding -%}
    {%- if encoding is not string -%}
        {{ spark_cdc._stop(
            me, 'gbase_encoding is ' ~ encoding, "the name of a character set that Python knows, such as 'utf-8', 'gb18030', 'gbk', 'latin-1'",
            "gbase_encoding='gb18030'"
        ) }}
    {%- endif -%}
    {%- set rtrim_char = var('spark_cdc_gbase_rtrim_char', false) if gbase_rtrim_char is none else gbase_rtrim_char -%}
    {%- if rtrim_char is not boolean -%}
        {{ spark_cdc._stop(me, 'gbase_rtrim_char is ' ~ rtrim_char, 'true or false', 'gbase_rtrim_char=true') }}
    {%- endif -%}
    {%- do spark_cdc._check_null_keys(me, null_keys) -%}
    {{ return({
        'relation': relation,
        'table_id': table_id,
        'key': spark_cdc._resolve_key(me, key, columns | list, example),
        'null_keys': null_keys,
        'columns': columns,
        'raw_columns': in_relation,
        'encoding': encoding,
        'rtrim_char': rtrim_char,
    }) }}
{%- endmacro -%}


{#- How the Python functions give the values of a type: as numbers of one kind if possible, else as text. -#}
{%- macro _gbase_family(data_type) -%}
    {%- set facts = spark_cdc._type_facts(data_type) -%}
    {%- if facts.family in ('integer', 'date') -%}
        {{ return(facts.family) }}
    {%- elif facts.family == 'floating' -%}
        {{ return('float') }}
    {%- elif facts.family == 'decimal' and facts.scale <= 18 -%}
        {{ return('decimal:' ~ facts.scale) }}
    {%- elif data_type | lower | trim in ('timestamp', 'timestamp_ltz') -%}
        {{ return('timestamp') }}
    {%- endif -%}
    {{ return('text') }}
{%- endmacro -%}

{#- A number of a family as a value of its type. -#}
{%- macro _gbase_native(number, family, data_type) -%}
    {%- if family == 'date' -%}
        {{ return('date_from_unix_date(cast(' ~ number ~ ' as int))') }}
    {%- elif family == 'timestamp' -%}
        {{ return('timestamp_micros(' ~ number ~ ')') }}
    {%- elif family.startswith('decimal:') -%}
        {{ return('try_cast(' ~ spark_cdc._gbase_scaled(number, family) ~ ' as ' ~ spark_cdc._spaced(data_type) ~ ')') }}
    {%- endif -%}
    {{ return(spark_cdc._typed(number, 'double' if family == 'float' else 'bigint', data_type)) }}
{%- endmacro -%}

{#- Digits without their point as a decimal. -#}
{%- macro _gbase_scaled(number, family) -%}
    {%- set scale = family[8:] | int -%}
    {%- set unit = ('0.' ~ '0' * (scale - 1) ~ '1BD') if scale else '1BD' -%}
    {{ return('cast(' ~ number ~ ' as decimal(19, 0)) * ' ~ unit) }}
{%- endmacro -%}

{#- The settings of the function that makes change events: JSON in SQL, one column in each line. -#}
{%- macro _gbase_settings(spec) -%}
    {%- set families = [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- do families.append(tojson(name) ~ ': ' ~ tojson(spark_cdc._gbase_family(data_type))) -%}
    {%- endfor -%}
    {%- set given = {'table_id': spec.table_id, 'encoding': spec.encoding, 'rtrim_char': spec.rtrim_char} -%}
    {#- the function checks that no key column is null -#}
    {%- set lines = [tojson(given)[1:-1], '"key": ' ~ tojson([] if spec.null_keys else spec.key)] -%}
    {{ return(spark_cdc._literal('{' ~ lines | join(',\n') ~ ',\n"columns": {\n' ~ families | join(',\n') ~ '\n}}')) }}
{%- endmacro -%}


{#- CTEs from the chunks to `decoded`, the rows of spark_cdc_gbase_changes. With `spec.state`, a relation of such rows,
    parsing continues from that state. -#}
{%- macro _gbase_decoded(spec) -%}
with raw as (
    select
        cast(capture_id as string) as capture_id,
        cast(chunk_number as bigint) as chunk_number,
        payload,
        xxhash64(payload) as payload_hash
    from {{ spec.relation }}
    where capture_id is not null and chunk_number is not null and length(payload) > 0
),

chunks as (
    select
        capture_id,
        chunk_number,
        length(payload) as byte_count,
        left(payload, 16) as head,
        payload_hash
    from raw
),

-- the segments: chunks that can be read without the chunks before them
stretches as (
    select *
    from
        spark_cdc_gbase_stretches(
            table(chunks)
            partition by capture_id
            order by struct(chunk_number, payload_hash)
        )
),

stretch_chunks as (
    select
        stretches.capture_id,
        stretches.stretch,
        stretches.is_last,
        stretches.buckets,
        stretches.role,
        stretches.from_byte,
        raw.chunk_number,
        case stretches.role
            when 'context' then substring(raw.payload, stretches.from_byte + 1)
            else raw.payload
        end as payload,
        raw.payload_hash
    from stretches
    inner join raw
        on stretches.capture_id = raw.capture_id and stretches.chunk_number = raw.chunk_number
    {%- if spec.state %}
    union all
    select
        stretches.capture_id,
        stretches.stretch,
        stretches.is_last,
        stretches.buckets,
        case when stretches.is_first then 'state' else 'buffer' end as role,
        cast(null as int) as from_byte,
        cast(null as bigint) as chunk_number,
        state.content as payload,
        cast(null as bigint) as payload_hash
    from stretches
    inner join {{ spec.state }} as state
        on stretches.capture_id = state.capture_id
    where
        stretches.chunk_number = stretches.stretch
        and stretches.role = 'chunk'
        and state.kind = 'framer'
    {%- endif %}
),

framed as (
    select *
    from
        spark_cdc_gbase_records(
            {{ spec.table_id }},
            table(stretch_chunks)
            partition by struct(capture_id, stretch)
            order by struct(chunk_number, payload_hash)
        )
),

placed as (
    select
        capture_id,
        bucket,
        kind,
        chunk,
        chunk_offset,
        end_chunk,
        reason,
        detail,
        content,
        2 as part
    from framed
    {%- if spec.state %}
    union all
    -- a transaction goes to the shard of its next records, a schema to all shards
    select
        state.capture_id,
        bucket,
        state.kind,
        state.chunk,
        state.chunk_offset,
        state.end_chunk,
        state.reason,
        state.detail,
        state.content,
        case state.kind when 'known' then 0 else 1 end as part
    from {{ spec.state }} as state
    inner join stretches
        on state.capture_id = stretches.capture_id
        lateral view explode(
            case
                when state.transaction_id is null then sequence(0, stretches.buckets - 1)
                else array(pmod(state.transaction_id, stretches.buckets))
            end
        ) buckets as bucket
    where
        state.kind in ('known', 'open')
        and stretches.is_first
        and stretches.chunk_number = stretches.stretch
        and stretches.role = 'chunk'
    {%- endif %}
),

decoded as (
    select *
    from
        spark_cdc_gbase_changes(
            {{ spark_cdc._gbase_settings(spec) }},
            table(placed)
            partition by struct(capture_id, bucket)
            order by struct(part, chunk, chunk_offset)
        )
)
{%- endmacro -%}


{#- CTEs that end in `judged`: the decoded rows, with values of the declared types. If `spec.decoded` is given, it is a
    relation that already has the decoded rows. -#}
{%- macro _gbase_judged(spec) -%}
    {%- if spec.decoded -%}
with decoded as (
    select * from {{ spec.decoded }}
),
    {%- else -%}
{{ spark_cdc._gbase_decoded(spec) }},
    {%- endif %}

-- A generator, so that each value is cast once: Spark copies expressions of a select into everything above.
typed as (
    select
        decoded.*,
        images.*
    from decoded
        lateral view inline(array(named_struct(
            'cdc_row', {{ spark_cdc._gbase_row(spec, 'after') | indent(12) }},
            'cdc_before', if(
                before is null,
                null,
                {{ spark_cdc._gbase_row(spec, 'before') | indent(16) }}
            )
        ))) images as cdc_row, cdc_before
    where kind in ('event', 'refused', 'tail')
),

judged as (
    select
        *,
        {{ spark_cdc._gbase_has_bad_value(spec, 'after', 'cdc_row') | indent(8) }} as cdc_has_bad_value,
        {{ spark_cdc._gbase_has_bad_value(spec, 'before', 'cdc_before') | indent(8) }} as cdc_before_has_bad_value
    from typed
)
{%- endmacro -%}

{#- For each column of the table the SQL that reads its value: name -> {`text`: SQL, `number`: SQL or none, `family`}. -#}
{%- macro _gbase_places(spec, side) -%}
    {%- set places, counts = {}, {'texts': 0, 'others': 0, 'integers': 0, 'floats': 0} -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set family = spark_cdc._gbase_family(data_type) -%}
        {%- set group = 'texts' if family == 'text' else 'others' -%}
        {%- set place = {'group': group, 'index': counts[group], 'number': none, 'family': family} -%}
        {%- do counts.update({group: counts[group] + 1}) -%}
        {%- if family != 'text' -%}
            {%- set list = 'floats' if family == 'float' else 'integers' -%}
            {%- do place.update({'number': side ~ '.' ~ list ~ '[' ~ counts[list] ~ ']'}) -%}
            {%- do counts.update({list: counts[list] + 1}) -%}
        {%- endif -%}
        {%- do places.update({name: place}) -%}
    {%- endfor -%}
    {%- for place in places.values() -%}
        {#- after the end of the list there is no number -#}
        {%- set index = place.index + (counts.texts if place.group == 'others' else 0) -%}
        {%- do place.update({'text': 'get(' ~ side ~ '.texts, ' ~ index ~ ')'}) -%}
    {%- endfor -%}
    {{ return(places) }}
{%- endmacro -%}

{#- A row of decoded values as a struct of the declared types; a value that is not of its type is null there. -#}
{%- macro _gbase_row(spec, side) -%}
named_struct(
    {%- for name, place in spark_cdc._gbase_places(spec, side).items() %}
    {%- set data_type = spec.columns[name] %}
    {%- set value = spark_cdc._typed(place.text, 'string', data_type) %}
    {%- if place.number %}
    {%- set number = spark_cdc._gbase_native(place.number, place.family, data_type) %}
    {%- set value = 'coalesce(\n    ' ~ (number | indent(4)) ~ ',\n    ' ~ (value | indent(4)) ~ '\n)' %}
    {%- endif %}
    {{ spark_cdc._literal(name) }}, {{ value | indent(4) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro -%}

{#- Whether the row has a value that is not of its column's type. -#}
{%- macro _gbase_has_bad_value(spec, side, row) -%}
    {%- set conditions = [] -%}
    {%- for name, place in spark_cdc._gbase_places(spec, side).items()
        if spark_cdc._typed(place.text, 'string', spec.columns[name]) != place.text -%}
        {%- set there = place.text ~ ' is not null' -%}
        {%- if place.number -%}{%- set there = '(' ~ place.number ~ ' is not null or ' ~ there ~ ')' -%}{%- endif -%}
        {%- do conditions.append('(\n    ' ~ there ~ '\n    and ' ~ row ~ '.' ~ spark_cdc._quote(name) ~ ' is null\n)') -%}
    {%- endfor -%}
    {{ return(conditions | join('\nor ') or 'false') }}
{%- endmacro -%}


{#- The values of a row that are not of their column's type. -#}
{%- macro _gbase_bad_values(spec, side, row) -%}
    {%- set values = [] -%}
    {%- for name, place in spark_cdc._gbase_places(spec, side).items()
        if spark_cdc._typed(place.text, 'string', spec.columns[name]) != place.text -%}
        {%- set text = place.text -%}
        {%- if place.number -%}
            {%- set text = spark_cdc._call('coalesce', [text, spark_cdc._gbase_number_as_text(place.number, place.family)]) -%}
        {%- endif -%}
        {%- do values.append({
            'name': name, 'type': spec.columns[name], 'text': text, 'is_bad': row ~ '.' ~ spark_cdc._quote(name) ~ ' is null',
        }) -%}
    {%- endfor -%}
    {{ return(spark_cdc._bad_value_detail(values)) }}
{%- endmacro -%}

{#- A number of a family as the stream has it. -#}
{%- macro _gbase_number_as_text(number, family) -%}
    {%- if family.startswith('decimal:') -%}
        {%- set number = spark_cdc._gbase_scaled(number, family) -%}
    {%- elif family in ('date', 'timestamp') -%}
        {%- set number = spark_cdc._gbase_native(number, family, family) -%}
    {%- endif -%}
    {{ return('cast(\n    ' ~ number ~ ' as string\n)') }}
{%- endmacro -%}


{#- CTEs that end in `items`: every record or tail that is in an event or in quarantine; if in quarantine, with its
    reason. -#}
{%- macro _gbase_items(spec) -%}
    {%- set fields = ['chunk', 'chunk_offset', 'end_chunk', 'record_number', 'reason', 'detail'] -%}
{{ spark_cdc._gbase_judged(spec) }},

with_details as (
    select
        *,
        case
            when cdc_has_bad_value
                then {{ spark_cdc._gbase_bad_values(spec, 'after', 'cdc_row') | indent(16) }}
        end as cdc_bad_values,
        case
            when cdc_before_has_bad_value
                then {{ spark_cdc._gbase_bad_values(spec, 'before', 'cdc_before') | indent(16) }}
        end as cdc_before_bad_values
    from judged
),

items as (
    select
        judged.capture_id,
        item.*
    from with_details as judged
        lateral view inline(
            array(
                named_struct(
                    'chunk', judged.chunk,
                    'chunk_offset', judged.chunk_offset,
                    'end_chunk', judged.end_chunk,
                    'record_number', judged.record_number,
                    'reason', case when judged.cdc_has_bad_value then 'bad_value' else judged.reason end,
                    'detail', coalesce(judged.cdc_bad_values, judged.detail)
                ),
                named_struct(
                    'chunk', judged.before_chunk,
                    'chunk_offset', judged.before_offset,
                    'end_chunk', judged.before_end_chunk,
                    'record_number', 42,
                    'reason', case
                        when judged.cdc_before_has_bad_value then 'bad_value'
                        when judged.cdc_has_bad_value then 'orphan_before_image'
                    end,
                    'detail', judged.cdc_before_bad_values
                )
            )
        ) item as {{ fields | join(', ') }}
    where item.chunk is not null
)
{%- endmacro -%}

{#- Where a record or tail is, and what is wrong with it. -#}
{%- macro _gbase_detail() -%}
concat(
    'chunk ',
    items.chunk,
    ', offset ',
    items.chunk_offset,
    coalesce(concat(', record number ', items.record_number), ''),
    coalesce(concat(': ', nullif(items.detail, '')), '')
)
{%- endmacro -%}
