{#- The fewest header columns, behind a prefix in capitals; the mask counts two that were deselected here. -#}
{{ spark_cdc.qlik_change_table(source('qlik_change_table', 'raw_reduced'), key=['id'], header_prefix='HDR_', header_columns=5) }}
