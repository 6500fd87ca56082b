{#- The parts of the decoder of Qlik change tables. Sources: Qlik Replicate Help, "Change Tables", "Using the Change Table
    model", "Header Columns"; Qlik Talend Data Integration Help, "Change tables"; one captured Oracle table. -#}

{#- The spec of one change table: a dict of what is known before any row is read. Wrong arguments stop here. The bit of a
    data column is its position in the change table, where the header columns before it count. -#}
{%- macro _spec_qlik_change_table(
    relation, key, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none,
    qlik_sparse_updates=none, null_keys=false
) -%}
    {%- set me = 'qlik_change_table' -%}
    {%- set example = "{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['order_id']) }}" -%}
    {%- set in_relation = spark_cdc.columns_of(relation) -%}
    {%- if header_prefix is not string -%}
        {{ spark_cdc._stop(me, 'header_prefix is ' ~ header_prefix, "a text, '' for no prefix", example) }}
    {%- endif -%}
    {%- if mask_byte_order not in (none, 'big', 'little') -%}
        {{ spark_cdc._stop(
            me, 'mask_byte_order is ' ~ mask_byte_order,
            "'big' (the last byte holds bits 0 to 7), 'little' (the first byte does), or none (text is big, binary is little)",
            "{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['order_id'], mask_byte_order='big') }}"
        ) }}
    {%- endif -%}
    {%- if header_columns is not none and (header_columns is not integer or header_columns is boolean or header_columns < 1) -%}
        {{ spark_cdc._stop(
            me, 'header_columns is ' ~ header_columns, 'the number of header columns that the mask counts, at least 1',
            "{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['order_id'], header_columns=7) }}"
        ) }}
    {%- endif -%}
    {%- if header_prefix == '' and header_columns is none -%}
        {{ spark_cdc._stop(
            me, "header_prefix is '' and header_columns is none",
            'header_columns with the number of header columns, if they have no prefix',
            "{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['order_id'], header_prefix='', header_columns=7) }}"
        ) }}
    {%- endif -%}

    {%- set sparse = var('spark_cdc_qlik_sparse_updates', false) if qlik_sparse_updates is none else qlik_sparse_updates -%}
    {%- if sparse is not boolean and (sparse is string or sparse is mapping or sparse is not iterable) -%}
        {{ spark_cdc._stop(
            me, 'qlik_sparse_updates is ' ~ sparse,
            'true, false, or a list of the columns whose NULL without a bit is unknown, such as large objects',
            "qlik_sparse_updates=['body']"
        ) }}
    {%- endif -%}

    {%- do spark_cdc._check_null_keys(me, null_keys) -%}

    {#- Header columns by their name without the prefix, and data columns in table order. The mask counts the header columns
        before the first data column. A header column after it, such as the column of a partition's folder, was added when
        the rows landed. -#}
    {%- set headers, data_columns, counted = {}, [], [] -%}
    {%- for name in in_relation -%}
        {%- set is_header = (name | lower).startswith(header_prefix | lower) if header_prefix else loop.index <= header_columns -%}
        {%- if is_header -%}
            {%- do headers.update({name[header_prefix | length:] | lower: name}) -%}
            {%- if not data_columns -%}{%- do counted.append(name) -%}{%- endif -%}
        {%- else -%}
            {%- do data_columns.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if 'change_seq' not in headers or ('change_oper' not in headers and 'operation' not in headers) -%}
        {{ spark_cdc._stop(
            me,
            relation ~ ' has no column ' ~ header_prefix ~ 'change_seq, or neither '
            ~ header_prefix ~ 'change_oper nor ' ~ header_prefix ~ 'operation; it has ' ~ in_relation | join(', '),
            'a change table with these header columns, and the header_prefix of its task',
            "{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['order_id'], header_prefix='hdr_') }}"
        ) }}
    {%- endif -%}

    {#- the columns of the table, and the SQL that reads each from the raw row -#}
    {%- set table_columns = {} -%}
    {%- if columns is none -%}
        {%- for name in data_columns -%}
            {%- do table_columns.update({name: in_relation[name]}) -%}
        {%- endfor -%}
    {%- else -%}
        {%- if columns is not mapping -%}
            {{ spark_cdc._stop(
                me, 'columns is ' ~ columns, 'a dict of name -> Spark SQL type, or none to read them from the relation',
                "columns={'order_id': 'bigint', 'amount': 'decimal(12,2)'}"
            ) }}
        {%- endif -%}
        {%- if not columns -%}
            {{ spark_cdc._stop(
                me, 'columns is empty', 'a dict of name -> Spark SQL type, or none to read them from the relation',
                "columns={'order_id': 'bigint', 'amount': 'decimal(12,2)'}"
            ) }}
        {%- endif -%}
        {%- set spelled = spark_cdc._resolve_names(me, 'columns', columns | list, data_columns, example) -%}
        {%- for name, there in zip(columns, spelled) -%}
            {%- do table_columns.update({name: columns[name]}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do spark_cdc._check_table_columns(me, table_columns, in_relation, example) -%}
    {%- if not table_columns -%}
        {{ spark_cdc._stop(me, relation ~ ' has header columns only', 'a change table with data columns', example) }}
    {%- endif -%}

    {%- set first_bit = header_columns if header_columns is not none else counted | length -%}
    {%- set bits, sources = {}, {} -%}
    {%- for name in table_columns -%}
        {%- for there in data_columns if there | lower == name | lower -%}
            {%- do spark_cdc._check_cast(me, name, in_relation[there], table_columns[name]) -%}
            {%- do bits.update({name: first_bit + data_columns.index(there)}) -%}
            {%- do sources.update({name: there}) -%}
        {%- endfor -%}
    {%- endfor -%}

    {%- set metadata = [] -%}
    {%- for header in ('stream_position', 'timestamp', 'partition_name') if header in headers -%}
        {%- do metadata.append("'" ~ header ~ "', cdc_" ~ header) -%}
    {%- endfor -%}

    {%- if sparse is not boolean -%}
        {%- set sparse = spark_cdc._resolve_names(
            me, 'qlik_sparse_updates', sparse, table_columns | list, "qlik_sparse_updates=['body']"
        ) -%}
    {%- endif -%}
    {%- set mask_is_binary = 'change_mask' in headers and in_relation[headers['change_mask']] | lower == 'binary' -%}
    {{ return({
        'relation': relation,
        'key': spark_cdc._resolve_key(me, key, table_columns | list, example),
        'null_keys': null_keys,
        'columns': table_columns,
        'raw_columns': in_relation,
        'sources': sources,
        'headers': headers,
        'bits': bits,
        'first_bit': first_bit,
        'end_bit': first_bit + data_columns | length,
        'mask_is_binary': mask_is_binary,
        'byte_order': mask_byte_order or ('little' if mask_is_binary else 'big'),
        'sparse': (table_columns | list if sparse else []) if sparse is boolean else sparse,
        'metadata': 'named_struct(\n    ' ~ metadata | join(',\n    ') ~ '\n)' if metadata
            else 'cast(null as struct<stream_position: string>)',
    }) }}
{%- endmacro -%}


{#- CTEs that begin with the raw rows. They end in `distinct_rows`, with each change sequence at most once as event and once
    as before image. With `as_delivered` they end in `judged`: every raw row, and the reason why it is in quarantine. -#}
{%- macro _qlik_change_table_rows(spec, as_delivered=false) -%}
    {%- set headers = spec.headers -%}
    {%- set names = spec.columns | list -%}
    {%- set casts, bad_values, null_keys, collated = [], [], [], [] -%}
with raw as (
    select
        cast({{ spark_cdc._quote(headers['change_seq']) }} as string) as cdc_change_seq,
        {{ spark_cdc._qlik_header(spec, 'change_oper') }} as cdc_change_oper,
        {{ spark_cdc._qlik_header(spec, 'operation') }} as cdc_operation_name,
        {{ spark_cdc._qlik_mask(spec) | indent(8) }} as cdc_mask,
        coalesce(
            {{ spark_cdc._qlik_operation(
                spark_cdc._qlik_header(spec, 'change_oper'), spark_cdc._qlik_header(spec, 'operation')
            ) | indent(12) }} = 'before image',
            false
        ) as cdc_is_before,
        case
            when rtrim({{ spark_cdc._qlik_header(spec, 'transaction_id', trimmed=false) }}) <> ''
                then {{ spark_cdc._qlik_header(spec, 'transaction_id', trimmed=false) }}
        end as cdc_transaction_id,
        {%- for header in ('stream_position', 'timestamp', 'partition_name') if header in headers %}
        {{ spark_cdc._bytewise(spark_cdc._quote(headers[header]), spec.raw_columns[headers[header]]) }} as cdc_{{ header }},
        {%- endfor %}
        named_struct(
            {%- for name in names %}
            {%- set there = spark_cdc._quote(spec.sources[name]) %}
            {%- set type_there = spec.raw_columns[spec.sources[name]] %}
            {%- set value = spark_cdc._typed(there, type_there, spec.columns[name]) %}
            {%- if value != there %}
                {%- do casts.append(there ~ ' is not null and ' ~ value ~ ' is null') %}
                {%- do bad_values.append({
                    'name': name, 'type': spec.columns[name],
                    'is_bad': there ~ ' is not null and cdc_row.' ~ spark_cdc._quote(name) ~ ' is null',
                    'text': spark_cdc._as_text(there, type_there),
                }) %}
            {%- endif %}
            {%- if ' collate ' in spec.columns[name] | lower %}
                {%- do collated.append(spark_cdc._bytewise(value, spec.columns[name])) %}
            {%- endif %}
            {%- if name in spec.key and not spec.null_keys %}{% do null_keys.append(value ~ ' is null') %}{% endif %}
            {{ spark_cdc._literal(name) }}, {{ value | indent(12) }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as cdc_row,
        {{ casts | join('\nor ') | indent(8) or 'false' }} as cdc_has_bad_value,
        -- here: if this is a view, Spark 4.1 finds no fields of cdc_row in the conditions of a generator
        {{ null_keys | join('\nor ') | indent(8) or 'false' }} as cdc_has_null_key,
        {%- if as_delivered %}
        {{ spark_cdc.raw_json(spec.raw_columns) | indent(8) }} as cdc_raw,
        case
            when cdc_has_bad_value
                then {{ spark_cdc._bad_value_detail(bad_values) | indent(16) }}
        end as cdc_bad_values,
        {%- endif %}
        {%- if collated %}
        -- texts that are equal in their collation make different rows
        array(
            {{ collated | join(',\n') | indent(12) }}
        ) as cdc_bytes,
        {%- endif %}
        -- together with the columns above, this identifies a repeated delivery
        {{ spark_cdc._qlik_header(spec, 'change_mask', trimmed=false) }} as cdc_mask_as_written
    from {{ spec.relation }}
),

-- The content of a row, or the reason why it is in quarantine. These are generators, so that Spark reads each
-- header once a row: it copies expressions of a select into everything above.
judged_alone as (
    select
        raw.*,
        header.*,
        verdict.cdc_reason
    from raw
        lateral view inline(array(named_struct(
            'cdc_operation', {{ spark_cdc._qlik_operation('cdc_change_oper', 'cdc_operation_name') | indent(12) }},
            'cdc_other_operation', {{ spark_cdc._qlik_operation_in('cdc_operation_name', 'name') | indent(12) }},
            {{ spark_cdc._qlik_mask_words(spec, named=true) | indent(12) }},
            'cdc_mask_rest', {{ spark_cdc._qlik_mask_rest(spec) }}
        ))) header as
        cdc_operation,
        cdc_other_operation,
        {%- for word in range(spark_cdc._qlik_word_count(spec)) %}
        cdc_mask_{{ word }},
        {%- endfor %}
        cdc_mask_rest
        lateral view explode(array(
            case
                when not coalesce(
                    {{ spark_cdc._qlik_change_seq_is_good('cdc_change_seq') | indent(20) }},
                    false
                ) then 'bad_change_seq'
                when cdc_operation is null then 'unknown_operation'
                when cdc_operation <> 'truncate' and cdc_operation <> cdc_other_operation then 'operation_mismatch'
                when cdc_operation <> 'truncate' and cdc_has_bad_value then 'bad_value'
                when
                    cdc_operation in ('insert', 'update')
                    and cdc_mask_as_written is not null
                    and not (
                        {{ spark_cdc._qlik_mask_is_good(spec) | indent(24) }}
                    )
                    then 'bad_mask'
                when cdc_operation in ('insert', 'update', 'delete') and cdc_has_null_key then 'null_key'
            end
        )) verdict as cdc_reason
),

well_formed as (
    select * from judged_alone
    where cdc_reason is null
),
{%- if as_delivered %}

deliveries as (
    select
        *,
        struct(* except(cdc_raw, cdc_bad_values)) as cdc_delivery
    from well_formed
),

-- the number of different rows with the same change sequence
sequences as (
    select
        cdc_change_seq,
        count(distinct case when not cdc_is_before then cdc_delivery end) as cdc_event_rows,
        count(distinct case when cdc_is_before then cdc_delivery end) as cdc_before_rows,
        bool_or(cdc_operation = 'update') as cdc_has_update
    from deliveries
    group by cdc_change_seq
),

judged as (
    select
        judged_alone.* except (cdc_reason),
        case
            when judged_alone.cdc_reason is not null then judged_alone.cdc_reason
            when not judged_alone.cdc_is_before and sequences.cdc_event_rows > 1 then 'sequence_conflict'
            when judged_alone.cdc_is_before and sequences.cdc_before_rows > 1 then 'sequence_conflict'
            when
                judged_alone.cdc_is_before and not (sequences.cdc_event_rows = 1 and sequences.cdc_has_update)
                then 'orphan_before_image'
        end as cdc_reason
    from judged_alone
    left join sequences
        on judged_alone.cdc_change_seq = sequences.cdc_change_seq
)
{%- else %}

-- Change sequences that may be on more than one row of the same kind, or on rows of two transactions. They are
-- kept as hash buckets. A bucket has whole sequences, and all buckets always fit in memory. Rows in other buckets
-- need no further check.
claims as (
    select
        xxhash64(cdc_change_seq) as cdc_hash,
        count_if(cdc_is_before) as cdc_before_images,
        count_if(not cdc_is_before) as cdc_event_rows,
        min(xxhash64(cdc_transaction_id)) as cdc_least_transaction,
        max(xxhash64(cdc_transaction_id)) as cdc_greatest_transaction
    from raw
    group by xxhash64(cdc_change_seq)
),

repeated as (
    select distinct pmod(cdc_hash, 1048576) as cdc_bucket
    from claims
    where
        cdc_before_images > 1
        or cdc_event_rows > 1
        or cdc_least_transaction <> cdc_greatest_transaction
),

-- rows that are equal in every column are one row; rows that still differ are in conflict
different as (
    select /*+ broadcast(repeated) */ distinct well_formed.*
    from well_formed
    left semi join repeated
        on pmod(xxhash64(well_formed.cdc_change_seq), 1048576) = repeated.cdc_bucket
),

compared as (
    select
        * except (cdc_transaction_id),
        count(*) over (partition by cdc_change_seq, cdc_is_before) as cdc_claims,
        -- a before image belongs to the transaction of its update
        max(case when not cdc_is_before then cdc_transaction_id end)
            over (partition by cdc_change_seq) as cdc_transaction_id
    from different
),

distinct_rows as (
    select /*+ broadcast(repeated) */
        well_formed.* except (cdc_transaction_id),
        well_formed.cdc_transaction_id
    from well_formed
    left anti join repeated
        on pmod(xxhash64(well_formed.cdc_change_seq), 1048576) = repeated.cdc_bucket
    union all
    select * except (cdc_claims)
    from compared
    where cdc_claims = 1
)
{%- endif %}
{%- endmacro -%}


{#- A header column as text; NULL if the task did not write it. -#}
{%- macro _qlik_header(spec, header, trimmed=true) -%}
    {%- if header not in spec.headers -%}
        cast(null as string)
    {%- elif trimmed -%}
        rtrim(cast({{ spark_cdc._quote(spec.headers[header]) }} as string))
    {%- elif spec.raw_columns[spec.headers[header]] | lower == 'binary' -%}
        hex({{ spark_cdc._quote(spec.headers[header]) }})
    {%- else -%}
        cast({{ spark_cdc._quote(spec.headers[header]) }} as string)
    {%- endif -%}
{%- endmacro -%}


{#- The operation of a row, from two headers given as SQL. The letter has precedence over the word, except for a
    truncate. -#}
{%- macro _qlik_operation(letter, word) -%}
case
    when {{ word }} = 'TRUNCATE' then 'truncate'
    when coalesce({{ letter }}, '') <> ''
        then {{ spark_cdc._qlik_operation_in(letter, 'letter') | indent(8) }}
    else {{ spark_cdc._qlik_operation_in(word, 'name') | indent(4) }}
end
{%- endmacro -%}

{#- The operation for each letter of change_oper and each word of operation. -#}
{%- macro _qlik_operation_in(expression, form) -%}
    {%- set operations = [
        {'letter': 'I', 'name': 'INSERT', 'operation': 'insert'},
        {'letter': 'U', 'name': 'UPDATE', 'operation': 'update'},
        {'letter': 'D', 'name': 'DELETE', 'operation': 'delete'},
        {'letter': 'B', 'name': 'BEFOREIMAGE', 'operation': 'before image'},
    ] -%}
case {{ expression }}
    {%- for row in operations %}
    when '{{ row[form] }}' then '{{ row.operation }}'
    {%- endfor %}
end
{%- endmacro -%}


{#- 35 digits; the first 16 are a time. Only days 29 to 31 need a look at the calendar. -#}
{%- macro _qlik_change_seq_is_good(change_seq) -%}
octet_length({{ change_seq }}) = 35
and (
    {{ change_seq }} rlike
    '^[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|1[0-9]|2[0-8])([01][0-9]|2[0-3])([0-5][0-9]){2}[0-9]{21}$'
    or (
        {{ change_seq }} rlike
        '^[0-9]{4}(0[1-9]|1[0-2])(29|3[01])([01][0-9]|2[0-3])([0-5][0-9]){2}[0-9]{21}$'
        and try_cast(
            concat_ws(
                '-',
                left({{ change_seq }}, 4),
                substr({{ change_seq }}, 5, 2),
                substr({{ change_seq }}, 7, 2)
            ) as date
        ) is not null
    )
)
{%- endmacro -%}

{#- The first 16 digits of a good change sequence, YYYYMMDDHHmmSS and hundredths, as a UTC timestamp in every session. It
    uses arithmetic: formatting them as text for a cast takes four times as long. -#}
{%- macro _qlik_time_part(change_seq) -%}
    {%- set digits = 'cast(left(' ~ change_seq ~ ', 16) as bigint)' -%}
    {%- set part = {} -%}
    {%- for name, power, modulus in [
        ('year', 12, 10000), ('month', 10, 100), ('day', 8, 100), ('hour', 6, 100), ('minute', 4, 100), ('second', 2, 100),
        ('hundredth', 0, 100)
    ] -%}
        {%- do part.update({name: digits ~ ' div ' ~ 10 ** power ~ ' % ' ~ modulus}) -%}
    {%- endfor -%}
timestamp_micros(
    cast(
        unix_date(
            make_date(
                cast({{ part.year }} as int),
                cast({{ part.month }} as int),
                cast({{ part.day }} as int)
            )
        ) as bigint
    ) * 86400000000
    + {{ part.hour }} * 3600000000
    + {{ part.minute }} * 60000000
    + {{ part.second }} * 1000000
    + {{ part.hundredth }} * 10000
)
{%- endmacro -%}


{#- The mask as hexadecimal digits; null if it is NULL or not hexadecimal. -#}
{%- macro _qlik_mask(spec) -%}
    {%- if 'change_mask' not in spec.headers -%}
        cast(null as string)
    {%- elif spec.mask_is_binary -%}
        hex({{ spark_cdc._quote(spec.headers['change_mask']) }})
    {%- else -%}
        {%- set text = 'trim(' ~ spark_cdc._quote(spec.headers['change_mask']) ~ ')' -%}
        {%- set digits = spark_cdc._qlik_mask_digits(text) -%}
        {%- if spec.byte_order == 'little' -%}
            {%- set digits = "concat(\n    repeat(\n        '0',\n        length(\n            " ~ digits | indent(12)
                ~ "\n        ) % 2\n    ),\n    " ~ digits | indent(4) ~ "\n)" -%}
        {%- endif -%}
case
    when
        unhex(
            {{ digits | indent(12) }}
        ) is not null
        then {{ digits | indent(8) }}
end
    {%- endif -%}
{%- endmacro -%}

{#- The digits of a mask in text form, without the characters that may be around them: 0x…, x'…'. -#}
{%- macro _qlik_mask_digits(text) -%}
case
    when lower(left({{ text }}, 2)) = '0x'
        then substr({{ text }}, 3)
    when
        lower(left({{ text }}, 2)) = 'x\''
        and right({{ text }}, 1) = '\''
        and length({{ text }}) > 2
        then substr({{ text }}, 3, length({{ text }}) - 3)
    else {{ text }}
end
{%- endmacro -%}


{#- The mask in words of 56 bits, which fit in a bigint: 14 digits, where missing digits are zero. In a big-endian mask words
    are counted from its end, so bit k is bit k mod 56 of word k div 56. In a little-endian mask words are counted from its
    start, with their bytes in reverse order: see _qlik_bit. -#}
{%- macro _qlik_word_count(spec) -%}
    {{ return((spec.end_bit + 55) // 56) }}
{%- endmacro -%}

{%- macro _qlik_mask_words(spec, named=false) -%}
    {%- for word in range(spark_cdc._qlik_word_count(spec)) -%}
        {%- if spec.byte_order == 'big' -%}
            {%- set digits = "concat('0', substr(cdc_mask, -" ~ 14 * (word + 1) ~ ", 14))" -%}
        {%- else -%}
            {%- set digits = "rpad(substr(cdc_mask, " ~ (14 * word + 1) ~ ", 14), 14, '0')" -%}
        {%- endif -%}
        {%- set value = 'cast(conv(' ~ digits ~ ', 16, 10) as bigint)' -%}
        {{ ',\n' if not loop.first }}
        {%- if named %}'cdc_mask_{{ word }}', {{ value }}{% else %}{{ value }} as cdc_mask_{{ word }}{% endif %}
    {%- endfor -%}
{%- endmacro -%}

{#- The digits of the bits after the last word. -#}
{%- macro _qlik_mask_rest(spec) -%}
    {%- set digits = 14 * spark_cdc._qlik_word_count(spec) -%}
    {%- if spec.byte_order == 'big' -%}
        left(cdc_mask, greatest(length(cdc_mask) - {{ digits }}, 0))
    {%- else -%}
        substr(cdc_mask, {{ digits + 1 }})
    {%- endif -%}
{%- endmacro -%}

{#- The value of bit `bit` within its word. -#}
{%- macro _qlik_bit(spec, bit) -%}
    {%- set in_word = bit % 56 -%}
    {%- if spec.byte_order == 'big' -%}
        {{ return(2 ** in_word) }}
    {%- endif -%}
    {{ return(2 ** (8 * (6 - in_word // 8) + in_word % 8)) }}
{%- endmacro -%}

{#- No bit is set before the first data column or after the last. -#}
{%- macro _qlik_mask_is_good(spec) -%}
cdc_mask is not null
and replace(cdc_mask_rest, '0', '') = ''
    {%- for word in range(spark_cdc._qlik_word_count(spec)) -%}
        {%- set forbidden = namespace(bits=0) -%}
        {%- for bit in range(56 * word, 56 * (word + 1)) if bit < spec.first_bit or bit >= spec.end_bit -%}
            {%- set forbidden.bits = forbidden.bits + spark_cdc._qlik_bit(spec, bit) -%}
        {%- endfor -%}
        {{ '\n' }}and (cdc_mask_{{ word }} & {{ forbidden.bits }}) = 0
    {%- endfor -%}
{%- endmacro -%}

{#- Whether the mask has the bit of a column; null if there is no readable mask. -#}
{%- macro _qlik_has_bit(spec, name) -%}
    (cdc_mask_{{ spec.bits[name] // 56 }} & {{ spark_cdc._qlik_bit(spec, spec.bits[name]) }}) <> 0
{%- endmacro -%}


{#- For an update: the names of the columns whose bit is set. -#}
{%- macro _qlik_changed_columns(spec) -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- do conditions.update({name: spark_cdc._qlik_has_bit(spec, name)}) -%}
    {%- endfor -%}
case
    when cdc_mask_0 is not null
        then {{ spark_cdc._qlik_names_where(conditions) | indent(8) }}
end
{%- endmacro -%}

{#- The columns that an event carries; null if all. A delete carries the columns that are not NULL or whose bit is set. An
    update carries the same of its sparse columns, the sparse columns of its before image, and all other columns. -#}
{%- macro _qlik_present_columns(spec) -%}
    {%- set operations = ['delete', 'update'] if spec.sparse else ['delete'] -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- do conditions.update({name: spark_cdc._qlik_is_present(spec, name)}) -%}
    {%- endfor -%}
case
    when
        cdc_operation in ('{{ operations | join("', '") }}')
        and not (
            {{ conditions.values() | join('\nand ') | indent(12) }}
        )
        then {{ spark_cdc._qlik_names_where(conditions) | indent(8) }}
end
{%- endmacro -%}

{#- The names whose condition holds, in order. It uses `filter`, which Spark evaluates outside the code that it generates for
    the whole stage. With so many conditions the JVM could not compile that code. -#}
{%- macro _qlik_names_where(conditions) -%}
filter(
    array(
        {%- for name, condition in conditions.items() %}
        if(
            {{ condition | indent(12) }},
            {{ spark_cdc._literal(name) }},
            null
        ){{ ',' if not loop.last }}
        {%- endfor %}
    ),
    name -> name is not null
)
{%- endmacro -%}

{%- macro _qlik_is_present(spec, name) -%}
(
    cdc_row.{{ spark_cdc._quote(name) }} is not null
    or coalesce({{ spark_cdc._qlik_has_bit(spec, name) }}, false)
    {%- if name in spec.sparse %}
    or cdc_before.{{ spark_cdc._quote(name) }} is not null
    {%- elif spec.sparse %}
    or cdc_operation = 'update'
    {%- endif %}
    {%- if name in spec.key and spec.null_keys %}
    or cdc_operation = 'delete'
    {%- endif %}
)
{%- endmacro -%}


{#- A column of the event. A sparse column comes from the before image if the update does not carry it and its bit is not
    set. -#}
{%- macro _qlik_after_image(spec, name) -%}
    {%- set column = spark_cdc._quote(name) -%}
    {%- if name in spec.sparse -%}
case
    when
        cdc_operation = 'update'
        and cdc_row.{{ column }} is null
        and not coalesce({{ spark_cdc._qlik_has_bit(spec, name) }}, false)
        then cdc_before.{{ column }}
    else cdc_row.{{ column }}
end
    {%- else -%}
    cdc_row.{{ column }}
    {%- endif -%}
{%- endmacro -%}


{#- The text that explains the reason to a person. -#}
{%- macro _qlik_detail(spec) -%}
    {%- set nulls = [] -%}
    {%- for name in spec.key -%}
        {%- do nulls.append('if(cdc_row.' ~ spark_cdc._quote(name) ~ ' is null, ' ~ spark_cdc._literal(name) ~ ', null)') -%}
    {%- endfor -%}
case cdc_reason
    when 'bad_change_seq' then concat('change_seq is ', coalesce(cdc_change_seq, 'NULL'))
    when 'unknown_operation'
        then concat(
            'change_oper is ',
            coalesce(cdc_change_oper, 'NULL'),
            ', operation is ',
            coalesce(cdc_operation_name, 'NULL')
        )
    when 'operation_mismatch'
        then concat('change_oper is ', cdc_change_oper, ', operation is ', cdc_operation_name)
    when 'bad_mask'
        then concat(
            'change_mask is ',
            cdc_mask_as_written,
            '; bits {{ spec.first_bit }} to {{ spec.end_bit - 1 }} are data columns, read {{ spec.byte_order }}-endian'
        )
    when 'sequence_conflict' then concat('another row has change_seq ', cdc_change_seq)
    when 'orphan_before_image' then concat('no update has change_seq ', cdc_change_seq)
    when 'null_key'
        then concat(
            array_join(
                filter(
                    array(
                        {{ nulls | join(',\n') | indent(24) }}
                    ),
                    name -> name is not null
                ),
                ', '
            ),
            ' of the key is NULL'
        )
    when 'bad_value' then cdc_bad_values
end
{%- endmacro -%}
