"""kubectl finds a plugin by the name of its program, and the plugin asks where our own manifests put the Service."""

import tomllib
from pathlib import Path

import yaml
from click.testing import CliRunner

from loadaware.kubectl import plugin

ROOT = Path(__file__).parents[2]


def test_the_program_has_the_name_that_kubectl_looks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"]["kubectl-loadaware"] == "loadaware.kubectl:main"


def test_the_service_it_asks_is_the_one_that_is_installed() -> None:
    told = plugin.commands["explain"].params
    defaults = {option.name: option.default for option in told}
    documents = yaml.safe_load_all((ROOT / "deploy" / "manifests" / "service.yaml").read_text(encoding="utf-8"))
    places = {
        (one["metadata"]["namespace"], f"{one['metadata']['name']}:{port['name']}")
        for one in documents
        for port in one["spec"]["ports"]
    }
    assert (defaults["service_namespace"], defaults["service"]) in places


def test_it_helps_without_a_cluster() -> None:
    result = CliRunner().invoke(plugin, ["--help"], prog_name="kubectl loadaware")
    assert result.exit_code == 0
    assert "explain" in result.stdout
    assert "shadow" in result.stdout
