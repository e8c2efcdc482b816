"""The example plugin keeps the laws of our own plugins, installs as a stranger would install it, and runs."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from loadaware.config import convert
from loadaware.errors import ConfigError
from loadaware.filters.filter import Filter
from loadaware.scorers.scorer import Scorer
from tests.contracts import test_filters as filter_laws
from tests.contracts import test_scorers as scorer_laws
from tests.contracts.clusters import ONE_NODE, PODS, Cluster, Declared, clusters

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "loadaware-example-plugin"


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    """The example's package, straight from its folder."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("loadaware_example")
    finally:
        sys.path.remove(str(FOLDER))
