{#- What became of raw rows: what the one select of a decoder gives for events, for quarantine and for counts. -#}

{#- The columns that say what became of a raw row: a dict of name -> type.

      cdc_kind      event; refused: it is in quarantine; no_op: it is documented that it changes nothing; used: a part of events
                    that count no raw rows themselves
      cdc_reason    why a row is refused, or no_op: one word
      cdc_detail    of a refused row, for people
      cdc_raw       of a refused row, the raw row as JSON. NULL: it is counted, and another row says why it is refused
      cdc_raw_rows  how many raw rows this row stands for. A refused row is in quarantine as often, and at least once -#}
{%- macro _outcome_columns() -%}
    {{ return({
        'cdc_source': 'string', 'cdc_kind': 'string', 'cdc_reason': 'string', 'cdc_detail': 'string', 'cdc_raw': 'string',
        'cdc_raw_rows': 'bigint',
    }) }}
{%- endmacro -%}

{#- What `select_events` takes if a decoder gives no other values: a row with a reason is refused, and each row stands for one. -#}
{%- macro _outcome_by_default(spec, values) -%}
    {%- set reason = values.get('cdc_reason') -%}
    {{ return({
        'cdc_kind': "if(" ~ reason ~ " is null, 'event', 'refused')" if reason else "'event'",
        'cdc_raw': 'case\n    when ' ~ reason ~ ' is not null\n        then '
            ~ spark_cdc._of_quarantine(spec, spark_cdc.raw_json(spec.raw_columns)) | indent(8) ~ '\nend' if reason else none,
    }) }}
{%- endmacro -%}

{#- A select of what became of the rows of a relation, for quarantine and counts. `values` is a dict of outcome columns -> SQL. -#}
{%- macro _select_outcomes(spec, values, relation) -%}
    {%- set given = {'cdc_source': spark_cdc._literal(spec.decoder.split('.') | last), 'cdc_raw_rows': '1L'} -%}
select
    {%- for name, data_type in spark_cdc._outcome_columns().items() %}
    {%- set value = values.get(name) or given.get(name) or 'cast(null as ' ~ data_type ~ ')' %}
    {{ (value if value == name else value ~ ' as ' ~ name) | indent(4) }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ relation }}
{%- endmacro -%}

{#- The same after a select of events, for rows that are no events; nothing where they are not asked for. -#}
{%- macro _and_outcomes(spec, values, relation, condition=none) -%}
    {%- if spec.builds != 'events' and not (spec.builds == 'quarantine' and values.cdc_kind == "'no_op'") %}

union all
{{ spark_cdc._select_outcomes(spec, values, relation) }}
        {%- if condition %}
where {{ condition }}
        {%- endif %}
    {%- endif -%}
{%- endmacro -%}

{#- SQL of a text that only quarantine shows; elsewhere NULL, which keeps the SQL of events and counts short. -#}
{%- macro _of_quarantine(spec, text) -%}
    {{ return(text if spec.builds == 'quarantine' else 'cast(null as string)') }}
{%- endmacro -%}


{#- The select of a call of a decoder: of its events, its quarantine, or its counts. What a model has kept are its events. -#}
{%- macro _select_of_decoder(builds, spec) -%}
    {%- set outcomes = spark_cdc._part_of_decoder(builds, 'outcomes', spec.decoder) -%}
    {%- if builds == 'events' -%}{{ return(outcomes(dict(spec, builds=builds))) }}{%- endif -%}
    {%- set spec = dict(spec, builds=builds, built=none, new_rows=none) -%}
    {{ return((spark_cdc._quarantine_of if builds == 'quarantine' else spark_cdc._raw_counts_of)(spec, outcomes(spec))) }}
{%- endmacro -%}

{%- macro _quarantine_of(spec, outcomes) -%}
select
    cdc_source,
    cdc_reason as reason,
    cdc_detail as detail,
    cdc_raw as raw
from (
    {{ outcomes | indent(4) }}
) as outcomes
    lateral view explode(array_repeat(1, greatest(cast(cdc_raw_rows as int), 1))) deliveries as cdc_delivery
where
    cdc_kind = 'refused'
    and cdc_raw is not null
{%- endmacro -%}

{#- Raw rows are counted where they were delivered, and each kind where the decoder says it. -#}
{%- macro _raw_counts_of(spec, outcomes) -%}
    {%- set delivered = [spec.relation] -%}
    {%- for input in spec.quarantined_inputs or [] -%}{%- do delivered.append(spec.inputs[input]) -%}{%- endfor -%}
    {%- set numbers = [] -%}
    {%- for relation in delivered -%}
        {%- set condition = ' where ' ~ spec.is_delivered if loop.first and spec.is_delivered else '' -%}
        {%- do numbers.append('(select count(*) from ' ~ relation ~ condition ~ ')') -%}
    {%- endfor -%}
    {%- set sums = {'used_rows': ['event', 'used'], 'no_op_rows': ['no_op'], 'quarantined_rows': ['refused']} -%}
select
    {{ numbers | join(' + ') }} as raw_rows,
    {%- for name, kinds in sums.items() %}
    coalesce(sum(if(cdc_kind in ('{{ kinds | join("', '") }}'), cdc_raw_rows, 0L)), 0L) as {{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    {{ outcomes | indent(4) }}
) as outcomes
where cdc_raw_rows > 0
{%- endmacro -%}
