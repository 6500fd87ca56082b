-- what a reader has that keeps the last value of each key
with feed as (
    {{ spark_cdc.change_feed(source('apply', 'changes'), key=['id'], keyed=true) | indent(4) }}
),

placed as (
    select
        *,
        row_number() over (
            partition by key
            order by cdc_commit_sequence desc, cdc_sequence desc, cdc_step desc
        ) as place
    from feed
)

select
    key.id,
    value.after.a
from placed
where place = 1 and value is not null
