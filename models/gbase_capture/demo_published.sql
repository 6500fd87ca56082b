{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.current_state(ref('demo_published__changes'), key=['c1']) }}
