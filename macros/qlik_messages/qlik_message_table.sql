{#- The table of each Kafka record, as an expression. See _macros.yml for the arguments. -#}
{%- macro qlik_message_table(messages, versions=none) -%}
    {%- if not execute or spark_cdc._is_untold(messages) or (versions is not none and spark_cdc._is_untold(versions)) -%}
        {{ return('cast(null as string)') }}
    {%- endif -%}
    {%- set me, in_relation, record = 'qlik_message_table', spark_cdc.columns_of(messages), {} -%}
    {%- set found = spark_cdc._qlik_find_record_columns(me, 'messages', messages, in_relation) -%}
    {%- if versions is not none -%}
        {%- set there = spark_cdc.columns_of(versions) -%}
        {%- for name in ('schema_id', 'source_schema', 'source_table') if name not in there -%}
            {{ spark_cdc._stop(
                me, 'versions ' ~ versions ~ ' has no column ' ~ name ~ '; it has ' ~ there | join(', '),
                'a relation that qlik_schema_versions made', "versions=ref('erp_versions')"
            ) }}
        {%- endfor -%}
    {%- endif -%}
    {%- for name in ('value', 'key', 'topic') -%}
        {%- set is_binary = name in found and in_relation[found[name]] | lower | trim == 'binary' -%}
        {%- set column = spark_cdc._quote(found[name]) if name in found else 'cast(null as string)' -%}
        {%- do record.update({name: 'cast(' ~ column ~ ' as string)' if is_binary else column}) -%}
    {%- endfor -%}
    {{ return(spark_cdc._qlik_route(record, versions)) }}
{%- endmacro -%}


{#- The expression: what names the table in a record, looked up among what `versions` knows. -#}
{%- macro _qlik_route(record, versions) -%}
    {%- set named = spark_cdc._qlik_route_in_value(record.value) -%}
    {%- if versions is none -%}
nullif(
    regexp_extract(
        {{ named | indent(8) }},
        '^table:((?s:.*))$',
        1
    ),
    ''
)
    {%- else -%}
try_element_at(
    {{ spark_cdc._qlik_known_routes(versions) | indent(4) }},
    coalesce(
        {{ named | indent(8) }},
        get(
            array_intersect(
                {{ spark_cdc._qlik_routes_beside_value(record.key, record.topic) | indent(16) }},
                map_keys({{ spark_cdc._qlik_known_routes(versions) | indent(16) }})
            ),
            0
        )
    )
)
    {%- endif -%}
{%- endmacro -%}

{#- What names the table in the value of a record: its members, `table:` or `name:`, else its schema id, `id:`. NULL where nothing does,
    `none` where that is not certain. The text is parsed where it may name a table, or has its id in an unusual place. -#}
{%- macro _qlik_route_in_value(value) -%}
get(
    transform(
        transform(
            array(named_struct(
                'text', {{ value }},
                'id', {{ spark_cdc._qlik_placed_id(value) | indent(16) }}
            )),
            one -> named_struct(
                'text', one.text,
                'id', one.id,
                'json', case
                    when not one.text rlike '^\\s*+[{]' then null
                    when
                        one.text rlike '"(?:schema|table)"\\s*+:|\\\\u'
                        or (
                            one.id is null
                            and one.text rlike '"(?:messageS|externalS)chemaId"\\s*+:\\s*+[^n\\s]'
                        )
                        then coalesce(try_parse_json(one.text), parse_json('null'))
                end
            )
        ),
        one -> case
            when
                one.text is null
                or not (one.id is not null or one.text rlike '^(?:\\s*+[{]|atMSG\u0004DT)')
                or one.text rlike '"type"\\s*+:\\s*+"MD"|"(?i:tableStructure|dataSchema)"\\s*+:'
                {%- for names in ('magic|type|message|headers', 'schema|table|messageSchemaId|externalSchemaId') %}
                or one.text rlike concat(
                    '"(?!(?:{{ names }})")',
                    '(?i:{{ names }})"\\s*+:'
                )
                {%- endfor %}
                or is_variant_null(one.json)
                -- an Avro schema in the message may name the table
                or (one.id is null and startswith(one.text, 'atMSG'))
                then 'none'
            {%- for record in ('message.', '') %}
            when try_variant_get(one.json, '$.{{ record }}table', 'string') is not null
                then lower(coalesce(
                    concat(
                        'table:', try_variant_get(one.json, '$.{{ record }}schema', 'string'),
                        '.', try_variant_get(one.json, '$.{{ record }}table', 'string')
                    ),
                    concat('name:', try_variant_get(one.json, '$.{{ record }}table', 'string'))
                ))
            {%- endfor %}
            else concat('id:', coalesce(
                one.id,
                {%- for path in ('messageSchemaId', 'message.headers.externalSchemaId', 'headers.externalSchemaId') %}
                case
                    when try_variant_get(one.json, '$.{{ path }}', 'string') <> ''
                        then try_variant_get(one.json, '$.{{ path }}', 'string')
                end{{ ',' if not loop.last }}
                {%- endfor %}
            ))
        end
    ),
    0
)
{%- endmacro -%}

{#- The schema id of a record, if it is where Qlik Replicate writes it. -#}
{%- macro _qlik_placed_id(text) -%}
case
    when startswith({{ text }}, 'atMSG')
        then if(
            substr(cast({{ text }} as binary), 6, 6) = X'044454000240',
            cast(substr(cast({{ text }} as binary), 12, 32) as string),
            null
        )
    when
        startswith(cast({{ text }} as binary), X'00')
        and octet_length({{ text }}) > 5
        then conv(hex(substr(cast({{ text }} as binary), 2, 4)), 16, 10)
    when startswith({{ text }}, '{')
        then nullif(
            regexp_extract(
                left({{ text }}, 500),
                replace(
                    concat(
                        '^[{] "magic" : "atMSG" , "type" : "DT" , ',
                        '"headers" : null , "messageSchemaId" : "([^"\\\\]++)"'
                    ),
                    ' ', '\\s*+'
                ),
                1
            ),
            ''
        )
end
{%- endmacro -%}

{#- The tables that the key and the topic of a record may name, in the order in which they count. No name is longer than 600
    characters, so a long text takes no more than these. -#}
{%- macro _qlik_routes_beside_value(key, topic) -%}
concat(
    coalesce(
        transform(
            filter(
                sequence(1, greatest(least(length({{ key }}), 600), 1)),
                place -> substr({{ key }}, place, 1) rlike '[^\\p{L}\\p{N}]'
            ),
            place -> lower(concat(
                'key:',
                left({{ key }}, place - 1),
                '/',
                substr({{ key }}, place + 1, 600)
            ))
        ),
        array()
    ),
    array(lower(concat('topic:', {{ topic }}))),
    coalesce(
        transform(
            split(left({{ topic }}, 600), '[.]'),
            (part, place) -> lower(concat(
                'end:',
                array_join(
                    slice(split(left({{ topic }}, 600), '[.]'), place + 1, 600),
                    '.'
                )
            ))
        ),
        array()
    )
)
{%- endmacro -%}

{#- A scalar subquery: what may name a table in a record, and the table; NULL where several have that name. -#}
{%- macro _qlik_known_routes(versions) -%}
(
    with
    tables as (
        select
            schema_id as cdc_id,
            lower(source_schema) as cdc_schema,
            lower(source_table) as cdc_name,
            lower(concat_ws('.', source_schema, source_table)) as cdc_table
        from {{ versions }}
        where source_table is not null
    ),

    known as (
        select
            cdc_named,
            if(count(distinct cdc_table) = 1, min(cdc_table), null) as cdc_table
        from tables,
            lateral explode(array(
                concat('id:', cdc_id),
                concat('name:', cdc_name),
                concat('topic:', cdc_name),
                concat('topic:', cdc_schema, '.', cdc_name),
                concat('end:', cdc_schema, '.', cdc_name),
                concat('key:', cdc_schema, '/', cdc_name),
                concat('table:', cdc_schema, '.', cdc_name)
            )) as names (cdc_named)
        where cdc_named is not null
        group by cdc_named
    )

    select map_from_entries(collect_list(struct(cdc_named, cdc_table)))
    from known
)
{%- endmacro -%}
