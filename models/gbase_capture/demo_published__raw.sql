{{ config(enabled=project_name == 'spark_cdc', materialized='view') -}}

select
    capture_id,
    chunk_number,
    unhex(payload) as payload,
    shows
from {{ ref('demo_published__chunks') }}
