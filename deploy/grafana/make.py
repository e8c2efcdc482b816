"""Writes the dashboards beside this file: `python -m deploy.grafana.make`. A test keeps the JSON equal to the code."""

import json
import sys
from pathlib import Path

from deploy.grafana.decisions import DECISIONS
from deploy.grafana.nodes import NODES
from deploy.grafana.overview import OVERVIEW
from deploy.grafana.panels import Dashboard
from deploy.grafana.tuning import TUNING

HERE = Path(__file__).parent
DASHBOARDS: tuple[Dashboard, ...] = (OVERVIEW, DECISIONS, NODES, TUNING)


def files() -> dict[Path, str]:
    """The content of each file."""
    return {HERE / f"{each.uid}.json": json.dumps(each.json(), indent=2) + "\n" for each in DASHBOARDS}


def main() -> None:
    """Write them."""
    for path, content in files().items():
        path.write_text(content)
        sys.stdout.write(f"{path.relative_to(HERE.parents[1])}\n")


if __name__ == "__main__":
    main()
