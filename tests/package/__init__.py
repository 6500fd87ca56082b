"""The project by itself, and as a package in a project of a user."""
