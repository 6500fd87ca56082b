"""The one kind of error that this package reports to its user."""


class Failure(Exception):
    """What was asked for cannot be done. The message is one line that says why."""
