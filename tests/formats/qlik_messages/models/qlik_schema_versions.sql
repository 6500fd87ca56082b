{#- The schema versions in one relation with the metadata messages of many vectors, and what is in quarantine. A
    schema id begins with the number of its vector, an offset has it as its thousands. -#}
{%- set metadata = source('qlik_messages', 'metadata') -%}
{%- set vectors = [] -%}
{%- for vector in var('qlik_vectors', ['vector']) -%}{%- do vectors.append("'" ~ vector ~ "'") -%}{%- endfor -%}
select
    get(
        array({{ vectors | join(', ') }}),
        if(schema_id like '%/%', cast(substring_index(schema_id, '/', 1) as int), 0)
    ) as vector,
    cast(null as string) as refused,
    substring_index(schema_id, '/', -1) as schema_id,
    concat(coalesce(source_schema, ''), '.', coalesce(source_table, '')) as source_table,
    table_version,
    written_at,
    concat(coalesce(server, ''), '/', coalesce(task, '')) as origin,
    array_join(transform(columns, one -> one.name), ', ') as column_names,
    array_join(
        transform(
            columns,
            one -> concat_ws(
                ' ',
                one.ordinal,
                coalesce(cast(one.length as string), '-'),
                coalesce(cast(one.precision as string), '-'),
                coalesce(cast(one.scale as string), '-'),
                coalesce(cast(one.primary_key_position as string), '-'),
                coalesce(cast(one.nullable as string), '-'),
                coalesce(lower(one.type), '-')
            )
        ),
        ', '
    ) as facts,
    length(data_schema) as data_schema_length
from (
    {{ spark_cdc.qlik_schema_versions(metadata) | indent(4) }}
) as versions
union all
select
    get(
        array({{ vectors | join(', ') }}),
        cast(cast(get_json_object(raw, '$.offset') as bigint) div 1000 as int)
    ) as vector,
    concat_ws(' ', cast(get_json_object(raw, '$.offset') as bigint) % 1000, reason) as refused,
    cast(null as string) as schema_id,
    cast(null as string) as source_table,
    cast(null as bigint) as table_version,
    cast(null as timestamp) as written_at,
    cast(null as string) as origin,
    cast(null as string) as column_names,
    cast(null as string) as facts,
    cast(null as int) as data_schema_length
from (
    {{ spark_cdc.quarantine('qlik_schema_versions', metadata) | indent(4) }}
) as unusable_rows
