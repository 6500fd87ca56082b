{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.db2_log_table(
    ref('demo_articles__log'),
    key=['article', 'language'],
    base=ref('demo_articles__base'),
    columns={'article': 'int', 'language': 'string', 'title': 'string', 'pages': 'int', 'seen_at': 'timestamp'},
    source_timezone='Europe/Berlin'
) }}
