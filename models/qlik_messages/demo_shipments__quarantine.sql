{{ config(
    enabled=project_name == 'spark_cdc',
    materialized='cdc_incremental',
    raw_watermark={'column': 'offset', 'within': ['topic', 'partition']}
) -}}

{{ spark_cdc.quarantine(of=ref('demo_shipments__changes')) }}
