{{ config(enabled=project_name == 'spark_cdc', materialized='view') -}}

select
    header__change_seq,
    header__change_oper,
    unhex(header__change_mask) as header__change_mask,
    header__stream_position,
    header__operation,
    header__transaction_id,
    header__timestamp,
    order_id,
    line_no,
    product,
    quantity,
    price
from {{ ref('demo_order_lines__ct') }}
