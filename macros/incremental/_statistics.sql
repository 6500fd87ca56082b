{#- The columns by which files are skipped. Results never depend on them. -#}

{#- Properties that make a table format store each file's range of the columns `asked`. Runs filter by these columns, and
    skip files that cannot match. `others` are columns of which a format may store ranges as well. Both are dicts of name ->
    type. -#}
{%- macro _statistics(run, asked, others) -%}
    {{ return(spark_cdc._of_format(run.file_format, 'statistics')(asked, others)) }}
{%- endmacro -%}

{#- These properties for the model: its own runs, and runs of models built on it, filter by these columns. -#}
{%- macro _statistics_of_model(run) -%}
    {%- set call = run.call -%}
    {%- if not run.format.has_ranges -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set asked, others = {
        'events': [
            {'cdc_sequence': 'string', 'cdc_commit_sequence': 'string', 'cdc_batch': 'string'},
            {'cdc_commit_at': 'timestamp'},
        ],
        'current_state': [{'cdc_commit_sequence': 'string'}, {'cdc_commit_at': 'timestamp'}],
        'raw_log': [{'cdc_batch': 'string'}, {}],
        'history': [
            {'cdc_valid_from_sequence': 'string', 'cdc_valid_to_sequence': 'string', 'cdc_is_current': 'boolean'},
            {'cdc_valid_from': 'timestamp', 'cdc_valid_to': 'timestamp'},
        ],
    }[call.builds] -%}
    {%- if call.builds == 'raw_log' -%}
        {%- set of_rows = spark_cdc._asked_of_raw_rows(run) -%}
        {{ return(spark_cdc._statistics(run, dict(asked, **of_rows.asked), of_rows.others)) }}
    {%- endif -%}
    {%- set table = call.spec or call.table -%}
    {%- set types = table.columns if table.columns is mapping else spark_cdc.columns_of(call.changes) -%}
    {%- for name in table.columns -%}
        {%- do (asked if name in table.key else others).update({name: types[name]}) -%}
    {%- endfor -%}
    {{ return(spark_cdc._statistics(run, asked, others)) }}
{%- endmacro -%}

{#- These properties for the stored raw rows: runs filter by the group and by the watermark. -#}
{%- macro _statistics_of_raw(run) -%}
    {%- set of_rows = spark_cdc._asked_of_raw_rows(run) -%}
    {{ return(spark_cdc._statistics(run, dict({'cdc_group': 'string'}, **of_rows.asked), of_rows.others)) }}
{%- endmacro -%}

{%- macro _asked_of_raw_rows(run) -%}
    {%- set spec, watermark, asked = run.call.spec, run.raw_watermark, {} -%}
    {%- for name in ([watermark.column] + watermark.within if watermark else []) -%}
        {%- do asked.update({name: spec.raw_columns[name]}) -%}
    {%- endfor -%}
    {#- a format may have no ranges for a char, and a raw column that was added later can be one -#}
    {%- set others = {} -%}
    {%- for name, data_type in spec.raw_columns.items() if not (data_type | lower).startswith('char(') -%}
        {%- do others.update({name: data_type}) -%}
    {%- endfor -%}
    {{ return({'asked': asked, 'others': others}) }}
{%- endmacro -%}
