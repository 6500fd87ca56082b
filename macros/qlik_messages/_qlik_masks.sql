{#- The masks of a message: which columns it carries, and which of them changed. -#}

{#- Whether a bit is set, of the column at `index`; NULL where nothing tells its bit. -#}
{%- macro _qlik_bit_of(bits, index) -%}
    {{ return('substr(' ~ bits ~ ', get(cdc_bits, ' ~ index ~ "), 1) = '1'") }}
{%- endmacro -%}

{#- The column of each bit. If no version and no schema tells it: the members of the row image, if all columns of the call are
    among them in its order. Else the columns of the call, which are those of the table in its order. If a member contradicts
    this, nothing tells it, and the list is empty. -#}
{%- macro _qlik_list_of_names(spec) -%}
    {%- set own = spark_cdc._qlik_names(spec, is_lower=true) | indent(8) -%}
case
    when cdc_bit_names is not null or coalesce(cdc_changed_bits, cdc_carried_bits) is null
        then cdc_bit_names
    when array_intersect(cdc_lower_names, {{ own }}) = {{ own }}
        then cdc_names
    when size(array_except(cdc_lower_names, {{ own }})) = 0
        then {{ own }}
    else array()
end
{%- endmacro -%}

{#- Whether a mask has a bit for which there is no column, where the list of columns is not of a version or a schema. -#}
{%- macro _qlik_has_bit_outside(bits) -%}
(
    cdc_bit_names is null
    and contains(substr(coalesce({{ bits }}, ''), size(cdc_list) + 1), '1')
)
{%- endmacro -%}

{#- The names of the table's columns as an array, in order. -#}
{%- macro _qlik_names(spec, is_lower=false) -%}
    {%- set names = [] -%}
    {%- for name in spec.columns -%}{%- do names.append(spark_cdc._literal(name | lower if is_lower else name)) -%}{%- endfor -%}
    {{ return(spark_cdc._call('array', names)) }}
{%- endmacro -%}

{#- Of an update: the names of the columns that have their bit in the change mask. -#}
{%- macro _qlik_changed_names(spec) -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- do conditions.update({name: spark_cdc._qlik_bit_of('cdc_changed_bits', loop.index0)}) -%}
    {%- endfor -%}
case
    when cdc_operation = 'update' and cdc_changed_bits is not null
        then {{ spark_cdc._qlik_names_where(conditions) | indent(8) }}
end
{%- endmacro -%}

{#- The columns that a message carries, or whose value its before image tells; NULL if it tells all columns. -#}
{%- macro _qlik_present_names(spec) -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- set bit = spark_cdc._qlik_bit_of('cdc_carried_bits', loop.index0) -%}
        {%- do conditions.update({
            name: 'get(cdc_values, ' ~ loop.index0 ~ ') is not null\nor (\n    get(cdc_there, ' ~ loop.index0 ~ ')\n    and coalesce(' ~ bit ~ ', true)\n)'
        }) -%}
    {%- endfor -%}
nullif(
    {{ spark_cdc._qlik_names_where(conditions) | indent(4) }},
    {{ spark_cdc._qlik_names(spec) | indent(4) }}
)
{%- endmacro -%}
