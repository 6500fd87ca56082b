{#- The versions of tables that metadata messages tell of, and which of them a message was written with. -#}

{#- CTEs: the versions that metadata messages tell, by id and by table, and the tables that are known. -#}
{%- macro _qlik_known_versions(spec) -%}
    {%- set places = [] -%}
    {%- for name in spec.columns -%}
        {%- do places.append(spark_cdc._call('coalesce', [
            'get(filter(`columns`, one -> one.name = ' ~ spark_cdc._literal(name) ~ '), 0).ordinal',
            'get(filter(`columns`, one -> lower(one.name) = ' ~ spark_cdc._literal(name | lower) ~ '), 0).ordinal',
        ])) -%}
    {%- endfor -%}
-- Where the bit of each column is, once a version; sorted by time, then by version.
known_versions as (
    with {{ spark_cdc._qlik_opened(
        spec.lookups.metadata, spec.metadata_found, spec.metadata_columns, spec.metadata_reads_avro, only_metadata=true
    ) | indent(4) }},

    {{ spark_cdc._qlik_described() | indent(4) }},

    {{ spark_cdc._qlik_version_rows() | indent(4) }}

    select
        schema_id as cdc_id,
        {%- if spec.reads_avro %}
        data_schema as cdc_data_schema,
        {%- endif %}
        named_struct(
            'cdc_written_at', written_at,
            'cdc_table_version', table_version,
            'cdc_source_schema', lower(source_schema),
            'cdc_source_table', lower(source_table),
            'cdc_version_names', array_sort(transform(`columns`, one -> lower(one.name))),
            'cdc_version_ordinals', transform(`columns`, one -> one.ordinal),
            'cdc_version_places', array(
                {{ places | join(',\n') | indent(16) }}
            )
        ) as cdc_version
    from versions
    where {{ spark_cdc._qlik_once() }}
),

versions_by_id as (
    select
        cdc_id,
        array_sort(collect_list(cdc_version)) as cdc_versions_of_id,
        collect_set(
            case
                when coalesce(cdc_version.cdc_source_schema, cdc_version.cdc_source_table) is not null
                    then named_struct('schema', cdc_version.cdc_source_schema, 'name', cdc_version.cdc_source_table)
            end
        ) as cdc_tables_of_id
    from known_versions
    group by cdc_id
),

versions_by_table as (
    select
        cdc_version.cdc_source_table as cdc_name,
        array_sort(collect_list(cdc_version)) as cdc_versions_of_table
    from known_versions
    where cdc_version.cdc_source_table is not null
    group by cdc_version.cdc_source_table
)
{%- endmacro -%}

{#- The versions that may have written a message: those with its id, of its table if there are any. Without an id all of its
    table. -#}
{%- macro _qlik_candidates(reads_avro) -%}
    {%- set is_of_table = "(cdc_table_schema is null or one.cdc_source_schema <=> cdc_table_schema)" -%}
case
    when cdc_has_version
        then coalesce(
            if(
                exists(
                    cdc_versions_of_id,
                    one -> {{ is_of_table }}
                    and one.cdc_source_table = cdc_table_name
                ),
                filter(
                    cdc_versions_of_id,
                    one -> {{ is_of_table }}
                    and one.cdc_source_table = cdc_table_name
                ),
                null
            ),
            cdc_versions_of_id
        )
    when
        (cdc_changed_bits is not null or cdc_column_bits is not null)
        and cdc_schema_id is null
        {%- if reads_avro %}
        and not cdc_is_avro
        {%- endif %}
        then filter(
            cdc_versions_of_table,
            one -> {{ is_of_table }}
        )
end
{%- endmacro -%}

{#- Of these, those with just the names of the message, if there are any and no id says which. -#}
{%- macro _qlik_likely_versions() -%}
if(
    cdc_has_version
    or not exists(
        cdc_candidates,
        one -> one.cdc_version_names = cdc_written_names
    ),
    cdc_candidates,
    filter(
        cdc_candidates,
        one -> one.cdc_version_names = cdc_written_names
    )
)
{%- endmacro -%}

{#- Of these, the last one that was there when the message was written; else the first. -#}
{%- macro _qlik_version() -%}
coalesce(
    try_element_at(
        filter(
            cdc_versions,
            one -> cdc_first_timestamp is null
            or one.cdc_written_at is null
            or one.cdc_written_at <= cdc_first_timestamp
        ),
        -1
    ),
    get(cdc_versions, 0)
)
{%- endmacro -%}

{#- A CTE, `versioned`: each delivery with the version that its masks are read by. -#}
{%- macro _qlik_versioned(spec) -%}
{%- set source -%}
delivered
left join versions_by_id
    on delivered.cdc_message_id = versions_by_id.cdc_id
left join versions_by_table
    on delivered.cdc_table_of_versions = versions_by_table.cdc_name
{%- endset -%}
{{ spark_cdc._qlik_steps('versioned', source, [
    {'cdc_candidates': spark_cdc._qlik_candidates(spec.reads_avro)},
    {'cdc_versions': spark_cdc._qlik_likely_versions()},
    {'of_struct': spark_cdc._qlik_version()},
]) }}
{%- endmacro -%}
