"""The digest changes with a statement, and with nothing else."""

import importlib
import itertools
from pathlib import Path

import pytest

from loadaware.simulation.code_digest import PACKAGES, _reached, code_digest

numbers = itertools.count()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of its own, known for the time of the test. It is never imported."""
    name = f"digested_{next(numbers)}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("loadaware.simulation.code_digest.PACKAGES", (*PACKAGES, name))
    return name


def write(folder: Path, package: str, **modules: str) -> str:
    for name, text in modules.items():
        (folder / package / f"{name}.py").write_text(text.replace("PACKAGE", package), encoding="utf-8")
    importlib.invalidate_caches()
    return code_digest(f"{package}.one")


def test_a_statement_counts_and_words_do_not(tmp_path: Path, package: str) -> None:
    before = write(tmp_path, package, one='"""Words."""\nX = 1\n"""Of X."""\n')
    assert before == write(tmp_path, package, one='"""Other words."""\n# a remark\nX  =  1\n')
    assert before != write(tmp_path, package, one='"""Words."""\nX = 2\n"""Of X."""\n')


def test_what_is_imported_counts_and_what_is_not_does_not(tmp_path: Path, package: str) -> None:
    one = "from PACKAGE import two\nfrom PACKAGE.three import Z\n"
    before = write(tmp_path, package, one=one, two="X = 1", three="Z = 1", four="X = 1")
    assert before == write(tmp_path, package, four="X = 2")
    changed = write(tmp_path, package, two="X = 2")
    assert changed != before
    assert changed != write(tmp_path, package, three="Z = 2")


def test_a_run_goes_through_engine_core_and_scorers_but_not_through_what_shows_it() -> None:
    reached = set(_reached("loadaware.simulation.trial"))
    assert {"loadaware.simulation.engine", "loadaware.core", "loadaware.scorers.entropic_risk"} <= reached
    assert not {"loadaware.cli", "loadaware.simulating", "loadaware.simulation.picture"} & reached
    assert code_digest() == code_digest()
