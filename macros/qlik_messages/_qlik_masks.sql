{#- The masks of a message: which columns it carries, and which of them changed. -#}

{#- Whether the bit of column `i` is set; `otherwise` without a mask, or where the column has no bit. -#}
{%- macro _qlik_is_bit_set(bits, otherwise) -%}
    {{ return('coalesce(substr(' ~ bits ~ ", get(cdc_bits, i), 1) = '1', " ~ otherwise ~ ')') }}
{%- endmacro -%}

{#- The column of each bit. If no version and no schema tells it: the members of the row image, if all columns of the call are
    among them in its order. Else the columns of the call, which are those of the table in its order. If a member contradicts
    this, nothing tells it, and the list is empty. -#}
{%- macro _qlik_list_of_names() -%}
case
    when cdc_bit_names is not null or coalesce(cdc_changed_bits, cdc_carried_bits) is null
        then cdc_bit_names
    when array_intersect(cdc_lower_names, cdc_lower_own) = cdc_lower_own
        then cdc_names
    when size(array_except(cdc_lower_names, cdc_lower_own)) = 0
        then cdc_own
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
{%- macro _qlik_changed_names() -%}
case
    when cdc_operation = 'update' and cdc_changed_bits is not null
        then filter(
            cdc_own,
            (name, i) -> {{ spark_cdc._qlik_is_bit_set('cdc_changed_bits', 'false') }}
        )
end
{%- endmacro -%}

{#- The columns that a message carries, or whose value its before image tells; NULL if it tells all columns. -#}
{%- macro _qlik_present_names() -%}
nullif(
    filter(
        cdc_own,
        (name, i) -> get(cdc_values, i) is not null
        or (
            coalesce(get(cdc_places, i), 0) > 0
            and {{ spark_cdc._qlik_is_bit_set('cdc_carried_bits', 'true') }}
        )
    ),
    cdc_own
)
{%- endmacro -%}
