{{ config(raw_watermark='header__change_seq') }}
{{ spark_cdc.qlik_change_table(source('landing', 'raw'), key=['order_id']) }}
