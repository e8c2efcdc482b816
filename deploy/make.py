"""What is made below deploy/: `make chart` writes it, a test keeps it equal.

chart/files/              rules and dashboards, copied from prometheus/ and grafana/: a chart reads only its own files;
                          and the names of our plugins, so that the notes can warn of any other
chart/values.schema.json  its `$defs`, from the classes of loadaware.config; the rest of it is written by hand
manifests/                the chart rendered with its default values, a file for each template, and a kustomization
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from deploy.config_schema import definitions
from loadaware.filters import FILTERS
from loadaware.scorers import SCORERS
from tests.parts.charts import CHART, NAMESPACE, template

HERE = Path(__file__).parent
SCHEMA = CHART / "values.schema.json"
MANIFESTS = HERE / "manifests"
RULES = re.compile(r"(?m)^groups:")
"""What a file of rules has, and a file of their tests has not."""

MADE = "# Made from deploy/chart by `make chart`; change it there.\n"
KUSTOMIZATION = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: {namespace}
resources:
{resources}
# There is no public image: name yours here, or in a kustomization of your own over this one.
images:
- name: loadaware
  newName: registry.example.com/loadaware
"""


def files() -> dict[Path, str]:
    """Path -> content of everything that needs no helm."""
    return {**_copies(), CHART / "files" / "plugins.json": plugins(), SCHEMA: schema()}


def _copies() -> dict[Path, str]:
    rules = {path: path.read_text(encoding="utf-8") for path in sorted((HERE / "prometheus").glob("*.yaml"))}
    boards = {path: path.read_text(encoding="utf-8") for path in sorted((HERE / "grafana").glob("*.json"))}
    wanted = {path: text for path, text in rules.items() if RULES.search(text)} | boards
    return {CHART / "files" / path.relative_to(HERE): text for path, text in wanted.items()}


def schema() -> str:
    """The schema of the values, with the configuration's definitions of today."""
    written = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return json.dumps(written | {"$defs": definitions()}, indent=2) + "\n"


def plugins() -> str:
    """The names of the plugins that come with loadaware."""
    return json.dumps({"filters": sorted(FILTERS), "scorers": sorted(SCORERS)}, indent=2) + "\n"


def manifests() -> dict[Path, str]:
    """Path -> content of the rendered manifests. Builds helm if it is missing."""
    made: dict[str, list[str]] = {}
    for name, document in _documents(template({})):
        made.setdefault(name, []).append(document)
    texts = {name: MADE + "---\n".join(documents) for name, documents in sorted(made.items())}
    resources = "\n".join(f"- {name}" for name in texts)
    texts["kustomization.yaml"] = MADE + KUSTOMIZATION.format(namespace=NAMESPACE, resources=resources)
    return {MANIFESTS / name: text for name, text in texts.items()}


def _documents(rendered: str) -> Iterator[tuple[str, str]]:
    """Each object with the file name of the template that it comes from."""
    for document in re.split(r"(?m)^---\n", rendered):
        head, _, body = document.partition("\n")
        if body.strip():
            yield head.rpartition("/")[2], body.strip() + "\n"


def main() -> None:
    """Write everything, and remove what is no longer made. The schema comes first: rendering reads it."""
    for folder, make in ((CHART / "files", files), (MANIFESTS, manifests)):
        made = make()
        for path in {path for path in folder.rglob("*") if path.is_file()} - made.keys():
            path.unlink()
        for path, text in made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(HERE.parent)}\n")


if __name__ == "__main__":
    main()
