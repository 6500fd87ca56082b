{#- The tables that are known, by the names that a message may have. -#}

{#- A CTE of one row, `known_tables`: the tables of metadata messages and of the call, by the names that a message may have
    for them. Where several tables have one name, no table is given for it. -#}
{%- macro _qlik_known_tables(spec) -%}
    {%- set has_metadata = 'metadata' in spec.lookups -%}
    {%- set separator = "'[^\\\\p{L}\\\\p{N}]'" -%}
known_tables as (
    with known as (
        {%- if has_metadata %}
        select
            tables.cdc_schema,
            tables.cdc_name
        from (
            select
                collect_set(
                    case
                        when cdc_version.cdc_source_table is not null
                            then named_struct(
                                'cdc_schema', cdc_version.cdc_source_schema,
                                'cdc_name', cdc_version.cdc_source_table
                            )
                    end
                ) as cdc_told
            from known_versions
        ) as told,
            lateral inline(
                {{ spark_cdc._qlik_told_tables(spec) | indent(16) }}
            ) as tables
        {%- else %}
        select
            cast({{ spark_cdc._literal(spec.schema) if spec.schema else 'null' }} as string) as cdc_schema,
            cast({{ spark_cdc._literal(spec.table) if spec.table else 'null' }} as string) as cdc_name
        {%- if not spec.table %}
        where false
        {%- endif %}
        {%- endif %}
    ),

    -- each name that a message may have for a table, and the tables that it may mean
    names as (
        select
            cdc_use,
            cdc_text,
            collect_list(named_struct('schema', cdc_schema, 'name', cdc_name)) as cdc_tables
        from known,
            lateral inline(array(
                named_struct('cdc_use', 'name', 'cdc_text', cdc_name),
                named_struct('cdc_use', 'topic', 'cdc_text', cdc_name),
                named_struct('cdc_use', 'topic', 'cdc_text', concat(cdc_schema, '.', cdc_name)),
                named_struct(
                    'cdc_use', 'key',
                    'cdc_text', regexp_replace(concat(cdc_schema, '.', cdc_name), {{ separator }}, '.')
                )
            )) as ways
        where cdc_text is not null
        group by
            cdc_use,
            cdc_text
    )

    select
        coalesce(sum(if(cdc_use = 'name', size(cdc_tables), 0)), 0) as cdc_number,
        min(case when cdc_use = 'name' then cdc_text end) as cdc_one_name,
        {%- for use in ('name', 'topic') %}
        map_from_entries(
            collect_list(
                case
                    when cdc_use = '{{ use }}'
                        then struct(cdc_text, if(size(cdc_tables) = 1, cdc_tables[0], null))
                end
            )
        ) as cdc_by_{{ use }},
        {%- endfor %}
        concat(
            '[.](\\Q',
            nullif(
                array_join(
                    collect_list(
                        case
                            when
                                cdc_use = 'topic'
                                and exists(
                                    cdc_tables,
                                    one -> concat(one.schema, '.', one.name) = cdc_text
                                )
                                then cdc_text
                        end
                    ),
                    '\\E|\\Q'
                ),
                ''
            ),
            '\\E)$'
        ) as cdc_end_of_topic,
        map_from_entries(
            collect_list(case when cdc_use = 'key' then struct(cdc_text, cdc_tables) end)
        ) as cdc_by_key
    from names
    where {{ spark_cdc._qlik_once() }}
)
{%- endmacro -%}

{#- The tables that metadata messages tell of; also the table of the call, if none of them is that one. -#}
{%- macro _qlik_told_tables(spec) -%}
    {%- if not spec.table -%}
        {{ return('cdc_told') }}
    {%- endif -%}
if(
    exists(
        cdc_told,
        one -> one.cdc_name = {{ spark_cdc._literal(spec.table) }}
        {%- if spec.schema %}
        and one.cdc_schema = {{ spark_cdc._literal(spec.schema) }}
        {%- endif %}
    ),
    cdc_told,
    array_append(
        cdc_told,
        named_struct(
            'cdc_schema', cast({{ spark_cdc._literal(spec.schema) if spec.schema else 'null' }} as string),
            'cdc_name', {{ spark_cdc._literal(spec.table) }}
        )
    )
)
{%- endmacro -%}

{#- A condition that is always true. Spark computes a CTE with it once. Any other is put in each place that reads it, and
    computed there. -#}
{%- macro _qlik_once() -%}
    {{ return('rand() >= 0') }}
{%- endmacro -%}
