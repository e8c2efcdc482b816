"""The chart's own files agree with each other and with the code; what helm makes of them is tested end to end."""

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from deploy import make
from deploy.config_schema import THE_CHARTS, definitions
from loadaware.config import Config, parse
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
