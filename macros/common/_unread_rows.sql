{#- The rows of a landing that no run of a raw log reads: they are below its watermark, and were not there when it passed. -#}

{#- A select with one row for each value of the watermark of which the landing has more rows than the log: the columns of
    `within`, cdc_value, cdc_landed and cdc_read. Values from the last one on are left to the next run. A raw log that is a view
    reads all rows, but not before the time of their batch: then these are the batches more than a day in the future. -#}
{%- macro _unread_rows(me, log, landing) -%}
    {%- set example = "raw_log_is_complete: {arguments: {landing: source('erp', 'orders__ct')}}" -%}
    {%- set found = spark_cdc._raw_log_of(spark_cdc._tested_relation(log)) -%}
    {%- if found is none or found.views -%}
        {{ spark_cdc._stop(me, log ~ ' is no raw log', 'a model whose body is one call of raw_log', example) }}
    {%- elif not found.is_stored -%}
        {{ return(spark_cdc._waiting_batches(log)) }}
    {%- endif -%}
    {%- set node = spark_cdc._node_of(found.relation) -%}
    {%- set kept = spark_cdc._raw_columns_in(log) -%}
    {%- set watermark = spark_cdc._watermark_of(node.config.raw_watermark, kept) -%}
    {%- if watermark is none or not landing -%}
        {{ spark_cdc._stop(
            me, log ~ (' has no raw_watermark, so each run reads all rows' if watermark is none else ' keeps its rows, and landing is missing'),
            'a raw log with the config raw_watermark, and its landing', example
        ) }}
    {%- endif -%}
    {%- set there = spark_cdc.columns_of(landing) | list -%}
    {%- do spark_cdc._resolve_names(me, 'the raw_watermark of ' ~ node.name, [watermark.column] + watermark.within, there, example) -%}
    {%- set within = spark_cdc._column_list(watermark.within) ~ ', ' if watermark.within else '' -%}
    {%- set column = spark_cdc._quote(watermark.column) -%}
    {%- set of_last, of_read = [], [] -%}
    {%- for name in watermark.within -%}
        {%- set part = spark_cdc._quote(name) -%}
        {%- do of_last.append('landed_values.' ~ part ~ ' <=> last_values.' ~ part) -%}
        {%- do of_read.append('landed_values.' ~ part ~ ' <=> read_values.' ~ part) -%}
    {%- endfor -%}
with landed_values as (
    select
        {{ within }}cast({{ column }} as {{ watermark.type }}) as cdc_value,
        count(*) as cdc_landed
    from {{ landing }}
    where {{ column }} is not null
    group by {{ within }}{{ column }}
),

read_values as (
    select
        {{ within }}{{ column }} as cdc_value,
        count(*) as cdc_read,
        max({{ spark_cdc._believed_watermark(column, watermark.type, true) }}) as cdc_believed
    from {{ spark_cdc._rows_delivered_to(log, kept) }}
    where {{ column }} is not null
    group by {{ within }}{{ column }}
),

last_values as (
    select
        {{ within }}max(cdc_believed) as cdc_last
    from read_values
    {{ 'group by ' ~ within[:-2] if within }}
)

select
    {{ spark_cdc._column_list(watermark.within, 'landed_values.') ~ ',\n    ' if within }}landed_values.cdc_value,
    cdc_landed,
    coalesce(cdc_read, 0) as cdc_read
from landed_values
inner join last_values
    on
        {{ (of_last + ['landed_values.cdc_value < last_values.cdc_last']) | join('\nand ') | indent(8) }}
left join read_values
    on
        {{ (of_read + ['landed_values.cdc_value = read_values.cdc_value']) | join('\nand ') | indent(8) }}
where cdc_landed > coalesce(cdc_read, 0)
{%- endmacro -%}

{%- macro _waiting_batches(log) -%}
    {%- set types = [] -%}
    {%- for name, data_type in spark_cdc.columns_of(log).items() if name | lower == 'cdc_batch' -%}{%- do types.append(data_type) -%}{%- endfor -%}
    {%- set is_waiting = 'cdc_batch is not null and ' ~ spark_cdc._believed_watermark('cdc_batch', types[0], false) ~ ' is null' -%}
select
    cdc_batch as cdc_value,
    count(*) as cdc_landed,
    0L as cdc_read
from {{ log }}
where
    {{ is_waiting }}
group by cdc_batch
{%- endmacro -%}
