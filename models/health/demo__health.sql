{{ config(
    enabled=project_name == 'spark_cdc',
    materialized='incremental',
    incremental_strategy='append',
    on_schema_change='fail'
) -}}

{{ spark_cdc.health({
    'orders': {
        'changes': ref('demo_orders__changes'),
        'key': ['order_id'],
        'quarantine': ref('demo_orders__quarantine'),
        'counts': ref('demo_orders__counts')
    },
    'accounts': {
        'changes': ref('demo_accounts__changes'),
        'key': ['id'],
        'quarantine': ref('demo_accounts__quarantine'),
        'counts': ref('demo_accounts__counts')
    },
    'users': {
        'changes': ref('demo_users__changes'),
        'key': ['idu'],
        'quarantine': ref('demo_users__quarantine')
    },
    'articles': ref('demo_articles__changes')
}) }}
