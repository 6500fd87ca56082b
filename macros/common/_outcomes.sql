{#- What became of raw rows: the one select of a decoder, and what events, quarantine and counts take from it. -#}

{#- The columns that say what became of a raw row: a dict of name -> type.

      cdc_kind      event; refused: it is in quarantine; no_op: it is documented that it changes nothing; used: a part of events
                    that count no raw rows themselves
      cdc_reason    why a row is refused, or no_op: one word
      cdc_detail    of a refused row, for people
      cdc_raw       of a refused row, the raw row as JSON. NULL: it is counted, and another row says why it is refused
      cdc_raw_rows  how many raw rows this row stands for. A refused row is in quarantine as often, and at least once -#}
{%- macro _outcome_columns() -%}
    {{ return({
        'cdc_kind': 'string', 'cdc_reason': 'string', 'cdc_detail': 'string', 'cdc_raw': 'string', 'cdc_raw_rows': 'bigint',
    }) }}
{%- endmacro -%}

{#- The columns that the select of a decoder has before those of the table: a dict of name -> type. For events what became of a row
    is its kind. For quarantine and counts (`spec.is_of_rest`) there are no columns of events, nor of the table. -#}
{%- macro _columns_of_outcomes(spec) -%}
    {%- if spec.is_of_rest -%}{{ return(dict({'cdc_source': 'string'}, **spark_cdc._outcome_columns())) }}{%- endif -%}
    {{ return(dict(spark_cdc._event_columns(), cdc_kind='string')) }}
{%- endmacro -%}

{#- What `select_events` takes if a decoder gives other values: a row with a reason is refused, and each row stands for one. -#}
{%- macro _outcome_by_default(spec, values) -%}
    {%- set reason = values.get('cdc_reason') -%}
    {{ return({
        'cdc_kind': "if(" ~ reason ~ " is null, 'event', 'refused')" if reason else "'event'",
        'cdc_raw': 'case\n    when ' ~ reason ~ ' is not null\n        then '
            ~ spark_cdc._unless_counted(spec, spark_cdc.raw_json(spec.raw_columns)) | indent(8) ~ '\nend' if reason else none,
        'cdc_raw_rows': '1L',
    }) }}
{%- endmacro -%}

{#- A select of rows without an event, with the columns that `select_events` gives. `values` is a dict of outcome columns -> SQL. -#}
{%- macro _select_without_event(spec, values, relation) -%}
    {%- set values = dict({'cdc_source': spark_cdc._literal(spec.decoder.split('.') | last), 'cdc_raw_rows': '1L'}, **values) -%}
select
    {%- for name, data_type in spark_cdc._columns_of_outcomes(spec).items() %}
    {%- set value = values.get(name) or ('cast(null as ' ~ data_type ~ ')' if name in spark_cdc._outcome_columns() else 'null') %}
    {{ (value if value == name else value ~ ' as ' ~ name) | indent(4) }}{{ ',' if not loop.last or not spec.is_of_rest }}
    {%- endfor %}
    {%- for name in spec.columns if not spec.is_of_rest %}
    null as {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ relation }}
{%- endmacro -%}


{#- SQL of a text that is for people; NULL where rows are counted only. A view with counts has a limited length. -#}
{%- macro _unless_counted(spec, text) -%}
    {{ return('cast(null as string)' if spec.is_counted else text) }}
{%- endmacro -%}


{#- The select of a call of a decoder: of its events, its quarantine, or its counts. What a model has kept are its events. -#}
{%- macro _select_of_decoder(builds, spec) -%}
    {%- set outcomes = spark_cdc._part_of_decoder(builds, 'outcomes', spec.decoder) -%}
    {%- set select = {
        'events': spark_cdc._events_of, 'quarantine': spark_cdc._quarantine_of, 'raw_counts': spark_cdc._raw_counts_of,
    }[builds] -%}
    {%- if builds != 'events' -%}
        {%- set spec = dict(spec, built=none, new_rows=none, is_of_rest=true, is_counted=builds == 'raw_counts') -%}
    {%- endif -%}
    {{ return(select(spec, outcomes(spec))) }}
{%- endmacro -%}

{%- macro _events_of(spec, outcomes) -%}
select
    {{ spark_cdc._event_columns() | join(',\n    ') }},
    {{ spark_cdc._column_list(spec.columns) | replace(', ', ',\n    ') }}
from (
    {{ outcomes | indent(4) }}
) as outcomes
where cdc_kind = 'event'
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
