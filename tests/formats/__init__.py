"""One folder for each format: its interface to the laws, and its own tests."""
