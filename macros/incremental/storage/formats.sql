{#- The table formats in which a model can be stored. Each has a file in this folder, which alone says what is special to it.
    The other files call its macros through `_of_format`. A new format is a name in `_table_formats` and a file with these
    macros, whose names begin with an underscore and the format:

      facts()                               what other files ask about the format, a dict:
        kind                                  what a model is in the metastore: a table, or a view over one
        create                                how the statement begins that creates a table
        splits_history                        whether a history is partitioned by cdc_is_current
        has_ranges                            whether `statistics` has an effect
        keeps_empty_text                      whether a text column that partitions a table can have ''
        keeps_char                            whether a char is still one in a table written from another table
        places_columns                        whether a new column can be added at any place
      check(call)                           stops for what a model of this format cannot have
      replaces(existing)                    whether `store_all` can replace this relation, which is not of this package
      begin(run)                            what a run of an existing model does first
      table_properties(run, is_model, is_split)   the properties of a new table; `is_split`: it is partitioned by cdc_is_current
      options(given)                        the options of a new table; `given` are those of the model's config
      statistics(asked, others)             properties for ranges of columns, see _statistics.sql
      type_as_stored(data_type)             a type as a table of this format has it, for comparison
      type_as_kept(data_type)               the type with which a raw column is stored
      version(relation)                     the version of a table
      was_written(relation, version)        whether the rows of a table changed after a version; maintenance does not change rows
      store_all(run, sql, properties)       builds the model from a select
      store_increment(run, increment, names, same, changed, prune)
                                            changes the model, see `_store_increment`; `names` are its columns, quoted, and
                                            `same` is the condition that two rows have one identity
      append_raw_rows(run, names, new_rows) adds the rows of a select to the stored raw rows
      append_to_log(run, names, new_rows, properties)   the same for a raw log; `properties` are written after it
      follow_columns(run)                   shows columns that were added to the table of a raw log -#}

{%- macro _table_formats() -%}
    {{ return(['parquet', 'iceberg', 'delta']) }}
{%- endmacro -%}

{#- The macro of this name that a format has. -#}
{%- macro _of_format(file_format, name) -%}
    {{ return(spark_cdc._macros_of('spark_cdc')['_' ~ file_format ~ '_' ~ name]) }}
{%- endmacro -%}

{#- The format that the model's config asks for. -#}
{%- macro _file_format() -%}
    {%- set file_format = config.get('file_format', 'parquet') -%}
    {%- if file_format not in spark_cdc._table_formats() -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'file_format is ' ~ file_format, 'parquet, iceberg or delta',
            "config(materialized='cdc_incremental', file_format='iceberg')"
        ) }}
    {%- endif -%}
    {{ return(file_format) }}
{%- endmacro -%}
