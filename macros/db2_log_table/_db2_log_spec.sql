{#- The spec of a log table. Source: "Net Search Extender Administration and User's Guide", "Log table view"; Db2
    documentation, "SYSIBMTS.TSSTAGING view". -#}

{#- The spec of a log and its table: a dict of what is known before any row is read. Wrong arguments stop here. -#}
{%- macro _spec_db2_log_table(relation, key, base, key_columns=none, columns=none, source_timezone=none) -%}
    {%- set me = 'db2_log_table' -%}
    {%- set example = "{{ spark_cdc.db2_log_table(source('db2', 'orders__log'), key=['order_id'], base=source('db2', 'orders')) }}" -%}
    {%- set in_relation = spark_cdc._raw_columns_in(relation) -%}
    {%- do spark_cdc._check_table_columns(me, {}, in_relation, example) -%}
    {%- if base is none or base is undefined -%}
        {{ spark_cdc._stop(
            me, 'base is ' ~ ('not defined' if base is undefined else base),
            'the relation with the current rows of the table: the log has only their keys', example
        ) }}
    {%- endif -%}
    {%- set facts = spark_cdc._base_facts(me, base, columns, example) -%}
    {%- set key = spark_cdc._resolve_key(me, key, facts.columns | list, example) -%}
    {%- set log = spark_cdc._db2_log_columns(me, relation, in_relation, example) -%}
    {%- set key_columns = spark_cdc._numbered_key_columns(in_relation, me) if key_columns is none
        else spark_cdc._resolve_names(me, 'key_columns', key_columns, in_relation | list, "key_columns=['PK01', 'PK02']") -%}
    {%- do spark_cdc._check_key_columns(me, key_columns, key, facts.columns, in_relation) -%}
    {{ return({
        'relation': relation,
        'lookups': {'base': base},
        'raw_columns': in_relation,
        'key': key,
        'columns': facts.columns,
        'base_columns': facts.base_columns,
        'log': log,
        'key_columns': dict(zip(key, key_columns)),
        'source_timezone': spark_cdc._source_timezone(me, source_timezone, 'TIME'),
    }) }}
{%- endmacro -%}

{#- The columns OPERATION and TIME as the relation spells them. -#}
{%- macro _db2_log_columns(me, relation, in_relation, example) -%}
    {%- set found = {} -%}
    {%- for name in ('operation', 'time') -%}
        {%- set there = [] -%}
        {%- for one in in_relation if one | lower == name -%}{%- do there.append(one) -%}{%- endfor -%}
        {%- if there | length != 1 -%}
            {{ spark_cdc._stop(
                me, relation ~ ' has ' ~ ('no column' if not there else 'two columns that are named') ~ ' ' ~ name | upper
                ~ '; it has ' ~ in_relation | join(', '),
                'a relation with the columns OPERATION, TIME, and one for each column of the key: PK01, PK02, …', example
            ) }}
        {%- endif -%}
        {%- do found.update({name: there[0]}) -%}
        {%- set accepted = {'operation': ('text', 'integer', 'decimal', 'floating'), 'time': ('text', 'timestamp')}[name] -%}
        {%- if spark_cdc._type_facts(in_relation[there[0]]).family not in accepted -%}
            {{ spark_cdc._stop(
                me, there[0] ~ ' is of type ' ~ in_relation[there[0]],
                {'operation': 'a number or text', 'time': 'timestamp, timestamp_ntz or text'}[name], example
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}
