{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.netiq_event_log(
    ref('demo_identities__log'),
    table='grp',
    key=['gid'],
    columns={'gid': 'int', 'gname': 'string'},
    as_of='2026-06-01 00:00:00',
    source_timezone='Europe/Berlin'
) }}
