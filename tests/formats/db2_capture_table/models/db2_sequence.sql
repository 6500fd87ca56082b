{#- Sequences in each landed form, converted to their canonical form. -#}
{%- for table in ('sequences_text', 'sequences_binary', 'sequences_decimal') %}
{%- set sequences = source('db2_capture_table', table) %}
{%- set types = spark_cdc.columns_of(sequences) -%}
{{ '\nunion all\n' if not loop.first -}}
select
    vector,
    {{ (spark_cdc._db2_sequence('sequence', types.sequence) if execute else 'null') | indent(4) }} as canonical
from {{ sequences }}
{%- endfor %}
