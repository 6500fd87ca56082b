{#- The columns of the built table have the types that its YAML declares. See _generic_tests.yml.

    dbt's contracts compare only the names of types, without precision or fields. Here types are compared as Spark spells
    them (`typeof`). So `int` and `integer` are equal, and wide structs, which `describe table` cuts short, are complete. But
    `typeof` shows a char or varchar as a string. Its length comes from `describe table`, unless that is cut short. -#}
{%- test column_types_are(model) -%}
{%- if execute -%}
{%- set relation = spark_cdc._tested_relation(model) -%}
{%- set node = spark_cdc._node_of(relation) -%}
{%- if node is none -%}
    {{ spark_cdc._stop(
        'column_types_are', model ~ ' is not a model, seed, snapshot or source of the project', 'a node whose YAML declares its columns',
        'models: [{name: orders, data_tests: [spark_cdc.column_types_are], columns: [{name: order_id, data_type: bigint}]}]'
    ) }}
{%- endif -%}
{%- if invocation_args_dict.which in ('generate', 'compile') and not spark_cdc._is_in_warehouse(spark_cdc._plain_relation(relation, node)) -%}
    {{ return(spark_cdc._untold(model)) }}
{%- endif -%}
{%- set declared, there, raw_columns, problems, both = {}, {}, {}, [], [] -%}
{%- for column in node.columns.values() if column.data_type -%}
    {%- if column.data_type | lower | trim not in ('void', 'interval') -%}
        {%- do spark_cdc._check_type(
            'column_types_are', 'the data_type that the YAML of ' ~ relation ~ ' declares for ' ~ column.name, column.data_type,
            'columns: [{name: ' ~ column.name ~ ', data_type: "', '"}]'
        ) -%}
    {%- endif -%}
    {%- do declared.update({column.name | lower: column.data_type}) -%}
{%- endfor -%}
{%- for name, data_type in spark_cdc._described(relation).items() -%}
    {%- do there.update({name | lower: name}) -%}
    {%- do raw_columns.update({name | lower: data_type}) -%}
{%- endfor -%}
{%- for name in there if name not in declared -%}
    {%- do problems.append({'name': there[name], 'declared': none, 'problem': 'is not declared, or has no data_type'}) -%}
{%- endfor -%}
{%- for name in declared -%}
    {%- if name in there -%}
        {%- do both.append(name) -%}
    {%- else -%}
        {%- do problems.append({'name': name, 'declared': declared[name], 'problem': 'is declared but does not exist'}) -%}
    {%- endif -%}
{%- endfor -%}
{#- a left join without a match: one row of nulls with the right types, and no row is read -#}
with types as (
    select
        inline(
            array(
                -- types as the YAML spells them, however long
                -- noqa: disable=LT05
                {%- for name in both %}
                {%- set has_lengths = modules.re.search('\\bchar|\\bvarchar', (declared[name] ~ ' ' ~ raw_columns[name]) | lower) %}
                {%- set type_declared = spark_cdc._spelled(declared[name], with_lengths=true) %}
                {%- set type_there = spark_cdc._spelled(raw_columns[name], with_lengths=true) %}
                named_struct(
                    'column_name', {{ spark_cdc._literal(there[name]) }},
                    {%- if not has_lengths or type_declared == type_there or ' more fields' in raw_columns[name] %}
                    'declared', typeof(cast(null as {{ spark_cdc._spaced(declared[name]) }})),
                    'actual', typeof(built.{{ spark_cdc._quote(there[name]) }})
                    {%- else %}
                    'declared', {{ spark_cdc._literal(declared[name]) }},
                    'actual', {{ spark_cdc._literal(raw_columns[name]) }}
                    {%- endif %}
                ){{ ',' if not loop.last or problems }}
                {%- endfor %}
                {%- for row in problems %}
                named_struct(
                    'column_name', {{ spark_cdc._literal(row.name) }},
                    'declared', {{ spark_cdc._literal(row.declared) if row.declared else 'cast(null as string)' }},
                    'actual', {{ spark_cdc._literal(row.problem) }}
                ){{ ',' if not loop.last }}
                {%- endfor %}
            )
        )
    from (select 1 as one) as one_row
    left join {{ relation }} as built
        on one_row.one is null
)

select * from types
where not (declared <=> actual)
{%- endif -%}
{%- endtest -%}
