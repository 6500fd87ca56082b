select
    *,
    to_json(quarantined_by_reason) as reasons,
    array_join(
        transform(
            examples,
            one -> concat_ws(
                ' ',
                one.reason,
                one.detail,
                if(one.raw like 'r%', one.raw, cast(length(one.raw) as string))
            )
        ),
        ', '
    ) as shown,
    lag_seconds = unix_timestamp(checked_at) - unix_timestamp(last_commit_at) as lag_fits
from (
    {{ spark_cdc.health({
        'orders': {
            'changes': source('health', 'orders__changes'),
            'key': ['ID'],
            'quarantine': source('health', 'orders__quarantine'),
            'counts': source('health', 'orders__counts')
        },
        'orders without key': source('health', 'orders__changes'),
        'lines': {'changes': source('health', 'lines__changes'), 'key': ['a', 'b'], 'null_keys': true},
        'log': {
            'changes': source('health', 'log__changes'),
            'key': ['id'],
            'quarantine': source('health', 'log__quarantine')
        },
        'collated': {'changes': source('health', 'collated__changes'), 'key': ['id']}
    }) | indent(4) }}
) as rows_of_health
