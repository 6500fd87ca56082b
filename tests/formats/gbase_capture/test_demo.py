"""The capture streams of the demo."""

from __future__ import annotations

from formats.gbase_capture import make_demo_stream


def test_demo_streams_are_up_to_date() -> None:
    """The committed files are the output of the script."""
    for seed, text in make_demo_stream.seeds().items():
        assert seed.read_text(encoding="utf-8") == text, f"run python {make_demo_stream.__file__}"
