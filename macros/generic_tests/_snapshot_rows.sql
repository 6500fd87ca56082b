{#- The rows that `equals_snapshot` compares, and their differences. `call` is what _snapshot_call gives. -#}

{#- The rows of the snapshot: the key as the tested table has it, and the other columns as they are there. -#}
{%- macro _snapshot_rows(call) -%}
    {%- set keys, values = {}, [] -%}
    {%- for name in call.key -%}
        {%- set column = call.there[name] -%}
        {%- do keys.update({name: spark_cdc._typed(spark_cdc._quote(column.name), column.type, call.types[name])}) -%}
    {%- endfor -%}
    {%- for name in call.compared -%}
        {%- do values.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._quote(call.there[name].name)) -%}
    {%- endfor -%}
select
    {%- for name, value in keys.items() %}
    {{ value | indent(4) }}{{ ' as ' ~ spark_cdc._quote(name) if value != spark_cdc._quote(name) }},
    {%- endfor %}
    {{ (spark_cdc._call('named_struct', values) if values else 'true') | indent(4) }} as cdc_expected,
    null as cdc_found{{ ',\n    false as cdc_is_later' if call.is_later }}
from {{ call.snapshot }}
    {%- if call.sample is not none %}
where
    {{ spark_cdc._is_in_sample(call.sample, keys, call.types) | indent(4) }}
    {%- endif %}
{%- endmacro -%}

{#- The rows of the tested table at the moment. With `is_later`, also those that changed later; a deleted one has no values. -#}
{%- macro _tested_rows(call) -%}
    {%- set keys, values, conditions = {}, [], [] -%}
    {%- for name in call.key -%}{%- do keys.update({name: spark_cdc._quote(name)}) -%}{%- endfor -%}
    {%- for name in call.compared -%}
        {%- do values.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- set found = spark_cdc._call('named_struct', values) if values else 'true' -%}
    {%- if call.rows is not none -%}{%- do conditions.append(call.rows) -%}{%- endif -%}
    {%- if call.is_later -%}{%- do conditions.append('(not cdc_is_deleted or ' ~ call.is_later ~ ')') -%}{%- endif -%}
    {%- if call.sample is not none -%}
        {%- do conditions.append(spark_cdc._is_in_sample(call.sample, keys, call.types)) -%}
    {%- endif -%}
select
    {{ spark_cdc._column_list(call.key) }},
    null as cdc_expected,
    {{ found | indent(4) }} as cdc_found{{ ',\n    ' ~ call.is_later ~ ' as cdc_is_later' if call.is_later }}
from {{ call.tested }}
    {%- if conditions %}
where
    {{ conditions | join('\nand ') | indent(4) }}
    {%- endif %}
{%- endmacro -%}

{#- The values of the snapshot in the types of the tested table, where these differ: a list of name and SQL. -#}
{%- macro _snapshot_values(call) -%}
    {%- set values = [] -%}
    {%- for name in call.compared -%}
        {%- set expected = 'cdc_expected.' ~ spark_cdc._quote(name) -%}
        {%- set value = spark_cdc._typed(expected, call.there[name].type, call.types[name]) -%}
        {%- if value != expected -%}{%- do values.append(spark_cdc._literal(name) ~ ', ' ~ value) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(values) }}
{%- endmacro -%}

{#- The differences of one key, each a struct or null. -#}
{%- macro _snapshot_differences(call) -%}
    {%- set nothing = 'cast(null as string)' -%}
    {%- set differences = [
        spark_cdc._snapshot_difference('cdc_expected_rows > cdc_found_rows', 'missing', [nothing, nothing, nothing]),
        spark_cdc._snapshot_difference('cdc_found_rows > cdc_expected_rows', 'extra', [nothing, nothing, nothing]),
    ] -%}
    {%- for name in call.compared -%}
        {%- set there, data_type = call.there[name].type, call.types[name] -%}
        {%- set quoted = '.' ~ spark_cdc._quote(name) -%}
        {%- set expected, found = 'cdc_expected' ~ quoted, 'cdc_found' ~ quoted -%}
        {%- set is_cast = spark_cdc._typed(expected, there, data_type) != expected -%}
        {%- set value = 'cdc_value' ~ quoted if is_cast else expected -%}
        {%- set differs = 'not ' ~ spark_cdc._bytewise(value, data_type) ~ ' <=> ' ~ spark_cdc._bytewise(found, data_type) -%}
        {%- if is_cast -%}
            {#- what is not exactly a value of the type equals no value -#}
            {%- set differs = '(\n    ' ~ differs ~ '\n    or (' ~ value ~ ' is null and ' ~ expected ~ ' is not null)\n)' -%}
        {%- endif -%}
        {%- do differences.append(spark_cdc._snapshot_difference(
            'least(cdc_expected_rows, cdc_found_rows) > 0\nand ' ~ differs, 'different',
            [spark_cdc._literal(name), spark_cdc._snapshot_text(expected, there), spark_cdc._snapshot_text(found, data_type)]
        )) -%}
    {%- endfor -%}
    {{ return(differences) }}
{%- endmacro -%}

{#- One difference: a struct if the condition holds. `texts` are the column, its expected value, and the value found. -#}
{%- macro _snapshot_difference(condition, problem, texts) -%}
    {%- set fields = spark_cdc._call('named_struct', [
        "'cdc_problem', '" ~ problem ~ "'", "'cdc_column', " ~ texts[0], "'cdc_expected', " ~ texts[1], "'cdc_found', " ~ texts[2]
    ]) -%}
    {{ return(spark_cdc._call('if', [condition, fields, 'null'])) }}
{%- endmacro -%}

{#- A value as text to show, the same in each session. -#}
{%- macro _snapshot_text(expression, data_type) -%}
    {%- if spark_cdc._type_facts(data_type).family == 'timestamp' -%}
        {{ return(spark_cdc._time_text(expression, data_type)) }}
    {%- endif -%}
    {{ return(spark_cdc._as_text(expression, data_type)) }}
{%- endmacro -%}
