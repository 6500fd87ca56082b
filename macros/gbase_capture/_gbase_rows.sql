{#- The values of a record, and what is wrong with them. -#}

{#- A row of decoded values as a struct of the declared types; a value that is not of its type is null there. -#}
{%- macro _gbase_row(spec, side) -%}
named_struct(
    {%- for name, place in spark_cdc._gbase_places(spec, side).items() %}
    {%- set data_type = spec.columns[name] %}
    {%- set value = spark_cdc._typed(place.text, 'string', data_type) %}
    {%- if place.number %}
    {%- set number = spark_cdc._gbase_native(place.number, place.family, data_type) %}
    {%- set value = 'coalesce(\n    ' ~ (number | indent(4)) ~ ',\n    ' ~ (value | indent(4)) ~ '\n)' %}
    {%- endif %}
    {{ spark_cdc._literal(name) }}, {{ value | indent(4) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro -%}

{#- Whether the row has a value that is not of its column's type. -#}
{%- macro _gbase_has_bad_value(spec, side, row) -%}
    {%- set conditions = [] -%}
    {%- for name, place in spark_cdc._gbase_places(spec, side).items()
        if spark_cdc._typed(place.text, 'string', spec.columns[name]) != place.text -%}
        {%- set there = place.text ~ ' is not null' -%}
        {%- if place.number -%}{%- set there = '(' ~ place.number ~ ' is not null or ' ~ there ~ ')' -%}{%- endif -%}
        {%- do conditions.append('(\n    ' ~ there ~ '\n    and ' ~ row ~ '.' ~ spark_cdc._quote(name) ~ ' is null\n)') -%}
    {%- endfor -%}
    {{ return(conditions | join('\nor ') or 'false') }}
{%- endmacro -%}

{#- The values of a row that are not of their column's type. -#}
{%- macro _gbase_bad_values(spec, side, row) -%}
    {%- set values = [] -%}
    {%- for name, place in spark_cdc._gbase_places(spec, side).items()
        if spark_cdc._typed(place.text, 'string', spec.columns[name]) != place.text -%}
        {%- set text = place.text -%}
        {%- if place.number -%}
            {%- set text = spark_cdc._call('coalesce', [text, spark_cdc._gbase_number_as_text(place.number, place.family)]) -%}
        {%- endif -%}
        {%- do values.append({
            'name': name, 'type': spec.columns[name], 'text': text, 'is_bad': row ~ '.' ~ spark_cdc._quote(name) ~ ' is null',
        }) -%}
    {%- endfor -%}
    {{ return(spark_cdc._bad_value_detail(values)) }}
{%- endmacro -%}

{#- A number of a family as the stream has it. -#}
{%- macro _gbase_number_as_text(number, family) -%}
    {%- if family.startswith('decimal:') -%}
        {%- set number = spark_cdc._gbase_scaled(number, family) -%}
    {%- elif family in ('date', 'timestamp') -%}
        {%- set number = spark_cdc._gbase_native(number, family, family) -%}
    {%- endif -%}
    {{ return('cast(\n    ' ~ number ~ ' as string\n)') }}
{%- endmacro -%}

{#- CTEs that end in `items`: every record or tail that is in an event or in quarantine; if in quarantine, with its
    reason. -#}
{%- macro _gbase_items(spec) -%}
    {%- set fields = ['chunk', 'chunk_offset', 'end_chunk', 'record_number', 'reason', 'detail'] -%}
{{ spark_cdc._gbase_judged(spec) }},

with_details as (
    select
        *,
        case
            when cdc_has_bad_value
                then {{ spark_cdc._gbase_bad_values(spec, 'after', 'cdc_row') | indent(16) }}
        end as cdc_bad_values,
        case
            when cdc_before_has_bad_value
                then {{ spark_cdc._gbase_bad_values(spec, 'before', 'cdc_before') | indent(16) }}
        end as cdc_before_bad_values
    from judged
),

items as (
    select
        judged.capture_id,
        item.*
    from with_details as judged
        lateral view inline(
            array(
                named_struct(
                    'chunk', judged.chunk,
                    'chunk_offset', judged.chunk_offset,
                    'end_chunk', judged.end_chunk,
                    'record_number', judged.record_number,
                    'reason', case when judged.cdc_has_bad_value then 'bad_value' else judged.reason end,
                    'detail', coalesce(judged.cdc_bad_values, judged.detail)
                ),
                named_struct(
                    'chunk', judged.before_chunk,
                    'chunk_offset', judged.before_offset,
                    'end_chunk', judged.before_end_chunk,
                    'record_number', 42,
                    'reason', case
                        when judged.cdc_before_has_bad_value then 'bad_value'
                        when judged.cdc_has_bad_value then 'orphan_before_image'
                    end,
                    'detail', judged.cdc_before_bad_values
                )
            )
        ) item as {{ fields | join(', ') }}
    where item.chunk is not null
)
{%- endmacro -%}

{#- Where a record or tail is, and what is wrong with it. -#}
{%- macro _gbase_detail() -%}
concat(
    'chunk ',
    items.chunk,
    ', offset ',
    items.chunk_offset,
    coalesce(concat(', record number ', items.record_number), ''),
    coalesce(concat(': ', nullif(items.detail, '')), '')
)
{%- endmacro -%}
