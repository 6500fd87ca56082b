{#- Whether a relation delivers to its raw log what it delivered to the run before. Then nothing is written, and no lock is taken.

    The property spark_cdc.delivered has the generation of the log, the number of rows that its last run was given and, if that
    run found no new ones, their checksum. -#}

{#- Whether this run is given the rows that the run before was given, which are all in the log. -#}
{%- macro _was_delivered(run) -%}
    {%- set noted = spark_cdc._delivered_to_the_run_before(run) -%}
    {%- if noted | length != 4 or noted[0] != run.properties['spark_cdc.generation'] -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set kept = spark_cdc._raw_columns_kept(run) -%}
    {%- set changed = spark_cdc._changed_raw_columns(run, kept) -%}
    {%- if changed.added or changed.widened -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set delivered = spark_cdc._delivered(
        run, spark_cdc._as_kept_in_log(run, kept) ~ ' as cdc_rows\n' ~ spark_cdc._since_watermark(run)
    ) -%}
    {%- do run.update({'delivered': spark_cdc._delivered_now(run, delivered, noted)}) -%}
    {{ return(run.delivered == noted | join(' ')) }}
{%- endmacro -%}

{#- The property about the rows that a run is given. It is taken before the run looks for new rows, since more may land
    meanwhile. After a run with new rows their number is asked first. If it has changed, there is no checksum. -#}
{%- macro _delivered_now(run, delivered, noted) -%}
    {%- set generation = run.properties['spark_cdc.generation'] -%}
    {%- if noted | length == 2 and noted[0] == generation -%}
        {%- set number = run_query('select count(*) from (\n' ~ delivered ~ '\n) as delivered').rows[0][0] | string -%}
        {%- if number != noted[1] -%}
            {{ return(generation ~ ' ' ~ number) }}
        {%- endif -%}
    {%- endif -%}
    {%- set found = run_query(
        'select count(*), sum(cast(cdc_hash_1 as decimal(38, 0))), sum(cast(cdc_hash_2 as decimal(38, 0))) from (\n'
        ~ delivered ~ '\n) as delivered'
    ).rows[0] -%}
    {{ return(generation ~ ' ' ~ found | join(' ')) }}
{%- endmacro -%}

{#- What the run before noted: the generation, the number of rows and two sums. -#}
{%- macro _delivered_to_the_run_before(run) -%}
    {{ return((run.properties.get('spark_cdc.delivered') or '').split(' ')) }}
{%- endmacro -%}
