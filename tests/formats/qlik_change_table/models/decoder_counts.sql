{{ spark_cdc.raw_counts('qlik_change_table', source('qlik_change_table', 'raw'), key=['id']) }}
