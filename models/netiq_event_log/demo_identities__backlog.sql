{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.netiq_backlog(
    ref('demo_identities__log'),
    driver_user='idm',
    as_of='2026-06-01 00:00:00',
    source_timezone='Europe/Berlin'
) }}
