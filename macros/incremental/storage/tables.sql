{#- What Iceberg and Delta share: a model is a table, and a run changes it in one commit. -#}

{#- Builds the model from `sql`. -#}
{%- macro _replace_table(run, sql, properties) -%}
    {%- call statement('main') -%}
        {{ spark_cdc._create_as(run, run.target, sql, properties, is_model=true) }}
    {%- endcall -%}
    {%- do run.properties.update(properties) -%}
{%- endmacro -%}

{#- Changes the model by an increment; the arguments are those of `store_increment`. -#}
{%- macro _merge(run, increment, names, same, prune) -%}
    {%- set values = [] -%}
    {%- for name in names -%}{%- do values.append('stored.' ~ name ~ ' = increment.' ~ name) -%}{%- endfor -%}
    {%- if run.call.builds == 'current_state' -%}
        {%- do spark_cdc._store_properties(run, {'spark_cdc.begun': run.batch}) -%}
    {%- endif -%}
    {%- call statement('main') -%}
merge into {{ run.target }} as stored
using {{ increment }} as increment
    on {{ same }}{{ ' and ' ~ prune if prune }}
when matched and increment.cdc_is_removed then delete
when matched then update set {{ values | join(', ') }}
when not matched and not increment.cdc_is_removed
    then insert ({{ names | join(', ') }}) values (increment.{{ names | join(', increment.') }})
    {%- endcall -%}
{%- endmacro -%}
