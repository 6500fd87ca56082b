"""The capture stream of the demo."""

from __future__ import annotations

from formats.gbase_capture import make_demo_stream


def test_the_demo_stream_is_up_to_date() -> None:
    """The committed file is the output of the script."""
    seed = make_demo_stream.SEED.read_text(encoding="utf-8")
    assert seed == make_demo_stream.seed(), f"run python {make_demo_stream.__file__}"
