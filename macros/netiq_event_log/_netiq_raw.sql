{#- The columns of a raw row of the event log, by the layout of the log. -#}

{#- A text of the log as a value of its column; NULL if it is not exactly a value of the type. Strings are as logged, binary is
    base64, and times may have Db2's form. -#}
{%- macro _netiq_value(text, data_type) -%}
    {{ return(spark_cdc._typed_once(text, data_type, ['dots', 'base64'])) }}
{%- endmacro -%}

{#- A column of the log. Texts are compared by their bytes, whatever their collation. -#}
{%- macro _netiq_raw(spec, name) -%}
    {%- set column = spec.layout[name] -%}
    {{ return(spark_cdc._bytewise(spark_cdc._quote(column), spec.raw_columns[column])) }}
{%- endmacro -%}

{#- Its type, without a collation. -#}
{%- macro _netiq_raw_type(spec, name) -%}
    {{ return(modules.re.sub('(?i) collate .*', '', spec.raw_columns[spec.layout[name]])) }}
{%- endmacro -%}

{#- A number of the log, decimal(38, 0); NULL if it is not a whole number. -#}
{%- macro _netiq_raw_number(spec, name) -%}
    {{ return(spark_cdc._typed(spark_cdc._netiq_raw(spec, name), spark_cdc._netiq_raw_type(spec, name), 'decimal(38, 0)')) }}
{%- endmacro -%}

{%- macro _netiq_raw_record_id(spec) -%}
    {{ return(spark_cdc._netiq_raw_number(spec, 'record_id')) }}
{%- endmacro -%}

{#- The local time of an event, as a timestamp that shows it in UTC. -#}
{%- macro _netiq_raw_time(spec) -%}
    {{ return(spark_cdc._typed(spark_cdc._netiq_raw(spec, 'event_time'), spark_cdc._netiq_raw_type(spec, 'event_time'), 'timestamp', ['dots'])) }}
{%- endmacro -%}

{#- The literal of a local time, in the same form. -#}
{%- macro _netiq_time_literal(text) -%}
    {{ return("timestamp '" ~ text ~ "Z'") }}
{%- endmacro -%}

{#- The name of a row's table, without its schema. -#}
{%- macro _netiq_raw_table(spec) -%}
    {{ return("lower(trim(substring_index(" ~ spark_cdc._netiq_raw(spec, 'table_name') ~ ", '.', -1)))") }}
{%- endmacro -%}

{#- Whether a row belongs to the table, or has no table name. The name is evaluated once for each row. -#}
{%- macro _netiq_is_of_table(spec) -%}
    {{ return('coalesce(' ~ spark_cdc._netiq_raw_table(spec) ~ ", '') in (" ~ spark_cdc._literal(spec.table) ~ ", '')") }}
{%- endmacro -%}

{#- The ten columns as they are read. XDS documents also need the names as the log spells them. -#}
{%- macro _netiq_raw_columns(spec) -%}
{{ spark_cdc._netiq_raw_record_id(spec) }} as cdc_record_id,
rtrim({{ spark_cdc._netiq_raw(spec, 'status') }}) as cdc_status,
try_cast({{ spark_cdc._netiq_raw_number(spec, 'event_type') }} as int) as cdc_event_type,
{{ spark_cdc._netiq_raw_time(spec) }} as cdc_event_time,
{{ spark_cdc._netiq_raw(spec, 'perpetrator') }} as cdc_perpetrator,
{{ spark_cdc._netiq_raw_table(spec) }} as cdc_table,
{{ spark_cdc._netiq_raw(spec, 'table_key') }} as cdc_object,
lower(trim({{ spark_cdc._netiq_raw(spec, 'column_name') }})) as cdc_column,
{{ spark_cdc._netiq_raw(spec, 'old_value') }} as cdc_old_value,
{{ spark_cdc._netiq_raw(spec, 'new_value') }} as cdc_new_value,
{{ spark_cdc._netiq_raw(spec, 'event_time') }} is null as cdc_has_no_time
{%- if spec.is_spelled %},
struct(
    trim(substring_index({{ spark_cdc._netiq_raw(spec, 'table_name') }}, '.', -1)) as cdc_table_name,
    trim({{ spark_cdc._netiq_raw(spec, 'column_name') }}) as cdc_column_name
) as cdc_spelled
{%- endif %}
{%- endmacro -%}
