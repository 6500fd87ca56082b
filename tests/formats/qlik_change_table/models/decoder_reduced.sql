{#- The fewest header columns, with a prefix in capitals; the mask counts two that were deselected here. -#}
{%- set relation = source('qlik_change_table', 'raw_reduced') -%}
{{ spark_cdc.qlik_change_table(relation, key=['id'], header_prefix='HDR_', header_columns=5) }}
