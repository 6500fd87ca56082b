"""The one kind of error that this package reports to its user."""


class Failure(Exception):
    """A request that cannot be fulfilled. The message is one line that says why."""
