{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.qlik_change_table(ref('demo_measurements__ct'), key=['measurement_id']) }}
