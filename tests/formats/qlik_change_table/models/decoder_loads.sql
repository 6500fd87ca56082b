{{ spark_cdc.qlik_change_table(
    source('qlik_change_table', 'raw'), key=['id', 'note'], null_keys=true,
    full_load=source('qlik_change_table', 'loaded'), full_load_at='at'
) }}
