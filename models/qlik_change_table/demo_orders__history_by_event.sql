{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.history(ref('demo_orders__changes'), key=['order_id'], granularity='event') }}
