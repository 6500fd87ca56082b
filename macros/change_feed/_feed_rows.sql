{#- The rows and the source block of a feed, as structs. In JSON their values are as Kafka Connect has them. -#}

{#- The named columns as a struct: of the `row`, or of the row `before`. -#}
{%- macro _feed_struct(spec, names, side) -%}
    {%- set lines = [] -%}
    {%- for name in names -%}
        {%- set value = spark_cdc._feed_column(spec, name, side) -%}
        {%- if spec.form != 'structs' -%}{%- set value = spark_cdc._connect_value(value, spec.types[name]) -%}{%- endif -%}
        {%- do lines.append(spark_cdc._literal(name) ~ ', ' ~ value) -%}
    {%- endfor -%}
    {{ return(spark_cdc._call('named_struct', lines)) }}
{%- endmacro -%}

{#- A column. In the before image a NULL in the key is unknown, and the key then did not change; unless NULL is a value of
    keys. A before image may have the key alone. A column that the event does not carry is NULL or, where its type has one, Debezium's placeholder. -#}
{%- macro _feed_column(spec, name, side) -%}
    {%- set own = spark_cdc._quote(name) -%}
    {%- if side == 'before' and name not in spec.names_before -%}
        {{ return('cast(null as ' ~ spec.types[name] ~ ')') }}
    {%- elif side == 'before' -%}
        {{ return(
            'coalesce(cdc_before.' ~ own ~ ', ' ~ own ~ ')' if name in spec.key and not spec.null_keys else 'cdc_before.' ~ own
        ) }}
    {%- endif -%}
    {%- set placeholder = spark_cdc._unavailable(spec.types[name]) -%}
    {%- if name in spec.key or placeholder is none -%}{{ return(own) }}{%- endif -%}
    {{ return(spark_cdc._call('coalesce', [
        own, 'case\n    when not array_contains(cdc_carried, ' ~ spark_cdc._literal(name | lower) ~ ')\n        then ' ~ placeholder ~ '\nend'
    ])) }}
{%- endmacro -%}

{#- Debezium's placeholder for a value that is not available, as SQL; none for a type that cannot hold it. -#}
{%- macro _unavailable(data_type) -%}
    {%- set text, of = "'__debezium_unavailable_value'", data_type | lower | trim -%}
    {%- set element = modules.re.fullmatch('array\\s*<(.*)>', of) -%}
    {%- if element -%}
        {%- set inner = spark_cdc._unavailable(element.group(1)) if '<' not in element.group(1) else none -%}
        {{ return('array(' ~ inner ~ ')' if inner else none) }}
    {%- elif of == 'binary' -%}
        {{ return('cast(' ~ text ~ ' as binary)') }}
    {%- endif -%}
    {{ return(text if spark_cdc._type_facts(of).family == 'text' else none) }}
{%- endmacro -%}

{#- The source block: what was given, and what the event says. Times as in `_feed_times`. -#}
{%- macro _feed_source(spec) -%}
    {%- set lines, names = [], [] -%}
    {%- for field, value in spec.source.items() -%}
        {%- set sql = value.sql if spec.form == 'structs' else spark_cdc._connect_value(value.sql, value.type) -%}
        {%- do lines.append(spark_cdc._literal(field) ~ ', ' ~ sql) -%}
    {%- endfor -%}
    {%- for name in spec.columns -%}{%- do names.append(spark_cdc._literal(name)) -%}{%- endfor -%}
named_struct(
    {{ lines | join(',\n') | indent(4) }},
    {{ spark_cdc._feed_times() | indent(4) }},
    'snapshot', if(cdc_operation = 'load', 'true', 'false'),
    'sequence', to_json(array(cdc_commit_sequence, cdc_sequence)),
    -- names of columns whose value is unknown here, whatever stands for it
    'unavailable_columns', case
        when cdc_operation <> 'truncate' and cdc_carried is not null
            then filter(
                {{ spark_cdc._call('array', names) | indent(16) }},
                one -> not array_contains(cdc_carried, lower(one))
            )
    end
)
{%- endmacro -%}
