"""`spark-cdc health`: its query, its rule of what is worst, its lines and its page."""
