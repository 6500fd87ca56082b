{#- Truncates: how many of them come before an effect.

    A key is plain only if its effects come after all truncates of their transactions. So for plain keys only commit sequences
    are compared. A few truncates are compared one by one: a lambda would keep Spark from compiling the steps together. The
    list of truncates is a relation of one row, joined to the effects: Spark copies a scalar subquery to each place that uses
    it. -#}

{#- With more truncates than this, all keys are complex. -#}
{%- macro _few_truncates() -%}{{ return(8) }}{%- endmacro -%}

{#- The CTE `truncates`: one row with the sorted array of the truncates in `relation`. In an increment stored rows that a
    truncate deleted do not count. -#}
{%- macro _truncates(relation, is_increment=false) -%}
-- the truncates in order, as one array: a handful, and most often none
truncates as (
    select
        array_sort(
            collect_list(
                {%- if is_increment %}
                struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation)
                {%- else %}
                case
                    {{ spark_cdc._when_broken(none, is_truncate=true) | indent(20) }}
                    else struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation)
                end
                {%- endif %}
            )
        ) as cdc_list
    from {{ relation }}
    where {{ 'cdc_is_effect and ' if is_increment }}cdc_operation = 'truncate'
)
{%- endmacro -%}

{#- The CTE `narrow_effects`: what _complex_transactions reads of `effects`. cdc_is_truncated says whether truncates make the key
    complex. Then there are too many of them, or the transaction truncates the table after the effect. Or the effect removes
    a row that its transaction has already truncated. -#}
{%- macro _narrow_effects(table) -%}
narrow_effects as (
    select /*+ broadcast(truncates) */
        {{ spark_cdc._column_list(spark_cdc._effect_group(table), 'effects.') }},
        effects.cdc_commit_sequence,
        effects.cdc_row_delta,
        effects.cdc_after,
        size(cdc_list) > {{ spark_cdc._few_truncates() }}
        {%- for number in range(spark_cdc._few_truncates()) %}
        or (
            get(cdc_list, {{ number }}).cdc_commit_sequence = cdc_commit_sequence
            and (get(cdc_list, {{ number }}).cdc_sequence > cdc_sequence or cdc_row_delta < 0)
        )
        {%- endfor %} as cdc_is_truncated
    from effects
    cross join truncates
)
{%- endmacro -%}

{#- The CTE `plain_positions`: the effects in `source` with numbers of truncates. cdc_truncates counts the truncates before the
    effect. No other truncate of its transaction follows, since the key is plain. cdc_truncates_before counts the truncates
    before its transaction. -#}
{%- macro _plain_positions(source, granularity) -%}
plain_positions as (
    select /*+ broadcast(truncates) */
        {{ source }}.*,
        {%- if granularity == 'commit' %}
        {{ spark_cdc._count_few_truncates('<') | indent(8) }} as cdc_truncates_before,
        {%- endif %}
        {{ spark_cdc._count_few_truncates('<=') | indent(8) }} as cdc_truncates
    from {{ source }}
    cross join truncates
)
{%- endmacro -%}

{#- For an effect, joined to `truncates`: how many have a commit sequence that is `<` or `<=` the effect's. -#}
{%- macro _count_few_truncates(comparison) -%}
    {%- for number in range(spark_cdc._few_truncates()) -%}
        {{ '\n+ ' if not loop.first -}}
        if(get(cdc_list, {{ number }}).cdc_commit_sequence {{ comparison }} cdc_commit_sequence, 1, 0)
    {%- endfor -%}
{%- endmacro -%}

{#- For a version, joined to `truncates`: what ends it. This is the next step of its key, or the first truncate if that comes
    before. Of the truncates it has survived cdc_truncates, and cdc_truncates_next come before the next step. -#}
{%- macro _end_of_version() -%}
case
    when cdc_truncates_next = cdc_truncates then cdc_next_step
    else get(cdc_list, cdc_truncates)
end
{%- endmacro -%}

{#- Whether stored change events, or effects of an increment, have a truncate: a read of one column. -#}
{%- macro _has_truncates(events) -%}
    {{ return(run_query('select 1 from ' ~ events ~ " where cdc_operation = 'truncate' limit 1") | length > 0) }}
{%- endmacro -%}

{#- The same for the body of a model that is a table, when it is built. Change events that are not stored would be decoded only
    for this, so they are not asked. -#}
{%- macro _is_known_to_have_truncates(changes) -%}
    {%- if model is not defined or model.config.materialized != 'table' or spark_cdc._are_only_calls_asked()
        or invocation_args_dict.which not in ('run', 'build') or graph.nodes is not defined -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set node, there = spark_cdc._node_of(changes), load_relation(changes) -%}
    {%- set is_stored = there is not none and (not there.is_view or (node is not none and node.config.materialized == 'cdc_incremental')) -%}
    {{ return(is_stored and spark_cdc._has_truncates(changes)) }}
{%- endmacro -%}
