"""The project by itself, and as a package in a user's project."""
