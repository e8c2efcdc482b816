"""Pages made from the code: `python docs/make.py` writes them, a test keeps them equal.

docs/configuration.md comes from the classes of loadaware.config: names, types and defaults from the classes
themselves, the words from the docstrings beneath the fields. docs/plugins.md is made likewise, by make_plugins.py.
"""

import inspect
import sys
from pathlib import Path

import msgspec
from make_plugins import plugins_page
from make_tables import HEADING, FieldDocs, field_docs, rows, title

from loadaware import config

HERE = Path(__file__).parent

OPENING = """# Configuration

One YAML file in the style of KubeSchedulerConfiguration, given by `--config` or `$LOADAWARE_CONFIG`. Without any,
the defaults below are in force: they work in a cluster with nothing but metrics-server. `loadaware check-config FILE`
says whether a file is right and, if not, where it is wrong. While `loadaware serve` runs, the file is looked at every
two seconds: a good one is taken whole, a bad one is refused with a log line and the old one stays in force. Changes
under `server`, `people`, `log` and `history` need a restart.

Durations are written `15s`, `2m30s`, `1h`, `1d`; quantities `500m`, `2Gi`. Unknown keys are refused.

```yaml
apiVersion: loadaware.io/v1alpha1
kind: LoadAwareConfiguration
source:
  type: Prometheus
  url: http://prometheus.monitoring:9090
profiles:
- schedulerName: default-scheduler
  scorers:
  - name: LoadVariationRiskBalancing
    weight: 2
    args: {safeVarianceSensitivity: 2}
  - name: TargetLoadPacking
  filters:
  - name: UsageThreshold
    args: {thresholds: {cpu: 80}}
```

<!-- Below: made by docs/make.py from loadaware/config.py. -->
"""


def classes() -> list[type[msgspec.Struct]]:
    """The sections in the order in which they are written, the whole first."""
    found = [c for c in vars(config).values() if isinstance(c, type) and issubclass(c, config.Section)]
    return [config.Config, *(c for c in found if c not in (config.Config, config.Section))]


def section(kind: type[msgspec.Struct], docs: FieldDocs) -> str:
    """One class as a table."""
    summary = " ".join((inspect.getdoc(kind) or "").split())
    lines = [f"## {title(kind)}", "", summary, "", *HEADING]
    tag = kind.__struct_config__.tag
    if tag is not None:
        lines.append(f"| `type` | `{tag}` | required | Which source this is. |")
    lines += rows(kind, docs)
    return "\n".join(lines) + "\n"


def configuration_page() -> str:
    """The whole of docs/configuration.md."""
    docs = field_docs(config)
    return OPENING + "\n" + "\n".join(section(kind, docs) for kind in classes())


PAGES = {"configuration.md": configuration_page, "plugins.md": plugins_page}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (HERE / name).write_text(make(), encoding="utf-8")
        sys.stdout.write(f"docs/{name}\n")
