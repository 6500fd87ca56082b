{#- The backlog of a log. -#}
{{ spark_cdc.netiq_backlog(
    source('netiq_event_log', 'keys_log'), driver_user='idm', as_of='2024-03-01 12:00:00', source_timezone='Europe/Berlin'
) }}
