{#- No raw row is lost or counted twice. See _generic_tests.yml. -#}
{%- test raw_rows_are_accounted_for(model) -%}
select * from {{ model }}
where
    raw_rows is null
    or not (raw_rows <=> used_rows + no_op_rows + quarantined_rows)
{%- endtest -%}
