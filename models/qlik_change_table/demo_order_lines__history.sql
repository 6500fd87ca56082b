{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.history(ref('demo_order_lines__changes'), key=['order_id', 'line_no']) }}
