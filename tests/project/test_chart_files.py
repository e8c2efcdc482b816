"""The chart's own files agree with each other and with the code; what helm makes of them is tested end to end."""

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from deploy import make
from deploy.config_schema import RANGES, THE_CHARTS, definitions
from loadaware import config
from loadaware.config import Config, parse
from loadaware.errors import ConfigError
from tests.parts.charts import CHART

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_what_is_made_for_the_chart_is_what_stands_there() -> None:
    made = make.files()
    found = {path for path in (CHART / "files").rglob("*") if path.is_file()} | {make.SCHEMA}
    assert found == made.keys(), "run: make chart"
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run: make chart"


def test_the_chart_has_the_version_of_the_package() -> None:
    description = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (description["version"], description["appVersion"]) == (VERSION, VERSION)


def named(values: Any, schema: Any, path: str = "") -> None:
    """Each value has a row in the schema and each row a value, all the way down; none may be taken away by null."""
    properties = schema.get("properties")
    if properties is None:
        return
    assert values.keys() == properties.keys() - {"global"} == set(schema["required"]), path
    for name, below in properties.items():
        if name in values:
            named(values[name], below, f"{path}.{name}")


def test_values_and_schema_name_the_same_things() -> None:
    named(VALUES, SCHEMA)


def refused(schema: Any, name: str) -> bool:
    return schema["additionalProperties"] is False and name not in schema["properties"]


@pytest.mark.parametrize(("section", "name"), [(s, n) for s, names in THE_CHARTS.items() for n in sorted(names)])
def test_what_the_chart_sets_itself_is_a_setting_that_the_schema_refuses(section: str, name: str) -> None:
    made = definitions()
    assert refused(made[section], name)
    examples = {
        "Config": {name: {"apiVersion": "loadaware.io/v1alpha1", "kind": "LoadAwareConfiguration"}.get(name, "shadow")},
        "ServerSection": {"server": {name: {"certFile": "a", "keyFile": "b"} if name == "tls" else 9000}},
        "PeopleSection": {"people": {name: 9000 if name == "port" else "x"}},
        "DemandSection": {"demand": {name: {"url": "http://x:1"} if name == "handOver" else "/tmp/x"}},
        "HistorySection": {"history": {name: "1Gi"}},
    }
    assert parse(json.dumps(examples[section])) is not None


def test_a_section_of_the_schema_is_a_section_of_the_configuration() -> None:
    made = definitions()
    names = {field.encode_name for field in msgspec.structs.fields(Config)}
    assert made["Config"]["properties"].keys() == names - THE_CHARTS["Config"]
    assert made["PrometheusSource"]["required"] == ["type", "url"]
    assert made["PrometheusSource"]["properties"]["type"] == {"const": "Prometheus"}
    assert made["StalenessSection"]["properties"]["fresh"]["type"] == "string"


BOUNDS = [
    (section, name, keyword, bound)
    for section, fields in RANGES.items()
    for name, range_ in fields.items()
    for keyword, bound in range_.items()
]
NEEDED = {"ScorerReference": {"name": "x"}, "ReplaySource": {"folder": "x", "type": "Replay"}}


def within_and_beyond(keyword: str, bound: Any) -> tuple[Any, Any]:
    """A value that the schema just takes, and one that it just refuses."""
    match keyword:
        case "minimum":
            return bound, bound - 1
        case "maximum":
            return bound, bound + 1
        case "exclusiveMinimum":
            return bound + 0.001, bound
        case "minItems":
            return [{}] * bound, []
        case "maxItems":
            return ["1m"] * bound, ["1m"] * (bound + 1)
        case _:
            return "calm", "a/b"


@pytest.mark.parametrize(("section", "name", "keyword", "bound"), BOUNDS)
def test_a_range_of_the_schema_is_the_configurations_own(section: str, name: str, keyword: str, bound: Any) -> None:
    assert definitions()[section]["properties"][name][keyword] == bound
    kind, needed = getattr(config, section), NEEDED.get(section, {})
    good, bad = within_and_beyond(keyword, bound)
    config.convert({**needed, name: good}, kind, "file")
    with pytest.raises(ConfigError):
        config.convert({**needed, name: bad}, kind, "file")
