{{ config(
    enabled=project_name == 'spark_cdc',
    materialized='cdc_incremental',
    raw_watermark={'column': 'offset', 'within': ['topic', 'partition']}
) -}}

{{ spark_cdc.qlik_messages_log(ref('demo_erp__messages'), versions=ref('demo_erp__versions')) }}
