{#- The end of every decoder's macro, and the parts of a decoder. See _macros.yml, and CONTRIBUTING for an example. -#}
{%- macro decode(decoder, spec) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {{ return(spark_cdc._declared(spark_cdc._call_of_decoder('decode', 'events', decoder, spec))) }}
{%- endmacro -%}


{#- A call of a decoder, as `_declared` takes it. The fingerprint covers everything that requires a rebuild. It covers which
    relations the look-ups are, but not their rows. It covers neither `as_of` nor the raw relation and the other inputs: rows of
    another relation are simply new. -#}
{%- macro _call_of_decoder(me, builds, decoder, spec) -%}
    {%- do spark_cdc._part_of_decoder(me, 'outcomes', decoder) -%}
    {%- do spark_cdc._check_spec(me, decoder, spec) -%}
    {%- set data, lookups = {}, {} -%}
    {%- for name, value in spec.items() if name not in ('relation', 'inputs', 'lookups', 'as_of', 'decoder') -%}
        {%- do data.update({name: value}) -%}
    {%- endfor -%}
    {%- for name, relation in (spec.lookups or {}).items() -%}
        {%- do lookups.update({name: relation.schema ~ '.' ~ relation.identifier if relation else none}) -%}
    {%- endfor -%}
    {{ return({
        'builds': builds,
        'decoder': decoder,
        'spec': dict({'inputs': {}, 'lookups': {}, 'as_of': none}, **dict(spec, decoder=decoder, built=none, new_rows=none, answers=none, state=none, decoded=none)),
        'fingerprint_of': dict(data, lookups=lookups),
    }) }}
{%- endmacro -%}

{#- The macro _<part>_<decoder> of a decoder: `name` in this package, or `package.name`. Stops if the macro does not exist;
    gives none instead if it is optional. -#}
{%- macro _part_of_decoder(me, part, decoder, is_optional=false) -%}
    {%- set names = (decoder | string).split('.') -%}
    {%- set package, name = (names[0] if names | length > 1 else 'spark_cdc'), names | last -%}
    {%- set macros = spark_cdc._macros_of(package) if names | length <= 2 else {} -%}
    {%- if '_outcomes_' ~ name not in macros -%}
        {%- set known = [] -%}
        {%- for there in spark_cdc._macros_of('spark_cdc') if there.startswith('_outcomes_') -%}{%- do known.append(there[10:]) -%}{%- endfor -%}
        {{ spark_cdc._stop(
            me, 'decoder is ' ~ decoder ~ ', and the package ' ~ package ~ ' has no macro _outcomes_' ~ name,
            'package.decoder for a decoder of another package, or the name of a decoder: ' ~ known | sort | join(', '),
            "{{ spark_cdc.quarantine('" ~ known | sort | first ~ "', source('erp', 'orders'), key=['order_id']) }}"
        ) }}
    {%- elif '_' ~ part ~ '_' ~ name not in macros and is_optional -%}
        {{ return(none) }}
    {%- elif '_' ~ part ~ '_' ~ name not in macros -%}
        {{ spark_cdc._stop(
            me, 'the decoder ' ~ decoder ~ ' has no macro _' ~ part ~ '_' ~ name,
            'a decoder with the macros _spec_ and _outcomes_, each followed by ' ~ name,
            '{% macro _' ~ part ~ '_' ~ name ~ '(' ~ ('…' if part == 'spec' else 'spec') ~ ') %}'
        ) }}
    {%- endif -%}
    {{ return(macros['_' ~ part ~ '_' ~ name]) }}
{%- endmacro -%}

{#- The spec for the arguments of a decoder's public macro; `quarantine` and `raw_counts` take the same ones. -#}
{%- macro _spec_of(me, decoder, relation) -%}
    {%- set make = spark_cdc._part_of_decoder(me, 'spec', decoder) -%}
    {%- set accepted = spark_cdc._arguments_of(make) -%}
    {%- for name in kwargs if name not in accepted -%}
        {{ spark_cdc._stop(
            me, 'there is an argument ' ~ name, 'the arguments of ' ~ decoder ~ ': ' ~ accepted | join(', '),
            "{{ spark_cdc." ~ me ~ "('" ~ decoder ~ "', source('erp', 'orders'), key=['order_id']) }}"
        ) }}
    {%- endfor -%}
    {{ return(make(relation, *varargs, **kwargs)) }}
{%- endmacro -%}

{#- Stops for a spec that lacks a required part, or has values that are not JSON data. -#}
{%- macro _check_spec(me, decoder, spec) -%}
    {%- set example = "{'relation': relation, 'lookups': {'base': base}, 'raw_columns': spark_cdc.columns_of(relation),"
        ~ " 'key': ['id'], 'columns': {'id': 'bigint'}}" -%}
    {%- set problems, relations = [], {} -%}
    {%- if spec is not mapping -%}
        {%- do problems.append('it is not a dict: ' ~ spec) -%}
    {%- else -%}
        {%- do relations.update({'relation': spec.relation}) -%}
        {%- if spec.lookups and spec.lookups is not mapping -%}
            {%- do problems.append('lookups is not a dict of name -> relation: ' ~ spec.lookups) -%}
        {%- endif -%}
        {%- for name, relation in (spec.lookups.items() if spec.lookups is mapping else []) if relation is not none -%}
            {%- do relations.update({'lookups.' ~ name: relation}) -%}
        {%- endfor -%}
        {%- if spec.inputs and (spec.inputs is not mapping or spec.inputs.keys() | list != (spec.input_columns or {}).keys() | list) -%}
            {%- do problems.append('input_columns does not have the columns of each of inputs: ' ~ spec.input_columns) -%}
        {%- endif -%}
        {%- for name, relation in (spec.inputs.items() if spec.inputs is mapping else []) -%}
            {%- do relations.update({'inputs.' ~ name: relation}) -%}
        {%- endfor -%}
        {%- for name, relation in relations.items() if relation is string or not relation or relation.identifier is not defined -%}
            {%- do problems.append(name ~ ' is not a relation from source() or ref(): ' ~ relation) -%}
        {%- endfor -%}
        {%- for name in ('raw_columns', 'columns') if spec[name] is not mapping or not spec[name] -%}
            {%- do problems.append(name ~ ' is missing, a dict of name -> Spark SQL type') -%}
        {%- endfor -%}
        {%- if spec.columns is mapping and spec.raw_columns is mapping -%}
            {%- for name, data_type in spec.columns.items() if data_type not in spec.raw_columns.values() -%}
                {%- if data_type is not string or spark_cdc._unknown_in_type(data_type) is not none -%}
                    {%- do problems.append('columns.' ~ name ~ ' has the type ' ~ data_type ~ ', which Spark does not know') -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endif -%}
        {%- if spec.key is string or spec.key is mapping or spec.key is not iterable or not spec.key -%}
            {%- do problems.append('key is missing, a list of names') -%}
        {%- endif -%}
        {%- if spec.as_of is defined and spec.as_of is not none and spec.as_of is not string -%}
            {%- do problems.append('as_of is not text: ' ~ spec.as_of) -%}
        {%- endif -%}
        {%- for name, value in spec.items() if name not in ('relation', 'inputs', 'lookups') -%}
            {%- do problems.extend(spark_cdc._not_data(name, value)) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if problems -%}
        {{ spark_cdc._stop(
            me, 'the spec of the decoder ' ~ decoder ~ ' is not valid: ' ~ problems | join('; '),
            'relation, inputs and lookups (dicts of name -> relation); everything else JSON data: key, columns, raw_columns, …', example
        ) }}
    {%- endif -%}
{%- endmacro -%}

{#- Messages about values in a part of a spec that are not JSON data. -#}
{%- macro _not_data(path, value) -%}
    {%- set problems = [] -%}
    {%- if value.include_policy is defined -%}
        {%- do problems.append(path ~ ' is the relation ' ~ value ~ '; relations belong in lookups') -%}
    {%- elif value is mapping -%}
        {%- for name, part in value.items() -%}
            {%- if name is not string -%}{%- do problems.append('a name in ' ~ path ~ ' is not text: ' ~ name) -%}{%- endif -%}
            {%- do problems.extend(spark_cdc._not_data(path ~ '.' ~ name, part)) -%}
        {%- endfor -%}
    {%- elif value is undefined -%}
        {%- do problems.append(path ~ ' is not defined') -%}
    {%- elif value is none or value is string or value is number or value is boolean -%}
    {%- elif value is sequence -%}
        {%- for part in value -%}{%- do problems.extend(spark_cdc._not_data(path ~ '[' ~ loop.index0 ~ ']', part)) -%}{%- endfor -%}
    {%- else -%}
        {%- do problems.append(path ~ ' is not JSON data: ' ~ value) -%}
    {%- endif -%}
    {{ return(problems) }}
{%- endmacro -%}
