{#- The spec of an event log. Source: "Identity Manager Driver for JDBC, Implementation Guide", chapters "Event Log Table",
    "Event Log Columns", "Event Types". -#}

{#- The ten columns in their order, which changed between versions of the driver. -#}
{%- macro _netiq_layouts() -%}
    {{ return({
        'record_id_status': [
            'record_id', 'status', 'event_type', 'event_time', 'perpetrator', 'table_name', 'table_key', 'column_name',
            'old_value', 'new_value',
        ],
        'record_id_table_key': [
            'record_id', 'table_key', 'status', 'event_type', 'event_time', 'perpetrator', 'table_name', 'column_name',
            'old_value', 'new_value',
        ],
    }) }}
{%- endmacro -%}

{#- The spec of one table in an event log: a dict of what is known before any row is read. Wrong arguments stop here. -#}
{%- macro _spec_netiq_event_log(
    relation, table, key, columns, snapshot=none, layout=none, as_of=none, source_timezone=none
) -%}
    {{ return(spark_cdc._netiq_spec('netiq_event_log', relation, table, key, columns, snapshot, layout, as_of, source_timezone)) }}
{%- endmacro -%}

{#- The same for the macro `me`, which error messages name. -#}
{%- macro _netiq_spec(me, relation, table, key, columns, snapshot, layout, as_of, source_timezone) -%}
    {%- set example = '{{ spark_cdc.' ~ me ~ "(source('idm', 'event_log'), table='usr', key=['idu'],"
        ~ " columns={'idu': 'int', 'fname': 'string'}" ~ (", schema='indirect'" if me == 'netiq_xds') ~ ') }}' -%}
    {%- set in_relation = spark_cdc._raw_columns_in(relation) -%}
    {%- if table is not string or not table.split('.') | last | trim -%}
        {%- set given = 'empty' if table is string and not table | trim else table -%}
        {{ spark_cdc._stop(me, 'table is ' ~ given, 'the name of one logged table', example) }}
    {%- endif -%}
    {%- if columns is not mapping or not columns -%}
        {{ spark_cdc._stop(
            me, 'columns is ' ~ ('empty' if columns is mapping else columns), 'a dict of name -> Spark SQL type', example
        ) }}
    {%- endif -%}
    {%- do spark_cdc._check_table_columns(me, columns, in_relation, example) -%}
    {%- for name, data_type in columns.items() -%}{%- do spark_cdc._check_cast(me, name, 'string', data_type) -%}{%- endfor -%}
    {%- set zone = spark_cdc._source_timezone(me, source_timezone, 'event_time') -%}
    {%- set snapshot_columns = {} -%}
    {%- if snapshot is not none -%}
        {%- set there, spelled, missing = spark_cdc.columns_of(snapshot), {}, [] -%}
        {%- for name in there -%}{%- do spelled.update({name | lower: name}) -%}{%- endfor -%}
        {%- for name in columns -%}
            {%- if name | lower not in spelled -%}
                {%- do missing.append(name) -%}
            {%- else -%}
                {%- set name_there = spelled[name | lower] -%}
                {%- do snapshot_columns.update({name: {'name': name_there, 'type': there[name_there]}}) -%}
                {%- if not (there[name_there] | lower).startswith(('string', 'varchar', 'char')) -%}
                    {%- do spark_cdc._check_cast(me, name, there[name_there], columns[name]) -%}
                {%- endif -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if missing -%}
            {{ spark_cdc._stop(
                me, 'the snapshot ' ~ snapshot ~ ' lacks ' ~ missing | join(', ') ~ '; it has ' ~ there | join(', '),
                'a relation with all columns of the argument columns', example[:-4] ~ ", snapshot=source('idm', 'usr')) }}"
            ) }}
        {%- endif -%}
    {%- endif -%}
    {{ return({
        'relation': relation,
        'lookups': {'snapshot': snapshot},
        'raw_columns': in_relation,
        'key': spark_cdc._resolve_key(me, key, columns | list, example),
        'columns': columns,
        'table': (table | trim).split('.') | last | trim | lower,
        'layout': spark_cdc._netiq_layout(me, relation, in_relation, layout),
        'snapshot_columns': snapshot_columns,
        'source_timezone': zone,
        'is_by_time': as_of is not none,
        'as_of': spark_cdc._netiq_as_of(me, as_of, zone) if as_of is not none else none,
    }) }}
{%- endmacro -%}

{#- The relation's column for each of the ten: by name, if they have the documented names; by place only if they have not. A
    landing may move columns, such as those it is partitioned by. -#}
{%- macro _netiq_layout(me, relation, in_relation, layout) -%}
    {%- set layouts, spelled, found, missing, moved = spark_cdc._netiq_layouts(), {}, {}, [], [] -%}
    {%- set example = "layout='record_id_table_key'" -%}
    {%- set names = in_relation | list -%}
    {%- for name in names -%}{%- do spelled.update({name | lower: name}) -%}{%- endfor -%}
    {%- if layout is none and not layouts['record_id_status'] | reject('in', spelled) | list -%}
        {%- for name in layouts['record_id_status'] -%}{%- do found.update({name: spelled[name]}) -%}{%- endfor -%}
    {%- elif layout is mapping -%}
        {%- set given, layout = layout, {} -%}
        {%- for name, there in given.items() -%}{%- do layout.update({name | lower: there}) -%}{%- endfor -%}
        {%- for name in layouts['record_id_status'] -%}
            {%- if layout.get(name) is not string or layout[name] | lower not in spelled -%}
                {%- do missing.append(name ~ (' (no column is named ' ~ layout[name] ~ ')' if name in layout else '')) -%}
            {%- else -%}
                {%- do found.update({name: spelled[layout[name] | lower]}) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- set unknown = layout.keys() | reject('in', layouts['record_id_status']) | list -%}
        {%- if unknown -%}
            {{ spark_cdc._stop(
                me, 'layout names ' ~ unknown | join(', '), 'a dict from ' ~ layouts['record_id_status'] | join(', ') ~ " to the relation's columns",
                "layout={'record_id': 'ID', 'status': 'STATE', …}"
            ) }}
        {%- endif -%}
    {%- elif layout is none or (layout is string and layout in layouts) -%}
        {%- for name in layouts[layout or 'record_id_status'] -%}
            {%- if loop.index > names | length -%}
                {%- do missing.append(name) -%}
            {%- else -%}
                {%- do found.update({name: names[loop.index0]}) -%}
                {%- if spelled.get(name, names[loop.index0]) != names[loop.index0] -%}{%- do moved.append(name) -%}{%- endif -%}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ spark_cdc._stop(
            me, 'layout is ' ~ layout, "'record_id_status' (drivers up to 3.0), 'record_id_table_key' (3.5.1 and later), or a dict of names",
            example
        ) }}
    {%- endif -%}
    {%- if missing -%}
        {{ spark_cdc._stop(
            me, relation ~ ' lacks ' ~ missing | join(', ') ~ ' of the ten columns of an event log; it has ' ~ names | join(', '),
            'a relation whose first ten columns are the columns of the log in the order of the layout, or a dict of names',
            "layout={'record_id': 'ID', 'status': 'STATE', …}"
        ) }}
    {%- endif -%}
    {%- if moved -%}
        {{ spark_cdc._stop(
            me, relation ~ ' has the columns ' ~ moved | join(', ') ~ ' in other places than the layout '
            ~ (layout or 'record_id_status') ~ '; it has ' ~ names | join(', '),
            'no layout, if all ten columns have their documented names; a layout that agrees with the names; or a dict of names',
            "layout={'record_id': 'ID', 'status': 'STATE', …}"
        ) }}
    {%- endif -%}
    {%- for name, there in found.items() -%}
        {%- set family = spark_cdc._type_facts(in_relation[there]).family -%}
        {%- set accepted = ('text', 'integer', 'decimal', 'floating') if name in ('record_id', 'event_type')
            else ('text', 'timestamp') if name == 'event_time' else ('text',) -%}
        {%- if family not in accepted -%}
            {{ spark_cdc._stop(
                me, name ~ ' is the column ' ~ there ~ ' of type ' ~ in_relation[there],
                {'record_id': 'a number or text', 'event_type': 'a number or text', 'event_time': 'a timestamp or text'}.get(name, 'text')
                ~ '; if this is the wrong column, give another layout', example
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- A local time as yyyy-MM-dd HH:mm:ss.ffffff. It comes from a text, or from 'now', the start of the run. -#}
{%- macro _netiq_as_of(me, as_of, zone) -%}
    {%- if as_of == 'now' -%}
        {{ return(run_started_at.astimezone(modules.pytz.timezone(zone)).strftime('%Y-%m-%d %H:%M:%S.%f')) }}
    {%- endif -%}
    {%- set text = (as_of | trim) if as_of is string else '' -%}
    {%- set db2 = modules.re.fullmatch('(\\d{4}-\\d\\d-\\d\\d)-(\\d\\d)[.](\\d\\d)[.](\\d\\d)([.]\\d{1,12})?', text, modules.re.A) -%}
    {%- set text = (db2[1] ~ ' ' ~ db2[2] ~ ':' ~ db2[3] ~ ':' ~ db2[4] ~ (db2[5] or '')) if db2 else text -%}
    {%- set parts = modules.re.fullmatch(
        '(\\d{4})-(\\d{1,2})-(\\d{1,2})(?:[ T](\\d{1,2})(?::(\\d{1,2})(?::(\\d{1,2})(?:[.](\\d{1,12}))?)?)?)?', text, modules.re.A
    ) -%}
    {%- set numbers = [] -%}
    {%- for number in range(1, 7) if parts -%}{%- do numbers.append((parts[number] or 0) | int) -%}{%- endfor -%}
    {%- set is_time = parts and spark_cdc._is_time(numbers) -%}
    {%- if not is_time -%}
        {{ spark_cdc._stop(
            me, 'as_of is ' ~ as_of, "'now', a local date and time as text without a zone, or none (rows never wait)",
            "as_of='2024-03-01 10:00:00'"
        ) }}
    {%- endif -%}
    {{ return(
        '%04d-%02d-%02d %02d:%02d:%02d.' | format(*numbers) ~ ((parts[7] or '') ~ '000000')[:6]
    ) }}
{%- endmacro -%}
