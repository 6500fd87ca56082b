{#- The quarantine of a model of change events, which its runs store.

    A run that decodes rows writes the rows that are refused into the table <model>__cdc_quarantine_<run>. The model's
    properties name this table. They are written with the events, so both are of one run. Then the view
    <model>__cdc_quarantine, which `quarantine` reads, is put over it. If a run is killed before that, the next one does it. -#}

{#- Writes the rows of a select, and gives the properties that name the table. -#}
{%- macro _write_quarantine(run, sql) -%}
    {%- set table = spark_cdc._side_table('quarantine_' ~ run.suffix) -%}
    {%- do run_query('create table ' ~ table ~ ' using parquet as\n' ~ sql) -%}
    {{ return({
        'spark_cdc.quarantine': table.identifier, 'spark_cdc.quarantine_before': run.properties.get('spark_cdc.quarantine', '')
    }) }}
{%- endmacro -%}

{#- Puts the view over the table that the model's properties name. -#}
{%- macro _show_quarantine(run) -%}
    {%- do run_query(
        'create or replace view ' ~ spark_cdc._side_table('quarantine') ~ ' as\nselect * from ' ~ spark_cdc._stored_quarantine(run)
    ) -%}
{%- endmacro -%}

{#- The table of the run before. -#}
{%- macro _stored_quarantine(run) -%}
    {{ return(this.incorporate(path={'identifier': run.properties['spark_cdc.quarantine']}, type='table')) }}
{%- endmacro -%}

{#- A select: the quarantine after `rows` were decoded. Their entries before are left out, and their present `entries` are added,
    if they meet a condition. An entry is identified by its raw row alone, which may have several entries. -#}
{%- macro _quarantine_after(run, rows, entries, condition=none) -%}
with decoded_rows as (
    select {{ spark_cdc.raw_json(run.call.spec.raw_columns) | indent(4) }} as cdc_raw
    from {{ rows }}
    {%- for input in run.call.spec.quarantined_inputs or [] %}
    union all
    select {{ spark_cdc.raw_json(spark_cdc._delivered_columns_of_input(run.call.spec, input)) | indent(4) }} as cdc_raw
    from {{ spark_cdc._inputs_of(run, {run.to_decode: none})[input] }}
    {%- endfor %}
)

select stored.*
from {{ spark_cdc._stored_quarantine(run) }} as stored
left anti join decoded_rows
    on stored.raw = decoded_rows.cdc_raw
union all
select
    cdc_source,
    reason,
    detail,
    raw
from (
    {{ entries | indent(4) }}
) as entries
    {%- if condition %}
where {{ condition }}
    {%- endif %}
{%- endmacro -%}

{#- The same after an increment that decoded the rows of affected groups. Rows that are only context keep their entries. -#}
{%- macro _quarantine_after_groups(run, entries) -%}
    {%- set has_context, conditions = run.dependencies.identity, [] -%}
    {%- if has_context -%}{%- do conditions.append('not cdc_is_context') -%}{%- endif -%}
    {%- if run.call.spec.inputs -%}{%- do conditions.append('cdc_input is null') -%}{%- endif -%}
    {{ return(spark_cdc._quarantine_after(
        run, run.to_decode ~ (' where ' ~ conditions | join(' and ') if conditions else ''), entries,
        'raw in (select cdc_raw from decoded_rows)' if has_context else none
    )) }}
{%- endmacro -%}
