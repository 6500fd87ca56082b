{#- The change event, the one shape that all decoders give: its columns, and the checks of a relation that should have
    it. -#}

{#- The columns of a change event before the columns of the table, in order: a dict of name -> type. The type `struct` has
    fields of the table (cdc_before) or of the decoder (cdc_metadata). -#}
{%- macro _event_columns() -%}
    {{ return({
        'cdc_source': 'string',
        'cdc_operation': 'string',
        'cdc_sequence': 'string',
        'cdc_commit_sequence': 'string',
        'cdc_commit_at': 'timestamp',
        'cdc_transaction_id': 'string',
        'cdc_changed_columns': 'array<string>',
        'cdc_present_columns': 'array<string>',
        'cdc_before': 'struct',
        'cdc_metadata': 'struct',
        'cdc_batch': 'string',
    }) }}
{%- endmacro -%}

{#- The operations that a change event can have. -#}
{%- macro _event_operations() -%}
    {{ return(['load', 'insert', 'update', 'delete', 'truncate']) }}
{%- endmacro -%}

{#- The final select of every decoder. See _macros.yml. -#}
{%- macro select_events(spec, values, relation, table=none) -%}
    {%- set me, is_ours = spec.decoder.split('.') | last, '.' not in spec.decoder -%}
    {%- for name in ('cdc_operation', 'cdc_sequence') if name not in values -%}
        {{ spark_cdc._stop(
            'select_events', 'the decoder ' ~ spec.decoder ~ ' gives no ' ~ name, 'values with cdc_operation and cdc_sequence',
            "spark_cdc.select_events(spec, {'cdc_operation': …, 'cdc_sequence': …}, 'well_formed')"
        ) }}
    {%- endfor -%}
    {%- for name in ('cdc_sequence', 'cdc_commit_sequence') if '~' in (values[name] or '') -%}
        {{ spark_cdc._stop(
            'select_events', 'the decoder ' ~ spec.decoder ~ ' makes its ' ~ name ~ ' with ~: ' ~ values[name],
            'printable ASCII without ~, which runs use to compare sequences', "concat(commit, '.', position)"
        ) }}
    {%- endfor -%}
    {%- set fields = [] -%}
    {%- for name in (spec.key if spec.before_image else spec.columns) -%}
        {%- do fields.append(spark_cdc._quote(name) ~ ': ' ~ spark_cdc._spaced(spec.columns[name])) -%}
    {%- endfor -%}
    {%- set unknown = {
        'cdc_commit_sequence': values.cdc_sequence,
        'cdc_before': 'cast(\n    null as struct<\n        ' ~ fields | join(',\n        ') ~ '\n    >\n)',
        'cdc_metadata': 'cast(null as struct<unused: string>)',
    } -%}
    {%- set values = dict({'cdc_source': spark_cdc._literal(me)}, **dict(values, cdc_batch=spark_cdc._literal(spec.batch))) -%}
    {%- set outcome = dict(spark_cdc._outcome_by_default(spec, values), **values) -%}
    {%- if is_ours and spec.builds == 'quarantine' and not (values.cdc_kind or values.cdc_reason) -%}
        {#- every row is an event: our decoders leave out what only makes events -#}
        {{ return(spark_cdc._select_outcomes(spec, {}, 'range(0)')) }}
    {%- elif spec.builds != 'events' -%}
        {{ return(spark_cdc._select_outcomes(spec, outcome, relation)) }}
    {%- endif -%}
select
    {%- for name, data_type in spark_cdc._event_columns().items() %}
    {%- set value = values.get(name) or unknown.get(name, 'cast(null as ' ~ data_type ~ ')') %}
    {%- if not is_ours and name in ('cdc_sequence', 'cdc_commit_sequence') %}
        {%- set value = spark_cdc._checked_sequence(spec.decoder, name, value) %}
    {%- endif %}
    {{ (value if value == name else value ~ ' as ' ~ name) | indent(4) }},
    {%- endfor %}
    {%- for name in spec.columns %}
    {{ (table[name] ~ ' as ' if table else '') | indent(4) }}{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ relation }}
    {%- if values.cdc_kind %}
where {{ values.cdc_kind }} = 'event'
    {%- elif values.cdc_reason %}
where {{ values.cdc_reason }} is null
    {%- endif %}
{%- endmacro -%}

{#- What a spec says of before images: nothing, or that they have the key alone. A spec without it is as it was before there was
    this argument, so that models need no full refresh. -#}
{%- macro _before_image(me, before_image) -%}
    {%- if before_image not in ('row', 'key') -%}
        {{ spark_cdc._stop(
            me, 'before_image is ' ~ before_image,
            "'row' (cdc_before has all columns) or 'key' (it has the columns of the key)", "before_image='key'"
        ) }}
    {%- endif -%}
    {{ return({'before_image': 'key'} if before_image == 'key' else {}) }}
{%- endmacro -%}

{#- The value of cdc_before from a struct of all columns, or NULL where `condition` is not true. -#}
{%- macro _before_of(spec, row='cdc_before', condition=none) -%}
    {%- set conditions, value = [condition] if condition else [], row -%}
    {%- if spec.before_image -%}
        {%- set fields = [] -%}
        {%- for name in spec.key -%}
            {%- do fields.append(spark_cdc._literal(name) ~ ', ' ~ row ~ '.' ~ spark_cdc._quote(name)) -%}
        {%- endfor -%}
        {%- do conditions.append(row ~ ' is not null') -%}
        {%- set value = spark_cdc._call('named_struct', fields) -%}
    {%- endif -%}
    {%- if not conditions -%}{{ return(value) }}{%- endif -%}
    {{ return('case when ' ~ conditions | join(' and ') ~ ' then ' ~ value ~ ' end' if not spec.before_image
        else 'case\n    when ' ~ conditions | join(' and ') ~ '\n        then ' ~ value | indent(8) ~ '\nend') }}
{%- endmacro -%}

{#- Those of the columns `names` that cdc_before has in a relation of change events, whose columns are `there`: all of them, or
    the key. Where Spark left out fields of the type there are many, so it is all of them. -#}
{%- macro _names_before(there, names) -%}
    {%- set fields, found = [], [] -%}
    {%- for name, data_type in there.items() if name | lower == 'cdc_before' -%}
        {%- set inner = modules.re.fullmatch('(?is)\\s*struct\\s*<(.*)>\\s*', data_type) -%}
        {%- if inner and not modules.re.search('[.]{3} \\d+ more field', data_type) -%}
            {%- for part in spark_cdc._split_type(inner.group(1)) -%}
                {%- do fields.append(part | trim | lower | replace('`', '')) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in names -%}
        {%- set begin = name | lower | replace('`', '') ~ ':' -%}
        {%- for field in fields if field.startswith(begin) and name not in found -%}{%- do found.append(name) -%}{%- endfor -%}
    {%- endfor -%}
    {{ return(found or names) }}
{%- endmacro -%}

{#- A sequence, unchanged. The query stops at a sequence with a character that is not allowed. The decoders of this package
    make no such sequences. -#}
{%- macro _checked_sequence(decoder, name, value) -%}
case
    when {{ value }} rlike '^[ -}]+$' then {{ value }}
    else raise_error(
        concat(
            {{ spark_cdc._literal('spark_cdc: the decoder ' ~ decoder ~ ' made the ' ~ name ~ ' ') }},
            coalesce({{ value }}, 'NULL'),
            '; it has to make printable ASCII without ~'
        )
    )
end
{%- endmacro -%}

{#- Messages about the columns `names` of a change event that a relation lacks or has with another type. `there` is a dict of
    name -> type. -#}
{%- macro _event_column_problems(there, names=none) -%}
    {%- set types, problems = {}, [] -%}
    {%- for name, data_type in there.items() -%}
        {%- do types.update({name | lower: data_type | lower | replace(' ', '')}) -%}
    {%- endfor -%}
    {%- for name, data_type in spark_cdc._event_columns().items() if names is none or name in names -%}
        {%- set type_there = types.get(name) -%}
        {%- if type_there is none -%}
            {%- do problems.append('it has no ' ~ name) -%}
        {%- elif not spark_cdc._is_event_type(type_there, data_type) -%}
            {%- do problems.append(name ~ ' is ' ~ type_there ~ ', not ' ~ data_type) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{%- endmacro -%}

{#- Whether a column of type `type_there` can be a column of a change event with `data_type`. A column that is NULL in every
    row has no type of its own (`void`); text may have a collation or a length. -#}
{%- macro _is_event_type(type_there, data_type) -%}
    {%- if type_there in (data_type, 'void') -%}
        {{ return(true) }}
    {%- elif data_type == 'struct' -%}
        {{ return(type_there.startswith('struct<')) }}
    {%- elif data_type == 'string' -%}
        {{ return(modules.re.match('(string|varchar|char)\\b', type_there) is not none) }}
    {%- elif data_type == 'timestamp' -%}
        {{ return(type_there == 'timestamp_ltz') }}
    {%- endif -%}
    {{ return(modules.re.fullmatch('array<(string|varchar|char|void)\\b.*>', type_there) is not none) }}
{%- endmacro -%}
