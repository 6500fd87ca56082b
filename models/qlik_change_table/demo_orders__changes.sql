{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.qlik_change_table(ref('demo_orders__ct'), key=['order_id']) }}
