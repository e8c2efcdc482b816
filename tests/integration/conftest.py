"""Builds the real Prometheus that these tests need, once, before the first of them."""

from pathlib import Path

import pytest

from tests.parts.before_tests import build_for


def pytest_collection_finish(session: pytest.Session) -> None:
    """Where no test's time limit runs."""
    build_for(session, Path(__file__).parent, ["prometheus", "promtool"])
