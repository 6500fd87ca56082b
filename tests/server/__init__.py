"""The server, `make`, and a cluster."""
