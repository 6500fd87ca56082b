{{ config(enabled=project_name == 'spark_cdc', materialized='view') -}}

select
    topic,
    partition,
    offset,
    timestamp,
    cast(key as binary) as `key`,
    unhex(value) as `value`
from {{ ref('demo_wms__records') }}
