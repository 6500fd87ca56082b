{{ spark_cdc.qlik_change_table(
    source('qlik_change_table', 'raw_landed'), key=['id'], columns={'id': 'bigint', 'name': 'string', 'note': 'string'},
    mask_columns=['ID', 'name', 'dropped', 'note'], qlik_sparse_updates=['note']
) }}
