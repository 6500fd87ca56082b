{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.as_of(ref('demo_orders__history'), at='2026-03-02T08:30:00Z') }}
