{#- The change event, the one shape that all decoders give: its columns, and the checks of a relation that should have it. -#}

{#- The columns of a change event that come before the columns of the table, in order: a dict of name -> type. A type `struct`
    is one with fields: of the table (cdc_before), or of the decoder (cdc_metadata). -#}
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

{#- What operations there are. -#}
{%- macro _event_operations() -%}
    {{ return(['load', 'insert', 'update', 'delete', 'truncate']) }}
{%- endmacro -%}

{#- The final select of every decoder. `values` is a dict of column -> SQL, for each column of a change event but cdc_source
    and cdc_batch; `table` the same for the columns of the table. -#}
{%- macro _select_events(decoder, batch, values, table, relation) -%}
    {%- set values = dict(values, cdc_source=spark_cdc._literal(decoder), cdc_batch=spark_cdc._literal(batch)) -%}
select
    {%- for name in spark_cdc._event_columns() %}
    {%- if name not in values %}
    {{ exceptions.raise_compiler_error('spark_cdc.' ~ decoder ~ ': its events lack ' ~ name) }}
    {%- endif %}
    {{ (values[name] if values[name] == name else values[name] ~ ' as ' ~ name) | indent(4) }},
    {%- endfor %}
    {%- for name, value in table.items() %}
    {{ value | indent(4) }} as {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ relation }}
{%- endmacro -%}

{#- Of the columns `names` of a change event those that a relation lacks or has in another type: texts that say so. `there` is
    a dict of name -> type. -#}
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
