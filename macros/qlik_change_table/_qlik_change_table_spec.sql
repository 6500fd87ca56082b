{#- The arguments of `qlik_change_table`, checked. -#}

{#- The spec of one change table: a dict of what is known before any row is read. Wrong arguments stop here. The bit of a
    data column is its position in the source table, after the header columns that count. -#}
{%- macro _spec_qlik_change_table(
    relation, key, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none,
    full_load=none, full_load_at=none, qlik_sparse_updates=none, null_keys=false, before_image='row', mask_columns=none,
    full_load_readable=none
) -%}
    {%- set me = 'qlik_change_table' -%}
    {%- set example = "{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['order_id']) }}" -%}
    {%- set in_relation = spark_cdc._raw_columns_in(relation) -%}
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
    {%- set headers, data_columns, counted_headers = {}, [], [] -%}
    {%- for name in in_relation -%}
        {%- set is_header = (name | lower).startswith(header_prefix | lower) if header_prefix else loop.index <= header_columns -%}
        {%- if is_header -%}
            {%- do headers.update({name[header_prefix | length:] | lower: name}) -%}
            {%- if not data_columns -%}{%- do counted_headers.append(name) -%}{%- endif -%}
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
    {%- set counted_columns = data_columns if mask_columns is none else spark_cdc._qlik_mask_columns(me, mask_columns) -%}
    {%- if columns is none -%}
        {%- for name in data_columns if name | lower in counted_columns | map('lower') -%}
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

    {%- set first_bit = header_columns if header_columns is not none else counted_headers | length -%}
    {%- set bits, sources = {}, {} -%}
    {%- for name in table_columns -%}
        {%- for there in data_columns if there | lower == name | lower -%}
            {%- do spark_cdc._check_cast(me, name, in_relation[there], table_columns[name]) -%}
            {%- do sources.update({name: there}) -%}
        {%- endfor -%}
        {%- for counted_name in counted_columns if counted_name | lower == name | lower -%}
            {%- do bits.update({name: first_bit + counted_columns.index(counted_name)}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if 'change_mask' in headers -%}
        {%- do spark_cdc._check_qlik_places(me, relation, mask_columns, counted_columns, bits, table_columns) -%}
    {%- endif -%}

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
    {%- set key = spark_cdc._resolve_key(me, key, table_columns | list, example) -%}
    {{ return(dict(spark_cdc._qlik_spec_of_loads(
        me, full_load, full_load_at, full_load_readable, key, table_columns, headers['change_seq']
    ), **dict({
        'relation': relation,
        'key': key,
        'null_keys': null_keys,
        'columns': table_columns,
        'raw_columns': in_relation,
        'sources': sources,
        'headers': headers,
        'bits': bits,
        'first_bit': first_bit,
        'end_bit': first_bit + counted_columns | length,
        'counted_columns': counted_columns,
        'mask_is_binary': mask_is_binary,
        'byte_order': mask_byte_order or ('little' if mask_is_binary else 'big'),
        'sparse': (table_columns | list if sparse else []) if sparse is boolean else sparse,
        'metadata': 'named_struct(\n    ' ~ metadata | join(',\n    ') ~ '\n)' if metadata
            else 'cast(null as struct<stream_position: string>)',
    }, **spark_cdc._before_image(me, before_image)))) }}
{%- endmacro -%}

{#- The columns that the mask counts, as the call gives them. -#}
{%- macro _qlik_mask_columns(me, mask_columns) -%}
    {%- set example = "mask_columns=['order_id', 'status', 'amount']" -%}
    {%- set is_list = mask_columns is iterable and mask_columns is not string and mask_columns is not mapping -%}
    {%- if not is_list or not mask_columns or mask_columns | reject('string') | list -%}
        {{ spark_cdc._stop(
            me, 'mask_columns is ' ~ mask_columns,
            'a list of all columns of the source table in its order, or none if the relation has them in this order', example
        ) }}
    {%- endif -%}
    {%- set lower = mask_columns | map('lower') | list -%}
    {%- for name in lower -%}
        {%- if name in lower[:loop.index0] -%}
            {{ spark_cdc._stop(me, 'mask_columns has ' ~ name ~ ' twice', 'each column of the source table once, in its order', example) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(mask_columns | list) }}
{%- endmacro -%}

{#- Stops if the place of a column in the mask is not known. A column that `columns` leaves out has a bit if it is one of the
    source table, and none if it was added when the rows landed. -#}
{%- macro _check_qlik_places(me, relation, mask_columns, counted_columns, bits, table_columns) -%}
    {%- for name in table_columns if name not in bits -%}
        {{ spark_cdc._stop(
            me, 'mask_columns has no ' ~ name ~ ', which is in columns', 'all columns of the source table in its order',
            "mask_columns=['" ~ table_columns | join("', '") ~ "']"
        ) }}
    {%- endfor -%}
    {%- set wanted, left_out = table_columns | map('lower') | list, [] -%}
    {%- for name in counted_columns if mask_columns is none -%}
        {%- if name | lower not in wanted -%}
            {%- do left_out.append(name) -%}
        {%- elif left_out -%}
            {{ spark_cdc._stop(
                me,
                relation ~ ' has ' ~ left_out[0] ~ ' before ' ~ name ~ ', and columns leaves it out: does the change mask count it?',
                'mask_columns with all columns of the source table in its order: with ' ~ left_out[0] ~ ' if it is one of them, without it'
                ~ ' if it was added when the rows landed',
                "mask_columns=['" ~ counted_columns | reject('in', left_out) | join("', '") ~ "']"
            ) }}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}
