{#- The arguments of change_feed, checked. -#}

{#- What a feed is made of. `columns` and `key` are names as the relation spells them, and `types` has the types of the columns.
    `form` is `structs`, `schema` or `payload`. `source` has the fields of the block, each with `sql` and `type`. `names` is what
    the names of the schemas begin with. `key_table` is what `_effects` needs to know of the key. -#}
{%- macro _feed_spec(changes, key, source, schema, keyed, null_keys) -%}
    {%- set me = 'change_feed' -%}
    {%- set table = spark_cdc._changed_table(me, changes, key, none, null_keys) -%}
    {%- set there, types = spark_cdc.columns_of(changes), {} -%}
    {%- set problems = spark_cdc._event_column_problems(there, ['cdc_source', 'cdc_transaction_id', 'cdc_batch']) -%}
    {%- if problems -%}
        {{ spark_cdc._stop(
            me, changes ~ ' does not have change events: ' ~ problems | join('; '), 'the model of a decoder, or a view over one',
            "{{ spark_cdc.change_feed(ref('orders__changes'), key=['order_id']) }}"
        ) }}
    {%- endif -%}
    {%- if schema is not boolean and schema != 'payload' -%}
        {{ spark_cdc._stop(
            me, 'schema is ' ~ schema, "false (structs), true (JSON with its schema) or 'payload' (JSON without a schema)",
            "{{ spark_cdc.change_feed(ref('orders__changes'), key=['order_id'], schema=true) }}"
        ) }}
    {%- endif -%}
    {%- if keyed is not boolean -%}
        {{ spark_cdc._stop(
            me, 'keyed is ' ~ keyed, 'true, with tombstones and moved keys in parts, or false, one row for each change event',
            "{{ spark_cdc.change_feed(ref('orders__changes'), key=['order_id'], schema=true, keyed=true) }}"
        ) }}
    {%- endif -%}
    {%- set form = 'payload' if schema == 'payload' else 'schema' if schema else 'structs' -%}
    {%- set fields = spark_cdc._feed_source_fields(me, source) -%}
    {%- for name in table.columns -%}
        {%- do types.update({name: there[name]}) -%}
        {%- if form != 'structs' -%}{%- do spark_cdc._check_connect_type(me, 'the column ' ~ name, there[name]) -%}{%- endif -%}
    {%- endfor -%}
    {%- set names, for_sql_values = [], [] -%}
    {%- for part in ('name', 'db', 'schema', 'table') if source.get(part) is string -%}
        {%- do names.append(source[part]) -%}
    {%- endfor -%}
    {%- if source.values() | select('mapping') | list -%}
        {%- for name in ('cdc_changed_columns', 'cdc_present_columns', 'cdc_metadata') if name in there | map('lower') -%}
            {%- do for_sql_values.append(name) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return({
        'relation': changes, 'columns': table.columns, 'key': table.key, 'null_keys': null_keys, 'types': types, 'form': form,
        'keyed': keyed, 'source': fields, 'for_sql_values': for_sql_values,
        'names_before': spark_cdc._names_before(there, table.columns | list),
        'key_table': spark_cdc._changed_table(me, changes, key, key, null_keys) if keyed else none,
        'names': names | join('.') if names else changes.identifier | string,
    }) }}
{%- endmacro -%}

{#- The fields of `source` that the event does not give: a dict of field -> {`sql`, `type`}. Those that every connector of
    Debezium has come first, and are NULL unless they are given. -#}
{%- macro _feed_source_fields(me, source) -%}
    {%- set example = "source={'name': 'erp', 'db': 'sales', 'table': 'orders', 'position': {'sql': 'cdc_metadata.stream_position', 'type': 'string'}}" -%}
    {%- if source is not mapping -%}
        {{ spark_cdc._stop(me, 'source is ' ~ source, 'a dict of the fields of the source block', example) }}
    {%- endif -%}
    {%- set fields = {
        'version': {'sql': 'cast(null as string)', 'type': 'string'},
        'connector': {'sql': 'cdc_source', 'type': 'string'},
        'name': {'sql': 'cast(null as string)', 'type': 'string'},
        'db': {'sql': 'cast(null as string)', 'type': 'string'},
        'schema': {'sql': 'cast(null as string)', 'type': 'string'},
        'table': {'sql': 'cast(null as string)', 'type': 'string'},
    } -%}
    {%- set own = ['ts_ms', 'ts_us', 'ts_ns', 'snapshot', 'sequence', 'unavailable_columns'] -%}
    {%- for field, value in source.items() -%}
        {%- if field is not string or not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', field) -%}
            {{ spark_cdc._stop(me, 'source has the field ' ~ field, 'names of letters, digits and _', example) }}
        {%- elif field | lower in own -%}
            {{ spark_cdc._stop(
                me, 'source has the field ' ~ field ~ ', which the change event itself gives', 'fields other than ' ~ own | join(', '), example
            ) }}
        {%- endif -%}
        {%- set twin = fields | select('equalto', field) | list or fields | map('lower') | select('equalto', field | lower) | list -%}
        {%- if twin and twin[0] != field -%}
            {{ spark_cdc._stop(me, 'source has the field ' ~ field ~ ', another spelling of ' ~ twin[0], 'each field once, in small letters', example) }}
        {%- endif -%}
        {%- if value is string -%}
            {%- do fields.update({field: {'sql': spark_cdc._literal(value), 'type': 'string'}}) -%}
        {%- elif value is boolean -%}
            {%- do fields.update({field: {'sql': value | string | lower, 'type': 'boolean'}}) -%}
        {%- elif value is integer and value | abs < 9223372036854775808 -%}
            {%- do fields.update({field: {'sql': value ~ 'L', 'type': 'bigint'}}) -%}
        {%- elif
            value is mapping and value | list | sort == ['sql', 'type'] and value.sql is string and value.type is string
            and value.sql | trim -%}
            {%- do spark_cdc._check_type(me, 'the type of the field ' ~ field ~ ' of source', value.type, "{'sql': 'cdc_metadata.…', 'type': '", "'}") -%}
            {%- do spark_cdc._check_connect_type(me, 'the field ' ~ field ~ ' of source', value.type) -%}
            {%- do fields.update({field: {'sql': 'cast(' ~ value.sql ~ ' as ' ~ spark_cdc._spaced(value.type) ~ ')', 'type': value.type}}) -%}
        {%- else -%}
            {{ spark_cdc._stop(
                me, 'the field ' ~ field ~ ' of source is ' ~ value,
                'a text, a whole number of 64 bits, true or false; or an expression over the change event with its type, as a dict of sql and type',
                example
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(fields) }}
{%- endmacro -%}

{#- Stops a model that would add the whole feed to the rows of its earlier runs. -#}
{%- macro _check_feed_model() -%}
    {%- set materialized = model.config.materialized if model is defined and model.config is defined else none -%}
    {%- if materialized == 'cdc_incremental' or (materialized == 'incremental' and 'is_incremental(' not in model.raw_code) -%}
        {%- do spark_cdc._stop_materialized([
            'change_feed', model.name ~ ' is ' ~ materialized ~ ', and nothing tells the rows that are new',
            'view or table; or an incremental model that selects later batches from it',
            "select * from ({{ spark_cdc.change_feed(…) }}) {% if is_incremental() %}where cdc_batch > coalesce((select max(cdc_batch) from {{ this }}), ''){% endif %}"
        ]) -%}
    {%- endif -%}
{%- endmacro -%}
