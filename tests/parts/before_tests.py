"""Builds programs between collection and the first test, where no test's time limit runs.

The bargain: a conftest names its folder and the programs its tests run; nothing is built when none of those tests
was selected. Where workers run the tests (pytest -n), whoever started them builds before they start, in plain sight.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.parts.builder import binaries


def build_for(session: pytest.Session, folder: Path, programs: Iterable[str]) -> None:
    """Call it from pytest_collection_finish; progress goes to the terminal."""
    selected = any(folder in item.path.parents for item in session.items)
    if not selected or session.config.option.collectonly:
        return
    build(session.config, programs)


def build(config: pytest.Config, programs: Iterable[str]) -> None:
    """Build now; progress goes to the terminal. A worker has none: there everything is built already."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    binaries(programs, terminal.write_line if isinstance(terminal, pytest.TerminalReporter) else lambda _: None)
