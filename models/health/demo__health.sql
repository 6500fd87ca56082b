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
    'invoices': {
        'changes': ref('demo_invoices__changes'),
        'key': ['INVOICE_ID'],
        'quarantine': ref('demo_invoices__quarantine'),
        'counts': ref('demo_invoices__counts')
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
        'quarantine': ref('demo_users__quarantine'),
        'counts': ref('demo_users__counts')
    },
    'parts': {
        'changes': ref('demo_parts__changes'),
        'key': ['PART_NO'],
        'quarantine': ref('demo_parts__quarantine'),
        'counts': ref('demo_parts__counts')
    },
    'articles': {
        'changes': ref('demo_articles__changes'),
        'quarantine': ref('demo_articles__quarantine'),
        'counts': ref('demo_articles__counts')
    }
}, at='2026-03-02T15:20:00Z') }}
