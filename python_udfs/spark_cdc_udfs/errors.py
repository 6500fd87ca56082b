"""The one kind of error that this package reports to its user, and how a text is shown."""


class Failure(Exception):
    """A request that cannot be fulfilled. The message is one line that says why."""


def printable(text: str) -> str:
    """Write a text for a terminal: characters that could control it are escaped."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
