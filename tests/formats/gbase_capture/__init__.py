"""GBase 8s (Informix) change data capture."""
