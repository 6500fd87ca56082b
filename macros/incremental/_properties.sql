{#- What the next run has to know is in the properties of the model. docs/incremental.md has a table of them. -#}

{#- The table properties of a relation, a dict. -#}
{%- macro _properties(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation) -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- The table properties that belong to this package. -#}
{%- macro _own(properties) -%}
    {%- set own = {} -%}
    {%- for name, value in properties.items() if name.startswith('spark_cdc.') -%}
        {%- do own.update({name: value}) -%}
    {%- endfor -%}
    {{ return(own) }}
{%- endmacro -%}

{#- Properties as a list in SQL. -#}
{%- macro _property_list(properties) -%}
    {%- for name, value in properties.items() -%}
        {{ spark_cdc._literal(name) }} = {{ spark_cdc._literal(value | string) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}

{#- The properties that every run writes, with `properties` in addition. -#}
{%- macro _all_properties(run, properties) -%}
    {%- set all_properties = {
        'spark_cdc.file_format': run.file_format,
        'spark_cdc.definition': run.fingerprint,
        'spark_cdc.generation': run.properties.get('spark_cdc.generation', run.batch),
        'spark_cdc.raw': run.properties.get('spark_cdc.raw', ''),
        'spark_cdc.raw_added_to': run.properties.get('spark_cdc.raw_added_to', 0),
        'spark_cdc.raw_is_partial': run.properties.get('spark_cdc.raw_is_partial', ''),
        'spark_cdc.state': run.properties.get('spark_cdc.state', ''),
        'spark_cdc.kept_by': run.get('kept_by', ''),
        'spark_cdc.quarantine': run.properties.get('spark_cdc.quarantine', ''),
        'spark_cdc.quarantine_before': run.properties.get('spark_cdc.quarantine_before', ''),
        'spark_cdc.answers': run.properties.get('spark_cdc.answers', ''),
        'spark_cdc.as_of': run.properties.get('spark_cdc.as_of', ''),
    } -%}
    {%- if run.properties.get('spark_cdc.last_batch') -%}
        {%- do all_properties.update({'spark_cdc.last_batch': run.properties['spark_cdc.last_batch']}) -%}
    {%- elif run.properties.get('spark_cdc.read') -%}
        {%- do all_properties.update({'spark_cdc.read': run.properties['spark_cdc.read'] if run.logs else ''}) -%}
    {%- endif -%}
    {%- do all_properties.update(spark_cdc._property_of_run(run)) -%}
    {%- do all_properties.update(run.get('watermark') or {}) -%}
    {%- do all_properties.update(properties or {}) -%}
    {{ return(all_properties) }}
{%- endmacro -%}

{#- The property that tells models downstream of a run that wrote. -#}
{%- macro _property_of_run(run) -%}
    {{ return({'spark_cdc.last_run': run.batch} if run.call.builds == 'events' else {}) }}
{%- endmacro -%}

{#- Writes properties without writing rows. -#}
{%- macro _store_properties(run, properties) -%}
    {%- call statement('properties') -%}
alter {{ run.format.kind }} {{ run.target }} set tblproperties ({{ spark_cdc._property_list(properties) }})
    {%- endcall -%}
    {%- do run.properties.update(properties) -%}
{%- endmacro -%}
