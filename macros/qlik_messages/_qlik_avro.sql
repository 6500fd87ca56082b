{#- Avro messages, as the JSON messages of the same content. The Python function spark_cdc_qlik_avro reads the bytes. -#}

{#- Whether Avro messages of a relation are read: its values are binary, and the server has the function. A view cannot call it: it
    outlives the session. -#}
{%- macro _qlik_reads_avro(found, in_relation) -%}
    {%- if in_relation[found.value] | lower | trim != 'binary' or (model is defined and model.config.materialized == 'view') -%}
        {{ return(false) }}
    {%- endif -%}
    {%- if invocation_args_dict.which in ('compile', 'generate') -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(run_query("show functions like 'spark_cdc_qlik_avro'") | length > 0) }}
{%- endmacro -%}

{#- Whether a value is an Avro message, with an envelope or in the frame of a schema registry. -#}
{%- macro _qlik_is_avro(text) -%}
(
    startswith({{ text }}, 'atMSG')
    or (startswith(cast({{ text }} as binary), X'00') and octet_length({{ text }}) > 5)
)
{%- endmacro -%}

{#- The columns that the JSON text of a record comes with, and their types. -#}
{%- macro _qlik_text_columns() -%}
    {{ return({
        'cdc_text': 'string', 'cdc_avro_reason': 'string', 'cdc_avro_detail': 'string', 'cdc_namespace': 'string',
        'cdc_field_names': 'array<string>',
    }) }}
{%- endmacro -%}

{#- CTEs to `texts`: each of the `records` with its JSON text. `has_versions`: the schemas of
    `known_versions` are there. They go to each of 64 buckets, so that each batch of messages has them once. -#}
{%- macro _qlik_texts(as_delivered, has_versions) -%}
    {%- set columns, places = [], 'pmod(xxhash64(cdc_value), 64)' -%}
    {%- for name in spark_cdc._qlik_record_columns() -%}{%- do columns.append(name) -%}{%- endfor -%}
    {%- if as_delivered -%}{%- do columns.append('raw') -%}{%- endif -%}
-- Avro messages, and the schemas that may have written them
avro as (
    select
        'message' as role,
        cast(null as string) as schema_id,
        cast(null as string) as data_schema,
        cast(null as string) as source_schema,
        cast(null as string) as source_table,
        cast(null as bigint) as table_version,
        cast(null as timestamp) as written_at,
        named_struct(
            'value', cast(cdc_value as binary),
            'key', cdc_key,
            'topic', cdc_topic,
            'partition', cdc_partition,
            'offset', cdc_offset,
            'timestamp', cdc_timestamp,
            'raw', {{ 'cdc_raw' if as_delivered else 'cast(null as string)' }}
        ) as record,
        min(cdc_timestamp) over (partition by {{ places }}, cdc_value) as first_timestamp,
        {{ places }} as cdc_bucket
    from records
    where
        {{ spark_cdc._qlik_is_avro('cdc_value') | indent(8) }}
    {%- if has_versions %}
    union all
    select
        'schema' as role,
        cdc_id as schema_id,
        cdc_data_schema as data_schema,
        cdc_version.cdc_source_schema as source_schema,
        cdc_version.cdc_source_table as source_table,
        cdc_version.cdc_table_version as table_version,
        cdc_version.cdc_written_at as written_at,
        null as record,
        null as first_timestamp,
        cdc_bucket
    from known_versions,
        lateral explode(sequence(0L, 63L)) as buckets (cdc_bucket)
    {%- endif %}
),

texts as (
    select
        {%- for name in columns %}
        cdc_{{ name }},
        {%- endfor %}
        cdc_value as cdc_text,
        {%- for name, data_type in spark_cdc._qlik_text_columns().items() if name != 'cdc_text' %}
        cast(null as {{ data_type }}) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from records
    where
        not coalesce(
            {{ spark_cdc._qlik_is_avro('cdc_value') | indent(12) }},
            false
        )
    union all
    select
        {%- for name in columns %}
        {{ 'cast(record.value as string)' if name == 'value' else 'record.' ~ spark_cdc._quote(name) }} as cdc_{{ name }},
        {%- endfor %}
        json as cdc_text,
        reason as cdc_avro_reason,
        detail as cdc_avro_detail,
        namespace as cdc_namespace,
        field_names as cdc_field_names
    from
        spark_cdc_qlik_avro(
            table(avro)
            partition by cdc_bucket
            order by role desc
        )
)
{%- endmacro -%}
