{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.history(
    ref('demo_measurements__changes'),
    key=['measurement_id'],
    columns=['station', 'value_01', 'value_68']
) }}
