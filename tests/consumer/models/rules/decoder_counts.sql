{{ spark_cdc.raw_counts('qlik_change_table', source('rules', 'raw'), key=['id']) }}
