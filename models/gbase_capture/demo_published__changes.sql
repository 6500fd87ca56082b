{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.gbase_capture(
    ref('demo_published__raw'),
    table_id=111,
    key=['c1'],
    columns={
        'c1': 'int',
        'c2': 'string'
    }
) }}
