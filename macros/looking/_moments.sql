{#- Moments of a history: a time, or a position. A text in parentheses is an SQL expression, any other text is the value.

    A moment is a dict: `argument`, `by` (at or sequence), `given`, and `sql`, what columns are compared with. A text has a
    `value` and its `zone`. An expression has itself (`expression`) and the checked value of it (`checked`). It is computed
    once, in the CTE `moments`. So columns are compared with a constant, and Spark can skip files. -#}

{#- The one moment that is given among some arguments, a dict of argument to what was given. -#}
{%- macro _one_moment(me, arguments, example) -%}
    {%- set given = [] -%}
    {%- for argument, value in arguments.items() if value is not none -%}{%- do given.append(argument) -%}{%- endfor -%}
    {%- if given | length != 1 -%}
        {{ spark_cdc._stop(
            me, 'it has ' ~ (given | join(' and ') or 'neither ' ~ arguments | join(' nor ')),
            'exactly one of ' ~ arguments | join(' and '), example
        ) }}
    {%- endif -%}
    {{ return(spark_cdc._moment(me, given[0], arguments[given[0]], example)) }}
{%- endmacro -%}

{#- What was given as a moment. The name of the argument says which kind it is. -#}
{%- macro _moment(me, argument, given, example) -%}
    {%- set by = argument.split('_') | last -%}
    {#- a var can be a date or a time of YAML -#}
    {%- set text = given.isoformat() if given is defined and given is not string and given.isoformat is defined else given -%}
    {%- set accepted = {
        'at': "a time as text with or without a zone, such as '2026-03-02T08:30:00Z' or '2026-03-02 08:30:00 Europe/Berlin', or"
            ~ " an SQL expression in parentheses, such as '(current_timestamp() - interval 1 day)'",
        'sequence': 'a position as text, as the sequences of the history have it, or an SQL expression in parentheses, such as '
            ~ "'(select max(cdc_commit_sequence) from …)'",
    }[by] -%}
    {%- if text is string and modules.re.fullmatch('(?s)\\s*[(].*[)]\\s*', text) -%}
        {{ return({
            'argument': argument, 'by': by, 'given': text, 'value': none, 'zone': none, 'expression': text | trim,
            'checked': spark_cdc._moment_given(me, argument, by),
            'sql': '(select cdc_' ~ argument ~ ' from moments)',
        }) }}
    {%- endif -%}
    {%- set value = spark_cdc._time_in_text(text) if by == 'at' and text is string else none -%}
    {%- if by == 'sequence' and text is string and modules.re.fullmatch('[ -}]+', text) -%}
        {%- set value = {'value': text, 'zone': none, 'sql': spark_cdc._literal(text)} -%}
    {%- endif -%}
    {%- if value is none -%}
        {{ spark_cdc._stop(
            me, argument ~ ' is ' ~ ('empty' if text is string and not text else 'not defined' if text is undefined else text)
            ~ (', a number' if text is number), accepted, example
        ) }}
    {%- endif -%}
    {{ return(dict(value, argument=argument, by=by, given=text, expression=none)) }}
{%- endmacro -%}

{#- The value of an expression. A query stops if it is NULL. -#}
{%- macro _moment_given(me, argument, by) -%}
    {%- set column = 'cdc_' ~ argument -%}
    {%- set value = spark_cdc._time_given(column) if by == 'at' else 'cast(' ~ column ~ ' as string)' -%}
    {%- set problem = 'spark_cdc.' ~ me ~ ': the expression ' ~ argument ~ ' gives no ' ~ ('time' if by == 'at' else 'position') -%}
    {{ return(spark_cdc._call('coalesce', [value, 'raise_error(' ~ spark_cdc._literal(problem) ~ ')'])) }}
{%- endmacro -%}

{#- A time in a text: its digits, its zone, and the literal; none if it is no time. Without a zone it is in UTC. -#}
{%- macro _time_in_text(text) -%}
    {%- set parts = modules.re.fullmatch(
        '\\s*(\\d{4})-(\\d\\d)-(\\d\\d)(?:[ T](\\d\\d):(\\d\\d)(?::(\\d\\d)(?:[.](\\d{1,9}))?)?)?'
        ~ ' ?(?:(Z|UTC)|([+-])(\\d\\d):?(\\d\\d)|([A-Za-z]+(?:/[\\w+-]+)+))?\\s*', text, modules.re.A
    ) -%}
    {%- if parts is none -%}{{ return(none) }}{%- endif -%}
    {%- set numbers = [] -%}
    {%- for number in range(1, 7) -%}{%- do numbers.append((parts[number] or 0) | int) -%}{%- endfor -%}
    {%- set region = parts[12] -%}
    {%- if not spark_cdc._is_time(numbers)
        or (parts[9] and (parts[10] | int > 14 or parts[11] | int > 59))
        or (region and region not in modules.pytz.all_timezones) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set zone = ' ' ~ region if region else parts[9] ~ parts[10] ~ ':' ~ parts[11] if parts[9] else 'Z' -%}
    {#- digits after the sixth decide nothing: times in tables have six -#}
    {%- set fraction = ((parts[7] or '') ~ '000000')[:6] -%}
    {%- set value = '%04d-%02d-%02d %02d:%02d:%02d' | format(*numbers) ~ '.' ~ fraction -%}
    {%- set shown = value if fraction != '000000' else value[:19] -%}
    {{ return({'value': value, 'zone': zone, 'sql': "timestamp '" ~ shown ~ zone ~ "'"}) }}
{%- endmacro -%}

{#- The CTEs of the moments that are expressions, with `with` before it. Without such moments they are empty. -#}
{%- macro _with_moments(moments, more=false) -%}
    {%- set given, values = [], [] -%}
    {%- for moment in moments if moment.expression is not none -%}
        {#- the line break ends a comment -#}
        {%- do given.append(moment.expression ~ ('\n' if '--' in moment.expression else ' ') ~ 'as cdc_' ~ moment.argument) -%}
        {%- do values.append(moment.checked ~ ' as cdc_' ~ moment.argument) -%}
    {%- endfor -%}
    {%- set several = given | length > 1 -%}
    {%- if values -%}
with moments_given as (
    select{{ '\n        ' if several else ' ' }}{{ given | join(',\n') | indent(8 if several else 4) }}
),

moments as (
    select
        {{ values | join(',\n') | indent(8) }}
    from moments_given
){{ ',' if more }}
{{ '\n' }}
    {%- endif -%}
{%- endmacro -%}

{#- Whether a version is there at a moment. The end of an interval is not a part of it. -#}
{%- macro _is_valid_at(moment) -%}
    {%- if moment.by == 'at' -%}
(cdc_valid_from is null or cdc_valid_from <= {{ moment.sql }})
and (cdc_is_current or cdc_valid_to > {{ moment.sql }})
    {%- else -%}
cdc_valid_from_sequence <= {{ moment.sql }}
and (cdc_is_current or cdc_valid_to_sequence > {{ moment.sql }})
    {%- endif -%}
{%- endmacro -%}

{#- The table's own columns in a history: a dict of name to type. Another relation stops. -#}
{%- macro _columns_in_history(me, history, example) -%}
    {%- set there, lacking, columns = spark_cdc.columns_of(history), [], {} -%}
    {%- for name in ('cdc_valid_from', 'cdc_valid_to', 'cdc_valid_from_sequence', 'cdc_valid_to_sequence', 'cdc_is_current')
        if name not in there | map('lower') -%}
        {%- do lacking.append(name) -%}
    {%- endfor -%}
    {%- if lacking -%}
        {{ spark_cdc._stop(
            me, history ~ ' is no history: it lacks ' ~ lacking | join(', '),
            'the model of history, or a relation with all of its columns', example
        ) }}
    {%- endif -%}
    {%- for name, data_type in there.items() if not (name | lower).startswith('cdc_') -%}
        {%- do columns.update({name: data_type}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}
