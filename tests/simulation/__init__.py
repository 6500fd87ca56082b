"""A simulated source database, and what must be built from its changes.

Nothing in here knows SQL, Spark or the macros: tests build with the macros and compare with this.

``database``
    A table of a source database and a seeded workload of committed transactions on it. The state
    after each commit is kept by row identity, so it is the truth and not a result of decoding.
``apply_events``
    The reference interpreter: change events in, current state and history out, one plain loop that
    follows the rules of the contract by number. It takes any events, odd and sparse ones too.
``random_events``
    Arbitrary odd change events, such as no well-behaved database writes, for comparison with
    ``apply_events``.
``oracle``
    Current state and history of a workload from the difference of consecutive states alone.

All rows are plain dicts of column name to Python value: ``str``, ``int``, ``Decimal``, ``float``,
``bool``, ``bytes``, ``date``, ``datetime`` (aware, UTC, for ``timestamp``; naive for
``timestamp_ntz``) or ``None``.
"""
