"""An example of each setting, for errors."""

from __future__ import annotations

EXAMPLES = {
    "name": "name: erp",
    "decoder": "decoder: qlik_change_table",
    "schema": "schema: erp_landing",
    "tables": 'tables: ["*__ct"]',
    "exclude": 'exclude: ["tmp_*"]',
    "relation": "relation: erp_messages",
    "to": "to: models/erp",
    "prefix": "prefix: erp_",
    "build": "build: [current_state, history]",
    "materialized": "materialized: cdc_incremental",
    "file_format": "file_format: iceberg",
    "raw_watermark": "raw_watermark: {column: offset, within: [topic, partition]}",
    "batch": "batch: landed_at",
    "landing_columns": "landing_columns: [landed_at]",
    "datetime": "datetime: timestamp_ntz",
    "arguments": "arguments: {header_prefix: hdr_}",
    "metadata": "arguments: {metadata: erp_metadata}",
    "header_prefix": "arguments: {header_prefix: hdr_}",
    "header_columns": "arguments: {header_columns: 7}",
    "mask_byte_order": "arguments: {mask_byte_order: little}",
    "mask_columns": "arguments: {mask_columns: [order_id, status, amount]}",
    "table_id": "arguments: {table_id: 7}",
    "relation argument": 'arguments: {snapshot: "{table}"}',
    "table_settings": "table_settings: {orders: {key: [order_id]}}",
    "key": "key: [order_id]",
    "columns": 'columns: {order_id: bigint, amount: "decimal(12,2)"}',
    "keys": "keys: keys.csv",
    "sources": "sources: [{name: erp, decoder: qlik_change_table, schema: erp_landing}]",
}
