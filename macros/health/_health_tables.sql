{#- The argument of `health`. -#}

{#- The entries as a list of dicts, each with a `name`. Entries that cannot be right stop; no relation is asked yet. -#}
{%- macro _health_entries(tables) -%}
    {%- set accepted = ['changes', 'key', 'null_keys', 'quarantine', 'counts', 'log'] -%}
    {%- set example = "{{ spark_cdc.health({'orders': {'changes': ref('orders__changes'), 'key': ['order_id'],"
        ~ " 'quarantine': ref('orders__quarantine'), 'counts': ref('orders__counts')}}) }}" -%}
    {%- if tables is undefined or tables is none or tables is string or tables.include_policy is defined
        or tables is not iterable or not tables -%}
        {{ spark_cdc._stop(
            'health', 'tables is ' ~ ('not defined' if tables is undefined else tables or 'empty'),
            'a dict of the name of a table -> the relations of its models, or a list of such dicts, each with a name', example
        ) }}
    {%- endif -%}
    {%- set entries, names = [], [] -%}
    {%- for item in tables -%}
        {%- set given = tables[item] if tables is mapping else item -%}
        {#- a relation alone is its change events -#}
        {%- set given = {'changes': given} if given is not mapping or given.include_policy is defined else given -%}
        {%- set name = item if tables is mapping else given.name -%}
        {%- if name is not string or not name -%}
            {{ spark_cdc._stop(
                'health', 'a table has no name: ' ~ given, 'a dict by name; in a list of dicts each has a name',
                "[{'name': 'orders', 'changes': ref('orders__changes')}]"
            ) }}
        {%- endif -%}
        {%- if name in names -%}
            {{ spark_cdc._stop('health', 'two tables are named ' ~ name, 'each name once', example) }}
        {%- endif -%}
        {%- do names.append(name) -%}
        {%- for argument in given if argument not in accepted and not (argument == 'name' and tables is not mapping) -%}
            {{ spark_cdc._stop(
                'health', 'the table ' ~ name ~ ' has ' ~ argument, accepted | join(', ') ~ ' (changes is required)', example
            ) }}
        {%- endfor -%}
        {%- for argument in ('changes', 'quarantine', 'counts', 'log') -%}
            {%- set relation = given[argument] -%}
            {%- if (argument == 'changes' and not relation) or (relation and (relation is string or relation.identifier is not defined)) -%}
                {{ spark_cdc._stop(
                    'health', argument ~ ' of the table ' ~ name ~ ' is ' ~ (relation or 'missing'), 'ref() of a model that was built', example
                ) }}
            {%- endif -%}
        {%- endfor -%}
        {%- set entry = {'name': name} -%}
        {%- for argument, value in given.items() if value is not none -%}{%- do entry.update({argument: value}) -%}{%- endfor -%}
        {%- do entries.append(entry) -%}
    {%- endfor -%}
    {{ return(entries) }}
{%- endmacro -%}

{#- The same with what the relations say of each:
      table              of _health_key_of
      has_batch          whether the events have cdc_batch; a view may lack it
      open_transactions  for a stream, a select
      unread             for a raw log, the select of _unread_rows
      has                the booleans of _health_list -#}
{%- macro _health_tables(entries) -%}
    {%- set columns = {
        'quarantine': ['cdc_source', 'reason', 'detail', 'raw'],
        'counts': ['raw_rows', 'used_rows', 'no_op_rows', 'quarantined_rows'],
    } -%}
    {%- set tables = [] -%}
    {%- for entry in entries -%}
        {%- set there = spark_cdc.columns_of(entry.changes) -%}
        {%- set problems = spark_cdc._event_column_problems(there, [
            'cdc_source', 'cdc_operation', 'cdc_sequence', 'cdc_commit_sequence', 'cdc_commit_at', 'cdc_changed_columns',
            'cdc_present_columns', 'cdc_before'
        ]) -%}
        {%- if problems -%}
            {{ spark_cdc._stop(
                'health', entry.changes ~ ', changes of the table ' ~ entry.name ~ ', does not have change events: ' ~ problems | join('; '),
                'the model of a decoder, or a view over one', "{'orders': {'changes': ref('orders__changes')}}"
            ) }}
        {%- endif -%}
        {%- for argument in columns if entry[argument] -%}
            {#- this also runs REFRESH TABLE -#}
            {%- set names = spark_cdc.columns_of(entry[argument]) | map('lower') | list -%}
            {%- set missing = columns[argument] | reject('in', names) | list -%}
            {%- if missing -%}
                {{ spark_cdc._stop(
                    'health', entry[argument] ~ ', ' ~ argument ~ ' of the table ' ~ entry.name ~ ', has no ' ~ missing | join(', '),
                    'the model of ' ~ ('quarantine' if argument == 'quarantine' else 'raw_counts'),
                    "{'orders': {'changes': ref('orders__changes'), '" ~ argument ~ "': ref('orders__" ~ argument ~ "')}}"
                ) }}
            {%- endif -%}
        {%- endfor -%}
        {%- set table = spark_cdc._health_key_of(entry, there) -%}
        {#- in a collation different texts are one key, which a hash does not see -#}
        {%- do tables.append(dict(
            entry,
            table=table,
            has_batch='cdc_batch' in there | map('lower'),
            open_transactions=spark_cdc._open_transactions(entry.changes),
            unread=spark_cdc._health_unread_rows(entry),
            has=['counts' in entry, 'quarantine' in entry, table is not none, table is not none and not table.key_is_collated],
        )) -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro -%}

{#- The select of the rows of a landing that no run reads, if the entry has a raw log; else none. -#}
{%- macro _health_unread_rows(entry) -%}
    {%- if not entry.log -%}{{ return(none) }}{%- endif -%}
    {%- set node = spark_cdc._node_of(entry.log) -%}
    {%- set calls = spark_cdc._calls_in(node) if node is not none and node.resource_type == 'model' else [] -%}
    {%- if calls | length != 1 or calls[0].builds != 'raw_log' -%}
        {{ spark_cdc._stop(
            'health', entry.log ~ ', log of the table ' ~ entry.name ~ ', is no model whose body is one call of raw_log', 'ref() of a raw log',
            "{'orders': {'changes': ref('orders__changes'), 'log': ref('orders__log')}}"
        ) }}
    {%- endif -%}
    {{ return(spark_cdc._unread_rows('health', entry.log, calls[0].spec.relation)) }}
{%- endmacro -%}

{#- What macros/apply/_effects.sql reads of a table: its `key`, as its change events spell it, `null_keys`, and `key_is_collated`.
    None if the entry has no key. -#}
{%- macro _health_key_of(entry, there) -%}
    {%- if 'key' not in entry -%}{{ return(none) }}{%- endif -%}
    {%- set null_keys = false if entry.null_keys is undefined else entry.null_keys -%}
    {%- do spark_cdc._check_null_keys('health', null_keys) -%}
    {%- set names, collated = [], [] -%}
    {%- for name in there if not (name | lower).startswith('cdc_') -%}{%- do names.append(name) -%}{%- endfor -%}
    {%- set key = spark_cdc._resolve_key(
        'health', entry.key, names, "{'orders': {'changes': ref('orders__changes'), 'key': ['order_id']}}"
    ) -%}
    {%- for name in key if ' collate ' in there[name] | lower -%}{%- do collated.append(name) -%}{%- endfor -%}
    {{ return({'key': key, 'null_keys': null_keys, 'key_is_collated': collated | length > 0}) }}
{%- endmacro -%}

{#- The tables as rows: what is given of each. -#}
{%- macro _health_list(tables, checked_at) -%}
select
    given_tables.*,
    {{ checked_at }} as checked_at
from (
    values
    {%- for one in tables %}
    ({{ spark_cdc._literal(one.name) }}, {{ one.has | join(', ') | lower }}){{ ',' if not loop.last }}
    {%- endfor %}
) as given_tables (table_name, has_counts, has_quarantine, has_key, has_order)
{%- endmacro -%}

{#- Whether Spark's planning of so many tables takes longer than reading them. -#}
{%- macro _are_many(tables) -%}
    {{ return(tables | length > 16) }}
{%- endmacro -%}

{#- One select for each table, as one relation; without tables a relation without rows, which has these columns. Spark nests each
    union in the next one, and its analyzer passes all levels for each of them. So many tables are united in parts. -#}
{%- macro _health_union(selects, columns={}) -%}
{%- if spark_cdc._are_many(selects) -%}
    {%- for part in selects | batch(((selects | length) ** 0.5) | round(0, 'ceil') | int) -%}
select *
from (
    {{ part | join('\nunion all\n') | indent(4) }}
) as part_{{ loop.index }}
{{- '\nunion all\n' if not loop.last }}
    {%- endfor -%}
{%- elif selects -%}
{{ selects | join('\nunion all\n') }}
{%- else -%}
select
    {%- for name, data_type in columns.items() %}
    cast(null as {{ data_type }}) as {{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
where false
{%- endif -%}
{%- endmacro -%}

{#- The select of the number of open transactions in a stream, if `changes` is a model whose decoder keeps the state of one;
    else none. A decoder has the macro _open_transactions_<decoder>(state) for it. -#}
{%- macro _open_transactions(changes) -%}
    {%- set node = spark_cdc._node_of(changes) -%}
    {%- if node is none or node.resource_type != 'model' or node.config.materialized != 'cdc_incremental' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- for called in node.depends_on.macros -%}
        {%- set package, name = called.split('.')[1], '_open_transactions_' ~ called.split('.') | last -%}
        {%- set relation = spark_cdc._plain_relation(changes, node) -%}
        {%- if name in spark_cdc._macros_of(package) and spark_cdc._is_in_warehouse(relation) -%}
            {%- set identifier = spark_cdc._properties(relation).get('spark_cdc.state') -%}
            {%- set state = relation.incorporate(path={'identifier': identifier}, type='table') if identifier else none -%}
            {%- if state is not none and spark_cdc._is_there(state) -%}
                {{ return(spark_cdc._macros_of(package)[name](state)) }}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}
