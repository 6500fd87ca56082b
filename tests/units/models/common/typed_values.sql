{#- Values of one type as another: each pair of types has rows of its own. -#}
{%- for type_there, wanted in [
    ('string', 'int'), ('string', 'tinyint'), ('string', 'smallint'), ('string', 'bigint'), ('string', 'boolean'),
    ('string', 'decimal(12, 2)'), ('string', 'decimal(20, 2)'), ('string', 'double'), ('string', 'float'),
    ('string', 'date'), ('string', 'timestamp'), ('string', 'timestamp_ntz'), ('string', 'binary'),
    ('string', 'character(3)'), ('string', 'varchar(3)'), ('double', 'bigint'), ('float', 'int'),
    ('decimal(5, 2)', 'int'), ('int', 'boolean')
] %}
{%- set there = 'value' if type_there == 'string' else 'cast(value as ' ~ type_there ~ ')' -%}
{%- set typed = spark_cdc._typed(there, type_there, wanted) -%}
{{ '\nunion all\n' if not loop.first -}}
select
    type_there,
    wanted,
    value,
    if(
        {{ typed | indent(8) }} is not null,
        {{ spark_cdc._as_text(typed, wanted) | indent(8) }},
        null
    ) as typed
from {{ source('common', 'texts') }}
where type_there = '{{ type_there }}' and wanted = '{{ wanted }}'
{%- endfor %}
