"""`loadaware score`: numbers, order, refusals, and what it does without."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from loadaware.cli import cli
from tests.loadaware.command_line import POD, STATE, printed, refused, run
from tests.parts.processes import PATIENCE_SECONDS


def scored(*arguments: str) -> list[dict[str, Any]]:
    nodes = json.loads(printed("score", "--state", "state.yaml", "--pod", "pod.yaml", "-o", "json", *arguments))[
        "nodes"
    ]
    assert isinstance(nodes, list)
    return nodes


def test_score_as_json_has_the_documented_members_best_node_first(here: Path) -> None:
    nodes = scored("--scorer", "TargetLoadPacking")
    assert [node["name"] for node in nodes] == ["steady", "unknown", "busy"]
    assert nodes[0] == {
        "name": "steady",
        "score": pytest.approx(96.25),  # (1200m + 1.5 * 200m) of 4 cores is 37.5 %, and 60 * 37.5 / 40 + 40
        "priority": 29,
        "scorers": {"TargetLoadPacking": {"score": pytest.approx(96.25), "raw": 96}},
        "rejected": None,
    }
    assert nodes[2]["score"] == pytest.approx(40 * 2.5 / 60)


def test_what_was_not_measured_has_no_raw_number_and_stands_in_the_middle(here: Path) -> None:
    best, unknown, worst = scored()
    assert unknown["scorers"]["EntropicRisk"]["raw"] is None
    assert unknown["score"] == pytest.approx((best["score"] + worst["score"]) / 2)


def test_a_rejected_node_comes_last_with_its_reason_but_is_scored(here: Path) -> None:
    nodes = scored("--config", "good.yaml")
    assert [node["rejected"] is None for node in nodes] == [True, True, False]
    assert nodes[2]["name"] == "busy"
    assert "cpu" in nodes[2]["rejected"]
    assert nodes[2]["scorers"]["TargetLoadPacking"]["raw"] == 2


def test_score_as_a_table_has_a_row_per_node(here: Path) -> None:
    lines = printed("score", "--state", "state.yaml", "--pod", "pod.yaml", "--config", "good.yaml").splitlines()
    rows = [line.split("│")[1:-1] for line in lines if line.startswith("│")]
    assert [[cell.strip() for cell in row][:4] for row in rows] == [
        ["steady", "96.2", "29", "96"],
        ["unknown", "49.0", "15", "not measured"],
        ["busy", "1.7", "1", "2"],
    ]
    assert "cpu usage" in rows[2][4]


def test_a_profile_can_be_chosen_by_name_and_by_the_pods_scheduler_name(here: Path) -> None:
    by_name = scored("--config", "good.yaml", "--profile", "steady")
    assert list(by_name[0]["scorers"]) == ["LoadVariationRiskBalancing"]
    (here / "pod.yaml").write_text(POD.replace("spec:", "spec:\n  schedulerName: steady"))
    assert scored("--config", "good.yaml") == by_name


def test_the_configuration_may_come_from_the_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADAWARE_CONFIG", "good.yaml")
    assert scored() == scored("--config", "good.yaml")


def test_one_scorer_can_be_tried_with_settings_of_its_own(here: Path) -> None:
    nodes = scored("--scorer", "TargetLoadPacking", "--set", "targetUtilization=80")
    raw = {node["name"]: node["scorers"]["TargetLoadPacking"]["raw"] for node in nodes}
    assert raw == {"steady": 89, "busy": 10, "unknown": None}  # 20 * 37.5 / 80 + 80 and 80 * 2.5 / 20


def test_a_dotted_key_reaches_inside_a_setting(here: Path) -> None:
    (here / "pod.yaml").write_text("metadata: {name: web}\nspec: {containers: [{name: web}]}\n")
    nodes = scored("--scorer", "TargetLoadPacking", "--set", "defaultRequests.cpu=400m")
    assert nodes[0]["scorers"]["TargetLoadPacking"]["raw"] == 100


def test_json_state_and_pod_files_are_taken_too(here: Path) -> None:
    expected = scored()
    (here / "state.yaml").write_text(json.dumps(yaml.safe_load(STATE)))
    (here / "pod.yaml").write_text(json.dumps(yaml.safe_load(POD)))
    assert scored() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--state", "nowhere.yaml", "--pod", "pod.yaml"], "nowhere.yaml: cannot be read"),
        (["--state", "state.yaml", "--pod", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["--state", "pod.yaml", "--pod", "pod.yaml"], "pod.yaml: "),
        (["--state", "state.yaml", "--pod", "service.yaml"], "service.yaml: expected a manifest of kind Pod"),
        (["--state", "state.yaml", "--pod", "state.yaml"], "state.yaml: expected a manifest of kind Pod, with"),
        (["--state", "state.yaml", "--pod", "pod.yaml", "--profile", "fast"], "no profile is called 'fast'"),
        (["--state", "state.yaml", "--pod", "pod.yaml", "--scorer", "Fast"], "no scorer called 'Fast'"),
        (["--state", "state.yaml", "--pod", "pod.yaml", "--config", "bad.yaml"], "did you mean 'interval'?"),
        (["--state", "state.yaml", "--pod", "pod.yaml", "--set", "a=1"], "--set belongs to --scorer"),
        (["--state", "state.yaml"], "Missing option '--pod'"),
        (["--pod", "pod.yaml"], "no kubeconfig"),
        (["--pod", "pod.yaml", "--kubeconfig", "nowhere"], "there is no kubeconfig nowhere"),
    ],
)
def test_score_refuses_wrong_input_on_standard_error(here: Path, arguments: list[str], message: str) -> None:
    assert message in refused("score", *arguments)


def test_a_pod_file_of_several_documents_is_used_with_a_word_on_standard_error(here: Path) -> None:
    (here / "pod.yaml").write_text(POD + "---\nkind: Service\n")
    result = run("score", "--state", "state.yaml", "--pod", "pod.yaml")
    assert (result.exit_code, result.stderr) == (
        0,
        "loadaware: pod.yaml: holds 2 documents; only the first is used\n",
    )


def test_a_scorer_and_a_profile_exclude_each_other(here: Path) -> None:
    both = ["--scorer", "TargetLoadPacking", "--profile", "steady"]
    assert "exclude each other" in refused("score", "--state", "state.yaml", "--pod", "pod.yaml", *both)


def test_ranking_from_a_file_imports_no_server_and_no_client(here: Path) -> None:
    heavy = ("pandas", "kubernetes", "uvicorn", "starlette", "prometheus_client", "requests", "urllib3", "pyarrow")
    arguments = ["score", "--state", "state.yaml", "--pod", "pod.yaml", "-o", "json"]
    code = (
        "import sys, loadaware.cli\n"
        f"loadaware.cli.cli({arguments}, standalone_mode=False)\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )
    assert done.stderr.strip() == "[]"


def test_the_names_of_scorers_are_completed() -> None:
    (option,) = [o for o in cli.commands["score"].params if o.name == "scorer"]
    completed = option.shell_complete(click.Context(cli.commands["score"]), "target")
    assert [item.value for item in completed] == ["TargetLoadPacking"]
    assert "docs/plugins.md" in printed("score", "--help")
