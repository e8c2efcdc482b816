"""Pages made from the code: `python docs/make.py` writes them, a test keeps them equal.

docs/configuration.md comes from the classes of loadaware.config: names, types and defaults from the classes
themselves, the words from the docstrings beneath the fields.
"""

import ast
import inspect
import sys
import typing
from pathlib import Path

import msgspec

from loadaware import config
from loadaware.quantities import Duration, Quantity, format_duration

HERE = Path(__file__).parent

OPENING = """# Configuration

One YAML file in the style of KubeSchedulerConfiguration, given by `--config` or `$LOADAWARE_CONFIG`. Without any,
the defaults below are in force: they work in a cluster with nothing but metrics-server. `loadaware check-config FILE`
says whether a file is right and, if not, where it is wrong. While `loadaware serve` runs, the file is looked at every
two seconds: a good one is taken whole, a bad one is refused with a log line and the old one stays in force. Changes
under `server` need a restart.

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


def field_docs() -> dict[str, dict[str, str]]:
    """The docstring beneath each field, by class."""
    tree = ast.parse(inspect.getsource(config))
    docs: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            pairs = zip(node.body, node.body[1:], strict=False)
            docs[node.name] = {
                field.target.id: " ".join(text.value.value.split())
                for field, text in pairs
                if isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            }
    return docs


def classes() -> list[type[msgspec.Struct]]:
    """The sections in the order in which they are written, the whole first."""
    found = [c for c in vars(config).values() if isinstance(c, type) and issubclass(c, config.Section)]
    return [config.Config, *(c for c in found if c not in (config.Config, config.Section))]


def type_name(kind: object) -> str:
    """A type in the words of YAML."""
    names = {str: "text", bool: "true or false", int: "whole number", float: "number"}
    plain = {Duration: "duration", Quantity: "quantity", None: "", type(None): ""}
    if isinstance(kind, type) and (kind in names or kind in plain):
        return names.get(kind) or plain[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"[{title(kind)}](#{anchor(kind)})"
    arguments = [a for a in typing.get_args(kind) if a not in (type(None), Ellipsis)]
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f"`{a}`" for a in arguments)
    if typing.get_origin(kind) is tuple:
        return f"list of {type_name(arguments[0])}"
    if len(arguments) == 2 and "Mapping" in str(kind):
        return f"map of {type_name(arguments[0])} to {type_name(arguments[1]) or 'anything'}"
    return " or ".join(type_name(a) for a in arguments)


def default_text(value: object) -> str:
    """A default as one writes it in YAML."""
    if isinstance(value, Duration):
        return f"`{format_duration(value)}`"
    if isinstance(value, Quantity):
        return f"`{value / 2**20:g}Mi`"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, msgspec.Struct) or (
        isinstance(value, tuple) and any(isinstance(item, msgspec.Struct) for item in value)
    ):
        return "see there"
    if isinstance(value, tuple | list):
        return ", ".join(default_text(item) for item in value) or "none"
    return "none" if value in (None, "", {}) else f"`{value}`"


def default_of(field: msgspec.structs.FieldInfo) -> object:
    """A field's default, made if it is made anew each time."""
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def title(kind: type) -> str:
    """A section's heading."""
    return kind.__name__.removesuffix("Section")


def anchor(kind: type) -> str:
    """The heading's link."""
    return title(kind).lower()


def section(kind: type[msgspec.Struct], docs: dict[str, dict[str, str]]) -> str:
    """One class as a table."""
    words = {name: text for base in reversed(kind.__mro__) for name, text in docs.get(base.__name__, {}).items()}
    summary = " ".join((inspect.getdoc(kind) or "").split())
    lines = [f"## {title(kind)}", "", summary, "", "| setting | type | default | meaning |", "|---|---|---|---|"]
    tag = kind.__struct_config__.tag
    if tag is not None:
        lines.append(f"| `type` | `{tag}` | required | Which source this is. |")
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        default = "required" if field.required else default_text(default_of(field))
        lines.append(
            f"| `{field.encode_name}` | {type_name(hints[field.name])} | {default} | {words.get(field.name, '')} |"
        )
    return "\n".join(lines) + "\n"


def configuration_page() -> str:
    """The whole of docs/configuration.md."""
    docs = field_docs()
    return OPENING + "\n" + "\n".join(section(kind, docs) for kind in classes())


PAGES = {"configuration.md": configuration_page}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (HERE / name).write_text(make(), encoding="utf-8")
        sys.stdout.write(f"docs/{name}\n")
