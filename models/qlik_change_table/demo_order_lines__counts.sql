{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.raw_counts(
    'qlik_change_table',
    ref('demo_order_lines__raw'),
    key=['order_id', 'line_no']
) }}
