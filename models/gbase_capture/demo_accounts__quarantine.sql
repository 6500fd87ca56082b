{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.quarantine(
    'gbase_capture',
    ref('demo_accounts__raw'),
    table_id=7,
    key=['id'],
    columns={
        'id': 'int',
        'owner': 'string',
        'balance': 'decimal(12, 2)',
        'opened': 'date',
        'changed_at': 'timestamp',
        'active': 'boolean'
    }
) }}
