"""Runs a real helm on the chart.

The bargain: values go in as a mapping, what helm made of them comes out; a refusal is a `HelmError` with helm's words.
No cluster is asked.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.parts.builder import binary

CHART = Path(__file__).parents[2] / "deploy" / "chart"
NAMESPACE = "kube-system"
KUBERNETES = "1.34.0"
"""The cluster's version as the chart is told."""

Values = Mapping[str, Any]
Manifest = dict[str, Any]


class HelmError(Exception):
    """helm refused; the message is what it said."""


def helm(*arguments: str | Path, values: Values | None = None) -> str:
    """What helm prints."""
    given = ["--values=-"] if values is not None else []
    done = subprocess.run(
        [binary("helm"), *arguments, *given], input=json.dumps(values), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise HelmError(done.stderr + done.stdout)
    return done.stdout


def template(values: Values, *, release: str = "loadaware", namespace: str = NAMESPACE, chart: Path = CHART) -> str:
    """The chart as manifests, in one text."""
    options = [f"--namespace={namespace}", f"--kube-version={KUBERNETES}"]
    return helm("template", release, chart, *options, values={"image": {"repository": "loadaware"}, **values})


def objects(rendered: str) -> list[Manifest]:
    """The objects of a text of manifests."""
    return [document for document in yaml.safe_load_all(rendered) if document]
