{#- Types that Spark knows, in its own spelling. -#}
{%- for data_type in [
    'boolean', 'TINYINT', 'byte', 'smallint', 'short', 'int', 'INTEGER', 'bigint', 'long', 'float', 'real',
    'double', 'decimal', 'dec(5)', 'NUMERIC( 38 , 38 )', 'string', 'string collate utf8_lcase',
    'string collate system.builtin.unicode', 'char( 3 )', 'character(3)', 'varchar(10)', 'binary', 'date',
    'timestamp', 'timestamp_ltz', 'timestamp_ntz', 'timestamp without time zone', 'interval year to month',
    'interval month', 'interval day to second', 'interval hour to  minute', 'array < int >',
    'array<array<decimal(5,2)>>', 'struct<>', 'struct<a int, b: string not null comment \'of a row\'>',
    'struct<`a, b<`: struct<c: array<string>>, `x``y`: int>', 'map<string, array<int>>'
] %}
{{- '-- sqlfluff does not read all of these types, nor how they may be written\n-- noqa: disable=all' if loop.first else '\nunion all' }}
select
    {{ loop.index }} as place,
    typeof(cast(null as {{ data_type }})) is not null as is_type,
    {{ spark_cdc._literal(spark_cdc._unknown_in_type(data_type) or '') }} as unknown_part
{%- endfor %}
