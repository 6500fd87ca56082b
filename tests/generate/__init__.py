"""`spark-cdc generate`."""
