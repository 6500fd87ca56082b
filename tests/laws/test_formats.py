"""Every format has a folder, and every file in the folder is read."""

from __future__ import annotations

import random
from collections.abc import Sequence

import hypothesis
import pytest
from kit.formats import Format, Vector, decoders_built, every_format
from kit.units import vector_units

from laws.test_workloads import check_case

FORMATS = every_format()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The formats that `--only` names, and their vectors."""
    only: Sequence[str] = metafunc.config.getoption("--only")
    chosen = [one for one in FORMATS if not only or one.decoder in only]
    if "vector" in metafunc.fixturenames:
        vectors = [
            pytest.param(format_, file, vector, id=f"{file}-{vector['id']}")
            for format_ in chosen
            for file in format_.vectors
            for vector in format_.vectors_of(file)
        ]
        metafunc.parametrize(("format_", "file", "vector"), vectors)
    elif "format_" in metafunc.fixturenames:
        metafunc.parametrize("format_", chosen, ids=lambda one: one.decoder)


def test_every_decoder_has_a_folder() -> None:
    served = [name for format_ in FORMATS for name in (format_.decoder, *format_.serves)]
    assert sorted(served) == decoders_built()


def test_every_file_of_vectors_is_read(format_: Format) -> None:
    files = {path.stem for path in (format_.folder / "vectors").iterdir()}
    assert files == {*format_.vectors, *format_.vector_units}


# One seed in `make check`, two in `make test`, eleven in `make test-all`.
SEEDS = range(2, 3 + hypothesis.settings().max_examples // 30)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_seed_gives_cases_and_deliveries(format_: Format, seed: int) -> None:
    cases = list(format_.cases(seed))
    assert any(case.quarantine for case in cases)
    for case in cases:
        check_case(case)
    assert len(format_.deliveries(random.Random(seed)).batches) > 1


def test_every_vector_is_in_a_unit_test(format_: Format) -> None:
    """The id is in the expected rows, so that a failure names it; or at least in the input."""
    for file in format_.vector_units:
        vectors = format_.vectors_of(file)
        units = format_.vector_units[file](vectors)
        expected = {row["vector"] for unit in units for row in unit.expect}
        given = "".join(sql for unit in units for sql in unit.given.values())
        without_rows = {
            vector["id"]
            for vector in vectors
            if not any(vector["expect"].values()) and vector["id"] in given
        }
        assert expected | without_rows >= {vector["id"] for vector in vectors}
    assert len({unit.name for unit in vector_units(format_)}) == len(vector_units(format_))


def test_vector(format_: Format, file: str, vector: Vector) -> None:
    """The reference in Python gives the vector's result, without Spark."""
    format_.vectors[file](vector)
