{#- The XDS documents that the driver of Identity Manager would send. See _macros.yml for the arguments. -#}
{%- macro netiq_xds(
    relation, table, key, columns, schema, snapshot=none, layout=none, driver_user=none, allow_loopback=false, as_of=none,
    pending_only=true, type5='modify', source_timezone=none
) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {%- do spark_cdc._check_not_incremental('netiq_xds') -%}
    {%- set spec = spark_cdc._netiq_xds_spec(
        'netiq_xds', relation, table, key, columns, schema, snapshot, layout, driver_user, allow_loopback, as_of, pending_only, type5,
        source_timezone
    ) -%}
    {{ return(spark_cdc._fit_for_view('netiq_xds', spark_cdc._netiq_xds(spec))) }}
{%- endmacro -%}

{#- The select. -#}
{%- macro _netiq_xds(spec) -%}
    {%- set carried = ['cdc_event_type', 'cdc_object', 'cdc_spelled', 'cdc_column', 'cdc_is_unanswered', 'cdc_attributes'] -%}
{{ spark_cdc._netiq_decided(spec) }},

{{ spark_cdc._netiq_attributes(spec) }},

{{ spark_cdc._netiq_parts(spec, carried) }},

{{ spark_cdc._netiq_sequenced(spec) }},

elements as (
    select
        {{ spark_cdc._netiq_sequence(spec) | indent(8) }} as cdc_sequence,
        case
            when cdc_kind in ('add', 'delete') then cdc_kind
            {%- if spec.type5 == 'add' %}
            when exists(cdc_rows, one -> one.cdc_event_type = 5) then 'add'
            {%- endif %}
            else 'modify'
        end as cdc_element,
        cdc_first.cdc_spelled.cdc_table_name,
        cdc_first.cdc_object,
        exists(cdc_rows, one -> one.cdc_is_unanswered) as cdc_is_unanswered,
        -- rows of type 5 and 6 in one event have the same attributes
        case
            when cdc_kind = 'row' then cdc_first.cdc_attributes
            else flatten(transform(cdc_rows, one -> one.cdc_attributes))
        end as cdc_attributes
    from sequenced
),

escaped as (
    select
        * except (cdc_attributes),
        transform(
            cdc_attributes,
            one -> named_struct(
                'name', {{ spark_cdc._netiq_xml('one.name', is_attribute=true) | indent(16) }},
                'old_value', {{ spark_cdc._netiq_xml_value('one.old_value') | indent(16) }},
                'new_value', {{ spark_cdc._netiq_xml_value('one.new_value') | indent(16) }},
                'removes_all', one.removes_all
            )
        ) as cdc_attributes
    from elements
),

-- array_join leaves out NULLs, which are attributes without a value
bodies as (
    select
        *,
        coalesce(
            array_join(
                transform(
                    cdc_attributes,
                    one -> case
                        when cdc_element = 'add'
                            then concat('<add-attr attr-name="', one.name, '">', one.new_value, '</add-attr>')
                        when one.removes_all or coalesce(one.old_value, one.new_value) is not null
                            then concat(
                                '<modify-attr attr-name="', one.name, '">',
                                if(
                                    one.removes_all,
                                    '<remove-all-values/>',
                                    coalesce(concat('<remove-value>', one.old_value, '</remove-value>'), '')
                                ),
                                coalesce(concat('<add-value>', one.new_value, '</add-value>'), ''),
                                '</modify-attr>'
                            )
                    end
                ),
                ''
            ),
            ''
        ) as cdc_body
    from escaped
),

documents as (
    select
        *,
        concat(
            '<',
            cdc_element,
            ' class-name="',
            {{ spark_cdc._netiq_xml('cdc_table_name', is_attribute=true) | indent(12) }},
            '"><association>',
            {{ spark_cdc._netiq_xml(
                "concat(cdc_object, ',table=', cdc_table_name, ',schema=', " ~ spark_cdc._literal(spec.schema) ~ ')'
            ) | indent(12) }},
            '</association>',
            cdc_body,
            '</',
            cdc_element,
            '>'
        ) as cdc_document
    from bodies
),

checked as (
    select
        *,
        case
            when cdc_is_unanswered then 'no_snapshot'
            when cdc_element <> 'delete' and cdc_body = '' then 'no_attributes'
            when
                {{ spark_cdc._netiq_has_illegal_character('cdc_document') | indent(16) }}
                then 'illegal_character'
        end as cdc_reason
    from documents
)

select
    cdc_sequence,
    case when cdc_reason is null then cdc_document end as xds,
    cdc_reason as reason
from checked
order by cdc_sequence
{%- endmacro -%}

{#- A value of an attribute; NULL if the value is NULL. -#}
{%- macro _netiq_xml_value(value) -%}
concat(
    '<value type="', one.kind, '">',
    {{ spark_cdc._netiq_xml(value) | indent(4) }},
    '</value>'
)
{%- endmacro -%}
