"""What one run of an incremental model does and does not."""
