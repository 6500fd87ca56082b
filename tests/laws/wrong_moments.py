"""Wrong moments and samples: calls of the macros that read built tables, and their messages."""

from __future__ import annotations

# Moments and samples.
LOOKED_AT: list[tuple[str, str, str]] = [
    ("as_of", "changes, at='2026-03-02'", "is no history: it lacks cdc_valid_from, cdc_valid_to"),
    ("as_of", "versions", "it has neither at nor sequence"),
    ("as_of", "versions, at='2026-03-02', sequence='t1'", "it has at and sequence"),
    *(
        ("as_of", f"versions, at={given}", f"at is {said}")
        for given, said in (
            ("''", "empty"),
            ("20260302", "20260302, a number"),
            ("misspelt", "not defined"),
            ("'yesterday'", "yesterday"),
            ("'current_timestamp()'", "current_timestamp()"),
            ("'2026-02-29'", "2026-02-29"),
            ("'2026-03-02 24:00'", "2026-03-02 24:00"),
            ("'2026-03-02 08'", "2026-03-02 08"),
            ("'2026-03-02 08:30:00 Berlin'", "2026-03-02 08:30:00 Berlin"),
            ("'2026-03-02 08:30:00 Europe/Berlim'", "2026-03-02 08:30:00 Europe/Berlim"),
            ("'2026-03-02 08:30:00+25:00'", "2026-03-02 08:30:00+25:00"),
        )
    ),
    ("as_of", "versions, sequence=42", "sequence is 42, a number"),
    ("as_of", "versions, sequence='a~'", "sequence is a~"),
    ("as_of", "versions, sequence=''", "sequence is empty"),
    ("versions_between", "no_events, from_at='2026-03-02'", "is no history: it lacks"),
    ("versions_between", "versions, to_at='2026-03-02'", "it has neither from_at nor from_seq"),
    (
        "versions_between",
        "versions, from_at='2026-03-02', to_sequence='t1'",
        "it has from_at and to_sequence",
    ),
    (
        "versions_between",
        "versions, from_at='2026-03-02', to_at='2026-03-01 23:59'",
        "from_at is 2026-03-02, which is after to_at, 2026-03-01 23:59",
    ),
    ("versions_between", "versions, from_sequence='t2', to_sequence='t1'", "is t2, which is after"),
    ("in_sample", "no_events, key=['nr'], sample=0.1", "key names the column nr, which does not"),
    ("in_sample", "no_events, key=['id'], sample=0", "sample is 0"),
    ("in_sample", "no_events, key=['id'], sample=true", "sample is True"),
    ("in_sample", "no_events, key=['id'], sample=' '", "sample is empty"),
]
