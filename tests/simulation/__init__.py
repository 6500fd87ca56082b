"""A simulated source database, and the expected results of its changes.

This package does not use SQL, Spark or the macros: tests build with the macros and compare.

``database``
    A table of a source database and a seeded workload of committed transactions on it. The state
    after each commit is kept by row identity. So it is the truth, not a result of decoding.
``apply_events``
    The reference interpreter: change events in, current state and history out. It is one plain
    loop that follows the rules of the contract by number. It takes any events, also unexpected
    and sparse ones.
``random_events``
    Arbitrary unexpected change events, which no regular database writes, for comparison with
    ``apply_events``.
``oracle``
    Current state and history of a workload from the difference of consecutive states alone.

All rows are plain dicts of column name to Python value: ``str``, ``int``, ``Decimal``, ``float``,
``bool``, ``bytes``, ``date``, ``datetime`` (aware, UTC, for ``timestamp``; naive for
``timestamp_ntz``) or ``None``.
"""
