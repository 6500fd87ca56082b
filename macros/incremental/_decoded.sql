{#- Runs of models of change events and of quarantined rows.

    The model keeps every raw row that it has read in <model>__cdc_raw_<run>, since rows may leave the raw relation. A run looks
    for rows of the raw relation that are not there, reads with them the older rows that they can change the meaning of,
    decodes those and puts the difference into the model. Then it adds the new rows to those it has read: a run that is
    killed before that finds them again, and comes to the same.

    What a decoder gives to this, in its macro _together_<decoder>(layout), a dict:
      group            SQL over a raw row, text: two raw rows matter for each other only where it is the same (in Qlik's
                       change tables the time part of the change sequence). NULL: the row matters for no other.
      sequence_prefix  the group is the first so many characters of the cdc_sequence of each event made of the row.
    A decoder of which that cannot be said has a macro _run_<decoder>(run) of its own, which does all this its way. -#}

{%- macro _run_decoded(run) -%}
    {%- set layout = run.call.layout -%}
    {%- set together = spark_cdc._of_decoder('together', run.call.decoder)(layout) -%}
    {%- do run.update({
        'raw': spark_cdc._helper('raw_' ~ run.suffix) if run.is_full
            else this.incorporate(path={'identifier': run.properties['spark_cdc.raw']}, type='table'),
        'replaced': spark_cdc._helper('replaced'),
        'missing': spark_cdc._helper('missing_' ~ run.suffix),
        'read': spark_cdc._helper('read_' ~ run.suffix),
        'together': together,
        'raw_watermark': spark_cdc._raw_watermark(layout),
    }) -%}
    {%- if not run.is_full and run.raw.identifier | lower not in run.helpers -%}
        {{ spark_cdc._stop(
            'cdc_incremental', run.raw ~ ', the raw rows that ' ~ this ~ ' has read, is gone',
            'to build the model anew from the rows that the raw relation has now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- elif not run.is_full -%}
        {%- do run_query('refresh table ' ~ run.raw) -%}
    {%- endif -%}
    {%- if run.is_full or run.properties['spark_cdc.definition'] != run.definition -%}
        {%- do spark_cdc._number_run(run) -%}
    {%- endif -%}
    {%- if '_run_' ~ run.call.decoder in spark_cdc -%}
        {%- do spark_cdc['_run_' ~ run.call.decoder](run) -%}
    {%- elif run.is_full -%}
        {%- do spark_cdc._decode_all(run) -%}
    {%- else -%}
        {%- do spark_cdc._read_new_rows(run) -%}
        {%- if run.properties['spark_cdc.definition'] != run.definition -%}
            {%- do spark_cdc._decode_again(run) -%}
        {%- elif run.has_new_rows -%}
            {%- do spark_cdc._decode_new_rows(run) -%}
        {%- else -%}
            {%- call noop_statement('main', 'no new raw rows') -%}{%- endcall -%}
        {%- endif -%}
        {%- do spark_cdc._drop_new_rows(run) -%}
    {%- endif -%}
{%- endmacro -%}


{#- The select that the model is, over the raw rows in `relation`. -#}
{%- macro _decoded(run, relation) -%}
    {%- set layout = dict(run.call.layout, relation=relation) -%}
    {%- if run.call.builds == 'events' -%}
        {{ return(spark_cdc['_events_' ~ run.call.decoder](layout, run.batch)) }}
    {%- endif -%}
    {{ return(spark_cdc['_quarantine_' ~ run.call.decoder](layout)) }}
{%- endmacro -%}

{#- Copies the rows that the raw relation has now. -#}
{%- macro _copy_raw_rows(run) -%}
    {%- do run_query(spark_cdc._create_as(
        run, run.raw, spark_cdc._delivered(run, run.call.layout.relation), spark_cdc._statistics_of_raw(run)
    )) -%}
    {%- do spark_cdc._keep_watermark(run, run.raw) -%}
{%- endmacro -%}

{#- A full refresh: from the rows that the raw relation has now. They are copied first, so that all is read from one state. -#}
{%- macro _decode_all(run) -%}
    {%- do spark_cdc._copy_raw_rows(run) -%}
    {%- do spark_cdc._store_all(run, spark_cdc._decoded(run, run.raw), {
        'spark_cdc.generation': run.batch, 'spark_cdc.raw': run.raw.identifier, 'spark_cdc.raw_added_to': 0
    }) -%}
{%- endmacro -%}

{#- The call or its columns changed: everything is decoded anew, from the rows that were read and the new ones. -#}
{%- macro _decode_again(run) -%}
    {%- do spark_cdc._check_columns(run, spark_cdc._decoded(run, run.call.layout.relation)) -%}
    {%- do spark_cdc._keep_undecoded_rows(run) -%}
    {%- do spark_cdc._store_all(run, spark_cdc._decoded(run, run.raw), {'spark_cdc.generation': run.batch}) -%}
{%- endmacro -%}

{#- Adds the new rows to those that were read before anything is made of them. Whatever becomes of this run, and of the edit
    that it is for, a later one then knows that the model is not made of all rows that were read. -#}
{%- macro _keep_undecoded_rows(run) -%}
    {%- if run.has_new_rows -%}
        {%- do spark_cdc._check_claim(run) -%}
        {%- do spark_cdc._store_properties(run, {'spark_cdc.definition': ''}) -%}
        {%- do spark_cdc._keep_new_rows(run) -%}
    {%- endif -%}
{%- endmacro -%}

{#- An increment. -#}
{%- macro _decode_new_rows(run) -%}
    {%- set new = run_query(
        'select min(cdc_group), max(cdc_group) from ' ~ run.read
    ).rows[0] -%}
    {%- do spark_cdc._read_related_rows(run, new[0], new[1]) -%}
    {#- else a row that another run has just added is there twice -#}
    {%- do spark_cdc._check_claim(run, run.raw) -%}
    {%- set increment = spark_cdc._helper('increment_' ~ run.suffix) -%}
    {%- if run.call.builds == 'events' -%}
        {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ spark_cdc._events_difference(run, new[0], new[1])) -%}
        {%- do spark_cdc._keep_replaced_events(run, increment) -%}
        {%- do spark_cdc._store_increment(
            run, increment, ['cdc_sequence'], run.get('watermark'),
            spark_cdc._sequence_range('stored.cdc_sequence', new[0], new[1])
        ) -%}
    {%- else -%}
        {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ spark_cdc._difference_of_quarantine(run)) -%}
        {%- do spark_cdc._store_increment(run, increment, ['raw'], run.get('watermark'), is_unique=false) -%}
    {%- endif -%}
    {%- do spark_cdc._keep_new_rows(run) -%}
    {%- do spark_cdc._drop(increment) -%}
{%- endmacro -%}


{#- Raw rows with what they are known by: two hashes of the row (128 bits: rows are told apart by nothing else; a NULL does
    not count, so a column that is added later changes no old row; those within a nested value do, which is hashed as JSON)
    and the group. Where they are kept a varchar is a string, so that it may become longer. -#}
{%- macro _delivered(run, relation) -%}
    {%- set parts = [] -%}
    {%- for name, data_type in run.call.layout.types_there.items() -%}
        {%- set value = spark_cdc._quote(name) -%}
        {%- if '<' in data_type or spark_cdc._has_no_equality(data_type) -%}
            {%- set json = 'to_json(struct(' ~ value ~ '), map(' ~ spark_cdc._json_times() | replace('\n', ' ') ~ '))' -%}
            {%- set value = 'if(' ~ value ~ ' is null, null, ' ~ json ~ ')' -%}
        {%- endif -%}
        {%- do parts.append(
            'if(' ~ spark_cdc._quote(name) ~ ' is null, null, ' ~ spark_cdc._literal(name | lower) ~ '), ' ~ value
        ) -%}
    {%- endfor -%}
select
    {%- for name, data_type in run.call.layout.types_there.items() %}
        {%- set column = spark_cdc._quote(name) %}
    {{ 'cast(' ~ column ~ ' as string) as ' ~ column if (data_type | lower).startswith('varchar') else column }},
    {%- endfor %}
    xxhash64(
        {{ parts | join(',\n') | indent(8) }}
    ) as cdc_hash_1,
    xxhash64(
        'second',
        {{ parts | join(',\n') | indent(8) }}
    ) as cdc_hash_2,
    {{ run.together.group | indent(4) }} as cdc_group
from {{ relation }}
{%- endmacro -%}

{#- The type that a raw column has where the rows that were read are kept: not each format has all. -#}
{%- macro _type_as_kept(data_type, file_format) -%}
    {%- set type_there = data_type | lower -%}
    {%- if type_there.startswith('varchar(') or (file_format == 'iceberg' and type_there.startswith(('char(', 'string'))) -%}
        {{ return('string') }}
    {%- elif file_format == 'iceberg' and type_there in ('tinyint', 'smallint') -%}
        {{ return('int') }}
    {%- endif -%}
    {{ return(data_type) }}
{%- endmacro -%}

{#- Whether rows of the first type go on with those that are kept, of the second. Of a struct with many fields Spark does not
    tell the type. -#}
{%- macro _is_kept_as(type_now, type_kept, file_format) -%}
    {%- if '<' not in type_now ~ type_kept -%}
        {{ return(type_now | lower == type_kept | lower) }}
    {%- endif -%}
    {{ return(
        ' more fields' in type_now ~ type_kept
        or spark_cdc._type_as_stored(type_now, file_format) == spark_cdc._type_as_stored(type_kept, file_format)
    ) }}
{%- endmacro -%}

{#- Writes the raw rows that were not read yet into `run.read`, if there are any, which `run.has_new_rows` says. A row that is
    there more often than it was read is new for the rest. Hashes alone come first, in one narrow shuffle: those of few rows Spark
    then sends to where the rows are, of which none but the new ones are shuffled. -#}
{%- macro _read_new_rows(run) -%}
    {%- set kept = {} -%}
    {%- for name, data_type in spark_cdc._described(run.raw).items() if name not in ('cdc_hash_1', 'cdc_hash_2', 'cdc_group') -%}
        {%- do kept.update({name | lower: data_type}) -%}
    {%- endfor -%}
    {%- for name in kept if name not in run.call.layout.types_there | map('lower') -%}
        {{ spark_cdc._stop(
            'cdc_incremental',
            'the raw rows that ' ~ this ~ ' has read have the column ' ~ name ~ ', which ' ~ run.call.layout.relation ~ ' has no longer',
            'the columns that it had (a view can add them); to build the model anew, from the rows that the raw relation has now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endfor -%}
    {%- set added = [] -%}
    {%- for name, data_type in run.call.layout.types_there.items() -%}
        {%- set type_now = spark_cdc._type_as_kept(data_type, run.file_format) -%}
        {%- set type_kept = kept.get(name | lower) -%}
        {%- if type_kept is none -%}
            {%- do added.append(spark_cdc._quote(name) ~ ' ' ~ type_now) -%}
        {%- elif not spark_cdc._is_kept_as(type_now, type_kept, run.file_format) -%}
            {#- by their hashes all rows would be others -#}
            {{ spark_cdc._stop(
                'cdc_incremental',
                'the raw rows that ' ~ this ~ ' has read have the column ' ~ name ~ ' of type ' ~ type_kept ~ ', which is now ' ~ data_type,
                'the type that it had (a view can cast it); to build the model anew, from the rows that the raw relation has now',
                'dbt run --full-refresh --select ' ~ model.name
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {%- if added -%}
        {%- do run_query('alter table ' ~ run.raw ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
    {%- endif -%}
    {%- do spark_cdc._note_version(run, run.raw) -%}
    {%- set since = spark_cdc._since_watermark(run) -%}
    {%- set delivered = spark_cdc._delivered(run, '(select * from ' ~ run.call.layout.relation ~ ') as cdc_rows\n' ~ since) -%}
    {%- set missing -%}
create table {{ run.missing }} using parquet as
with counted as (
    select
        cdc_hash_1,
        cdc_hash_2,
        1 as cdc_times
    from (
        {{ delivered | indent(8) }}
    ) as delivered
    union all
    select
        cdc_hash_1,
        cdc_hash_2,
        -1 as cdc_times
    from {{ run.raw }} as cdc_rows
    {{ since | indent(4) }}
)

select
    cdc_hash_1,
    cdc_hash_2,
    sum(cdc_times) as cdc_times
from counted
group by cdc_hash_1, cdc_hash_2
having sum(cdc_times) > 0
    {%- endset -%}
    {%- do run_query(missing) -%}
    {%- do run.update({'has_new_rows': run_query('select 1 from ' ~ run.missing ~ ' limit 1') | length > 0}) -%}
    {%- if not run.has_new_rows -%}
        {%- if run.properties.get('spark_cdc.raw_is_partial') -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_is_partial': ''}) -%}
        {%- endif -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do spark_cdc._note_version(run, run.target) -%}
    {%- do spark_cdc._number_run(run) -%}
    {%- set new_rows -%}
create table {{ run.read }} using parquet as
with delivered as (
    {{ delivered | indent(4) }}
),

numbered as (
    select
        delivered.*,
        missing.cdc_times,
        row_number() over (
            partition by delivered.cdc_hash_1, delivered.cdc_hash_2
            order by delivered.cdc_hash_1
        ) as cdc_number
    from delivered
    inner join {{ run.missing }} as missing
        on delivered.cdc_hash_1 = missing.cdc_hash_1 and delivered.cdc_hash_2 = missing.cdc_hash_2
)

select
    * except (cdc_times, cdc_number),
    true as cdc_is_new
from numbered
where cdc_number <= cdc_times
    {%- endset -%}
    {%- do run_query(new_rows) -%}
    {%- do spark_cdc._keep_watermark(run, run.read) -%}
{%- endmacro -%}

{%- macro _drop_new_rows(run) -%}
    {%- do spark_cdc._drop(run.missing) -%}
    {%- if run.has_new_rows -%}{%- do spark_cdc._drop(run.read) -%}{%- endif -%}
{%- endmacro -%}

{#- Adds to `run.read` the older rows that the new ones are decoded with: those of their groups, which all lie between
    `low` and `high`; of rows without a group the deliveries of the same row, for their number. -#}
{%- macro _read_related_rows(run, low, high) -%}
    {%- set names = spark_cdc._column_list(run.call.layout.types_there) ~ ', cdc_hash_1, cdc_hash_2, cdc_group' -%}
    {%- set sql -%}
insert into {{ run.read }} ({{ names }}, cdc_is_new)
    {%- if low is not none %}
select {{ names }}, false as cdc_is_new
from {{ run.raw }}
where
    cdc_group >= {{ spark_cdc._literal(low) }}
    and cdc_group <= {{ spark_cdc._literal(high) }}
    and cdc_group in (select cdc_group from {{ run.read }})
union all
    {%- endif %}
select {{ names }}, false as cdc_is_new
from {{ run.raw }}
where
    cdc_group is null
    and (cdc_hash_1, cdc_hash_2) in (select cdc_hash_1, cdc_hash_2 from {{ run.read }} where cdc_group is null)
    {%- endset -%}
    {%- do run_query(sql) -%}
{%- endmacro -%}

{#- How often new rows are added to files of raw rows before all are written again. The variable is for tests and not public. -#}
{%- macro _additions_before_rewrite() -%}
    {{ return(var('spark_cdc_internal_additions_before_rewrite', 100)) }}
{%- endmacro -%}

{#- The new rows join those that were read. Each time that leaves small files. What puts those together is, on parquet, that
    after a hundred times all rows are written anew, into another table. -#}
{%- macro _keep_new_rows(run) -%}
    {%- if not run.has_new_rows -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set names = spark_cdc._column_list(run.call.layout.types_there) ~ ', cdc_hash_1, cdc_hash_2, cdc_group' -%}
    {%- set new_rows = 'select ' ~ names ~ ' from ' ~ run.read ~ ' where cdc_is_new' -%}
    {%- set times = run.properties.get('spark_cdc.raw_added_to', '0') | int -%}
    {%- do spark_cdc._check_claim(run, run.raw) -%}
    {%- if run.file_format != 'parquet' or times < spark_cdc._additions_before_rewrite() -%}
        {%- if run.file_format == 'parquet' -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_is_partial': 'true'}) -%}
        {%- endif -%}
        {%- do run_query('insert into ' ~ run.raw ~ ' (' ~ names ~ ')\n' ~ new_rows) -%}
        {%- if run.file_format == 'parquet' -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_added_to': times + 1, 'spark_cdc.raw_is_partial': ''}) -%}
        {%- endif -%}
    {%- else -%}
        {%- do run.update({'raw': spark_cdc._helper('raw_' ~ run.suffix)}) -%}
        {%- do run_query(spark_cdc._create_as(
            run, run.raw,
            'select ' ~ names ~ ' from ' ~ this.incorporate(path={'identifier': run.properties['spark_cdc.raw']})
            ~ '\nunion all\n' ~ new_rows
        )) -%}
        {%- do spark_cdc._check_claim(run) -%}
        {%- do spark_cdc._store_properties(run, {
            'spark_cdc.raw': run.raw.identifier, 'spark_cdc.raw_added_to': 0, 'spark_cdc.raw_is_partial': ''
        }) -%}
    {%- endif -%}
{%- endmacro -%}


{#- Where the sequences lie whose groups lie between two groups. -#}
{%- macro _sequence_range(column, low, high) -%}
    {%- if low is none -%}
        {{ return('false') }}
    {%- endif -%}
    {{ return(
        column ~ ' >= ' ~ spark_cdc._literal(low) ~ ' and ' ~ column ~ ' < ' ~ spark_cdc._literal(high ~ '~')
    ) }}
{%- endmacro -%}

{#- What changes in the model's events. -#}
{%- macro _events_difference(run, low, high) -%}
    {%- set columns = spark_cdc._described(run.target) -%}
    {%- do columns.pop('cdc_batch') -%}
    {%- set existing -%}
select * from {{ run.target }}
where
    {{ spark_cdc._sequence_range('cdc_sequence', low, high) }}
    and left(cdc_sequence, {{ run.together.sequence_prefix }}) in (select cdc_group from {{ run.read }})
    {%- endset -%}
select
    *,
    {{ spark_cdc._literal(run.batch) }} as cdc_batch
from (
    {{ spark_cdc._difference(existing, spark_cdc._decoded(run, run.read), ['cdc_sequence'], columns, keep_old=true) | indent(4) }}
) as difference
{%- endmacro -%}

{#- What changes in the model's quarantined rows: all entries of the rows that were read, for those that are now. An entry
    is known by its raw row alone, which may have several. -#}
{%- macro _difference_of_quarantine(run) -%}
with entries as (
    {{ spark_cdc._decoded(run, run.read) | indent(4) }}
),

rows_read as (
    select distinct {{ spark_cdc._raw_json(run.call.layout.types_there) | indent(4) }} as cdc_raw
    from {{ run.read }}
)

select
    true as cdc_is_removed,
    cast(null as string) as cdc_source,
    cast(null as string) as reason,
    cast(null as string) as detail,
    cdc_raw as raw
from rows_read
where cdc_raw in (select raw from {{ run.target }})
union all
select
    false as cdc_is_removed,
    cdc_source,
    reason,
    detail,
    raw
from entries
{%- endmacro -%}

{#- Keeps the events that are taken out or replaced: the models built on this one compute the keys that these name anew, and by
    any of their columns a view may have left them out. Written before the model: a run that is killed between has kept too
    much, which harms nothing. -#}
{%- macro _keep_replaced_events(run, increment) -%}
    {%- set replaced -%}
select
    cdc_old.*,
    cdc_batch
from {{ increment }}
where cdc_old is not null
    {%- endset -%}
    {%- if run_query('select 1 from (' ~ replaced ~ ') as replaced limit 1') | length > 0 -%}
        {#- what was kept before the model was last made anew counts no more, and may have other columns -#}
        {%- set generation = {'spark_cdc.generation': run.properties['spark_cdc.generation']} -%}
        {%- if spark_cdc._is_there(run.replaced)
            and spark_cdc._properties(run.replaced).get('spark_cdc.generation') == generation['spark_cdc.generation'] -%}
            {%- do run_query('insert into ' ~ run.replaced ~ ' by name\n' ~ replaced) -%}
        {%- else -%}
            {#- made under another name: what a run that was killed here has left stands in nobody's way -#}
            {%- set made = spark_cdc._helper('replaced_' ~ run.suffix) -%}
            {%- do run_query(spark_cdc._create_as(
                run, made, replaced, dict(generation, **spark_cdc._statistics_of_model(run))
            )) -%}
            {%- do spark_cdc._check_claim(run) -%}
            {%- do spark_cdc._drop(run.replaced) -%}
            {%- do run_query('alter table ' ~ made ~ ' rename to ' ~ run.replaced) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}


{#- The config raw_watermark as {'column': …, 'type': …, 'within': […]}, names as the relation spells them; none where it is
    not set. -#}
{%- macro _raw_watermark(layout) -%}
    {%- set given = config.get('raw_watermark') -%}
    {%- if given is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set example = "config(materialized='cdc_incremental', raw_watermark={'column': 'offset', 'within': ['topic', 'partition']})" -%}
    {%- if given is not string and (given is not mapping or 'column' not in given or given.keys() | reject('in', ['column', 'within']) | list) -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'raw_watermark is ' ~ given,
            "the name of a column of the raw relation that never decreases, or {'column': …, 'within': [...]}", example
        ) }}
    {%- endif -%}
    {%- set given = {'column': given} if given is string else given -%}
    {%- set known = layout.types_there | list -%}
    {%- set column = spark_cdc._resolve_names('cdc_incremental', 'raw_watermark', [given.column], known, example)[0] -%}
    {%- set data_type = layout.types_there[column] -%}
    {%- if '<' in data_type or data_type | lower == 'variant' -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'raw_watermark is ' ~ column ~ ', of type ' ~ data_type, 'a column of numbers, times, text or binary', example
        ) }}
    {%- endif -%}
    {{ return({
        'column': column,
        'type': data_type,
        'within': spark_cdc._resolve_names('cdc_incremental', 'raw_watermark', given.get('within', []), known, example),
    }) }}
{%- endmacro -%}

{#- The last value of the watermark in rows that were read now becomes a property of the model: from there on the next run
    looks for the last one. -#}
{%- macro _keep_watermark(run, relation) -%}
    {%- set watermark = run.raw_watermark -%}
    {%- if watermark is not none and not watermark.within -%}
        {%- set last = spark_cdc._last_watermark(watermark, relation) -%}
        {%- do run.update({'watermark': {spark_cdc._watermark_property(watermark): last} if last is not none else {}}) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _watermark_property(watermark) -%}
    spark_cdc.watermark.{{ watermark.column | lower }}
{%- endmacro -%}

{#- The last value of the watermark in a relation, as text; none where it has none that meets the condition. -#}
{%- macro _last_watermark(watermark, relation, condition='true') -%}
    {%- set last = 'max(' ~ spark_cdc._quote(watermark.column) ~ ')' -%}
    {%- set text = 'hex(' ~ last ~ ')' if watermark.type | lower == 'binary' else 'cast(' ~ last ~ ' as string)' -%}
    {{ return(run_query('select ' ~ text ~ ' from ' ~ relation ~ ' where ' ~ condition).rows[0][0]) }}
{%- endmacro -%}

{#- The clause that leaves out of `cdc_rows` what lies before the last value of the watermark that was read. None after a run
    that was killed amid adding rows to those that were read, on parquet: the last value may be there, and lower ones not. -#}
{%- macro _since_watermark(run) -%}
    {%- set watermark = run.raw_watermark -%}
    {%- if watermark is none or run.properties.get('spark_cdc.raw_is_partial') -%}
        {{ return('') }}
    {%- endif -%}
    {%- set column = spark_cdc._quote(watermark.column) -%}
    {%- if not watermark.within -%}
        {%- set before = run.properties.get(spark_cdc._watermark_property(watermark)) -%}
        {%- set last = none -%}
        {%- if before -%}
            {%- set last = spark_cdc._last_watermark(
                watermark, run.raw, column ~ ' >= ' ~ spark_cdc._cast_literal(before, watermark.type)
            ) -%}
        {%- endif -%}
        {#- no property, or of a run that was killed before it added its rows -#}
        {%- set last = spark_cdc._last_watermark(watermark, run.raw) if last is none else last -%}
        {%- if last is none -%}
            {{ return('') }}
        {%- endif -%}
        {{ return(
            'where cdc_rows.' ~ column ~ ' is null or cdc_rows.' ~ column ~ ' >= ' ~ spark_cdc._cast_literal(last, watermark.type)
        ) }}
    {%- endif -%}
    {%- set within = [] -%}
    {%- for name in watermark.within -%}
        {%- do within.append('cdc_rows.' ~ spark_cdc._quote(name) ~ ' <=> last.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- set names = spark_cdc._column_list(watermark.within) -%}
    {{ return(
        'left anti join (select ' ~ names ~ ', max(' ~ column ~ ') as cdc_last from ' ~ run.raw ~ ' group by ' ~ names
        ~ ') as last\n    on ' ~ within | join(' and ') ~ ' and cdc_rows.' ~ column ~ ' < last.cdc_last'
    ) }}
{%- endmacro -%}

{#- A value, given as text, of a type; of binary as hexadecimal text. -#}
{%- macro _cast_literal(value, data_type) -%}
    {%- if data_type | lower == 'binary' -%}
        {{ return('unhex(' ~ spark_cdc._literal(value) ~ ')') }}
    {%- endif -%}
    {{ return('cast(' ~ spark_cdc._literal(value) ~ ' as ' ~ data_type ~ ')') }}
{%- endmacro -%}
