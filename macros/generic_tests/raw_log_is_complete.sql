{#- A raw log has every row of its landing below its watermark. See _generic_tests.yml. -#}
{%- test raw_log_is_complete(model, landing=none) -%}
{%- for relation in (model, landing) if execute and relation is not none and spark_cdc._test_is_untold(relation) -%}
    {{ return(spark_cdc._untold(relation)) }}
{%- endfor -%}
{%- if execute -%}
{{ spark_cdc._unread_rows('raw_log_is_complete', model, landing) }}
{%- endif -%}
{%- endtest -%}
