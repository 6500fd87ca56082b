{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.qlik_change_table(ref('demo_customers__ct'), key=['customer_id'], header_prefix='ct_') }}
