"""One folder a format: what the laws need to know of it, and its own tests."""
