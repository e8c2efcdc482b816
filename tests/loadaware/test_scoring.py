"""Ranking once, from a file: the peers' own numbers, the order, and settings given by hand."""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from collectors.errors import SourceRefusedError, SourceUnreachableError
from collectors.manifests import Pod, pod_from_object
from loadaware import scoring
from loadaware.config import Config, parse
from loadaware.errors import ConfigError, UnknownProfileError
from loadaware.snapshot import OPT_OUT_ANNOTATION, Snapshot
from loadaware.state import parse_state
from tests.collectors.fake_api_server import FakeApiServer, status_of


def state_of(**nodes: Mapping[str, Any]) -> Snapshot:
    """A state by node name, one core and 1Gi each."""
    capacity = {"cpu": "1", "memory": "1Gi"}
    return parse_state({"nodes": [{"name": name, "capacity": capacity, **told} for name, told in nodes.items()]})


def used(cpu: str, **more: str) -> dict[str, Any]:
    return {"usage": {"cpu": {"mean": cpu, **more}}}


def pod_of(requests: Mapping[str, str] | None = None, **metadata: Any) -> Pod:
    resources = {"requests": dict(requests or {}), "limits": dict(requests or {})}
    containers = [{"name": "web", "resources": resources}] if requests else []
    return pod_from_object({"metadata": {"name": "web", **metadata}, "spec": {"containers": containers}})


def raw_of(scorer: str, usage: Mapping[str, Any], requests: Mapping[str, str] | None) -> Any:
    config = scoring.only(Config(), scorer, ())
    result = scoring.score(config, state_of(node={"usage": usage}), pod_of(requests), None)
    return result["nodes"][0]["scorers"][scorer]["raw"]


@pytest.mark.parametrize(
    ("usage", "requests", "expected"),
    [
        ({"cpu": {"latest": "0%"}}, None, 40),
        ({"cpu": {"latest": "50%"}}, None, 33),
        ({"cpu": {"latest": "30%"}}, {"cpu": "1000m"}, 0),
        ({}, None, None),
    ],
    ids=["new node", "hot node", "excess utilization", "nothing measured"],
)
def test_raw_is_what_target_load_packing_gives_in_trimaran(
    usage: Mapping[str, Any], requests: Mapping[str, str] | None, expected: int | None
) -> None:
    assert raw_of("TargetLoadPacking", usage, requests) == expected


@pytest.mark.parametrize(
    ("usage", "requests", "expected"),
    [
        ({"cpu": {"mean": "50%"}}, None, 75),
        ({"cpu": {"mean": "100%"}}, None, 50),
        ({"cpu": {"mean": "30%", "deviation": "16%"}}, {"cpu": "200m", "memory": "256Mi"}, 67),
        (
            {"cpu": {"mean": "40%", "deviation": "16%"}, "memory": {"mean": "50%", "deviation": "10%"}},
            {"cpu": "100m", "memory": "512Mi"},
            45,
        ),
        (
            {"cpu": {"mean": "80%", "deviation": "20%"}, "memory": {"mean": "25%", "deviation": "15%"}},
            {"cpu": "100m", "memory": "512Mi"},
            45,
        ),
        ({}, None, None),
    ],
    ids=["new node", "hot node", "average and deviation", "memory is worse", "cpu is worse", "nothing measured"],
)
def test_raw_is_what_load_variation_risk_balancing_gives_in_trimaran(
    usage: Mapping[str, Any], requests: Mapping[str, str] | None, expected: int | None
) -> None:
    assert raw_of("LoadVariationRiskBalancing", usage, requests) == expected


def test_nodes_come_best_first_and_equal_ones_in_the_files_order() -> None:
    snapshot = state_of(hot=used("90%"), twin_b=used("10%"), twin_a=used("10%"), packed=used("39%"))
    packing = scoring.only(Config(), "TargetLoadPacking", ())
    names = [node["name"] for node in scoring.score(packing, snapshot, pod_of({"cpu": "10m"}), None)["nodes"]]
    assert names == ["packed", "twin_b", "twin_a", "hot"]


def test_rejected_nodes_come_last_but_are_scored_and_keep_their_own_order() -> None:
    config = parse("""
      profiles:
      - scorers: [{name: LoadVariationRiskBalancing}]
        filters: [{name: UsageThreshold, args: {thresholds: {cpu: 50}}}]
    """)
    snapshot = state_of(hotter=used("95%"), hot=used("60%"), free=used("20%"), unknown={})
    nodes = scoring.score(config, snapshot, pod_of(), None)["nodes"]
    assert [node["name"] for node in nodes] == ["free", "unknown", "hot", "hotter"]
    assert [node["rejected"] is None for node in nodes] == [True, True, False, False]
    assert "cpu usage 60 % > 50 %" in nodes[2]["rejected"]
    assert nodes[2]["score"] == pytest.approx(70.0)


def test_a_score_says_what_each_scorer_gave_and_what_goes_over_the_wire() -> None:
    config = parse("""
      profiles:
      - scorers: [{name: TargetLoadPacking}, {name: LoadVariationRiskBalancing, weight: 3}]
        maxScore: 10
    """)
    (node,) = scoring.score(config, state_of(only=used("50%")), pod_of(), None)["nodes"]
    assert list(node) == ["name", "score", "priority", "scorers", "rejected"]
    assert node["scorers"]["TargetLoadPacking"] == {"score": pytest.approx(100 / 3), "raw": 33}
    assert node["scorers"]["LoadVariationRiskBalancing"] == {"score": pytest.approx(75.0), "raw": 75}
    assert node["score"] == pytest.approx((100 / 3 + 3 * 75.0) / 4)
    assert node["priority"] == 6
    assert isinstance(node["priority"], int)


def test_pods_in_flight_count_as_the_formula_counts_them() -> None:
    one_core = {"spec": {"containers": [{"resources": {"limits": {"cpu": "100m"}}}]}}
    snapshot = state_of(node={**used("20%"), "inFlight": [one_core]})
    config = scoring.only(Config(), "TargetLoadPacking", ())
    (node,) = scoring.score(config, snapshot, pod_of(), None)["nodes"]
    assert node["scorers"]["TargetLoadPacking"]["raw"] == 85  # 60 * 30 / 40 + 40


def test_asking_does_not_book_even_when_a_single_node_passes() -> None:
    config = parse("profiles: [{scorers: [{name: TargetLoadPacking}], filters: [{name: UsageThreshold}]}]")
    snapshot = state_of(only=used("30%"))
    first, again = (scoring.score(config, snapshot, pod_of({"cpu": "100m"}), None) for _ in range(2))
    assert first == again
    assert first["nodes"][0]["scorers"]["TargetLoadPacking"]["raw"] == 100


def test_a_pod_that_opted_out_leaves_every_node_equal() -> None:
    pod = pod_of(annotations={OPT_OUT_ANNOTATION: "true"})
    nodes = scoring.score(Config(), state_of(a=used("10%"), b=used("90%")), pod, None)["nodes"]
    assert {(node["score"], node["priority"]) for node in nodes} == {(0.0, 0)}
    scoring.print_table({"profile": "default-scheduler", "nodes": nodes})


def test_a_profile_by_name_wins_over_the_pods_own_scheduler_name() -> None:
    config = parse("""
      profiles:
      - scorers: [{name: TargetLoadPacking}]
      - {schedulerName: steady, scorers: [{name: LoadVariationRiskBalancing}]}
    """)
    snapshot = state_of(node=used("50%"))
    assert scoring.score(config, snapshot, pod_of(), "steady")["profile"] == "steady"
    with pytest.raises(UnknownProfileError, match="no profile is called 'unsteady'; there are"):
        scoring.score(config, snapshot, pod_of(), "unsteady")


def test_settings_are_yaml_and_a_dotted_key_reaches_inside() -> None:
    settings = ("targetUtilization=50", "defaultRequests.cpu=500m", "defaultRequests.memory=1Gi")
    config = scoring.only(Config(), "TargetLoadPacking", settings)
    (reference,) = config.profiles[0].scorers
    assert reference.args == {"targetUtilization": 50, "defaultRequests": {"cpu": "500m", "memory": "1Gi"}}


def test_a_dotted_key_leaves_the_rest_of_a_default_as_it_is() -> None:
    config = scoring.only(Config(), "EstimatedLoad", ("resourceWeights.cpu=2", "defaultRequests.cpu=1"))
    (reference,) = config.profiles[0].scorers
    assert reference.args == {
        "resourceWeights": {"cpu": 2, "memory": 1.0},
        "defaultRequests": {"cpu": 1, "memory": 200 * 2**20},
    }


def test_a_dotted_key_changes_a_map_that_was_set_whole_and_not_the_default() -> None:
    config = scoring.only(Config(), "EstimatedLoad", ("resourceWeights={cpu: 1}", "resourceWeights.gpu=2"))
    assert config.profiles[0].scorers[0].args == {"resourceWeights": {"cpu": 1, "gpu": 2}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("targetUtilization",), "expected KEY=VALUE, not 'targetUtilization'"),
        (("=50",), "expected KEY=VALUE, not '=50'"),
        (("targetUtilization={",), "--set targetUtilization: is not YAML"),
        (("defaultRequests=1", "defaultRequests.cpu=1"), "defaultRequests is set to a value of its own already"),
        (("targetUtilisation=50",), "--scorer: args.targetUtilisation: there is no such setting; did you mean"),
        (("targetUtilization=half",), "--scorer: args.targetUtilization: Expected float, got str"),
        (("targetUtilization=",), "--scorer: args.targetUtilization: Expected float, got null"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_with_their_place(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scoring.only(Config(), "TargetLoadPacking", settings)
    assert message in str(caught.value)


def test_a_scorer_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'TargetLoadPacking'"):
        scoring.only(Config(), "TargetLoadPaking", ())


def test_one_scorer_alone_has_no_filters_beside_it() -> None:
    config = parse("profiles: [{filters: [{name: UsageThreshold, args: {thresholds: {cpu: 1}}}]}]")
    alone = scoring.only(config, "TargetLoadPacking", ())
    assert [len(profile.filters) for profile in alone.profiles] == [0]


def test_a_wrong_plugin_is_told_with_the_configurations_file() -> None:
    config = parse("profiles: [{scorers: [{name: Nonsense}]}]")
    with pytest.raises(ConfigError, match=r"^mine.yaml: profiles\[0\].scorers\[0\].name: there is no scorer"):
        scoring.score(config, state_of(), pod_of(), None, "mine.yaml")


def test_a_table_in_a_pipe_cuts_nothing_and_takes_brackets_at_their_word(capsys: pytest.CaptureFixture[str]) -> None:
    name = "ip-10-0-0-1.[bold]eu-west-1[/bold].compute.internal" * 2
    part = {"score": 1.0, "raw": None}
    node = {"name": name, "score": 12.34, "priority": 4, "scorers": {"X" * 60: part, "Y": {"score": 1, "raw": 33}}}
    scoring.print_table({"profile": "default-scheduler", "nodes": [{**node, "rejected": "cpu usage 90 % > 65 %"}]})
    printed = capsys.readouterr().out
    (row,) = [line for line in printed.splitlines() if name in line]
    for text in ("12.3", "4", "not measured", "33", "cpu usage 90 % > 65 %"):
        assert text in row
    assert "\x1b" not in printed


def many(count: int) -> dict[str, Any]:
    scorers = {f"ScorerWithAVeryLongName{n}": {"score": 1.0, "raw": n} for n in range(1, count + 1)}
    node = {"name": "node-1", "score": 12.34, "priority": 4, "scorers": scorers, "rejected": None}
    return {"profile": "default-scheduler", "nodes": [node]}


@pytest.mark.parametrize(("count", "width"), [(4, 200), (2, 60)], ids=["many scorers", "a narrow terminal"])
def test_scorers_that_are_many_or_do_not_fit_are_numbered_and_named_below(count: int, width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, no_color=True, markup=False, highlight=False)
    scoring.print_table(many(count), console)
    lines = re.sub(r"\x1b\[\d*m", "", out.getvalue()).splitlines()
    assert lines[0] == "profile default-scheduler; scorer columns show the raw number"
    assert lines[-count:] == [f"({n}) ScorerWithAVeryLongName{n}" for n in range(1, count + 1)]
    assert lines[2].split("┃")[4].strip() == "(1)"


def test_few_scorers_have_their_names_over_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    scoring.print_table(many(3))
    assert "ScorerWithAVeryLongName3 ┃" in capsys.readouterr().out


# -- The live cluster ----------------------------------------------------------------------------------------------


def test_without_an_api_server_it_says_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachableError, match="there is no kubeconfig"):
        scoring.load_snapshot(None, Config(), str(tmp_path / "nowhere"), None)


def test_credentials_that_are_not_accepted_are_told_at_once(tmp_path: Path) -> None:
    with FakeApiServer() as server:
        server.answer("/version", status_of(401, "Unauthorized"), 401)
        with pytest.raises(SourceRefusedError, match="401"):
            scoring.load_snapshot(None, Config(), server.kubeconfig(tmp_path), None)


def test_without_a_state_file_the_live_cluster_is_read_once(tmp_path: Path) -> None:
    node = {"metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "4", "memory": "16Gi"}}}
    usage = {"cpu": "1", "memory": "1Gi"}
    measured = {"metadata": {"name": "node-1"}, "timestamp": "2026-01-01T00:00:00Z", "window": "15s", "usage": usage}
    with FakeApiServer() as server:
        server.answer("/version", status_of(403, "Forbidden"), 403)
        server.answer("/api/v1/nodes", {"metadata": {"resourceVersion": "1"}, "items": [node]})
        server.answer("/api/v1/pods", {"metadata": {"resourceVersion": "1"}, "items": []})
        server.answer("/api/v1/namespaces", {"metadata": {"resourceVersion": "1"}, "items": []})
        server.answer("/apis/metrics.k8s.io/v1beta1/nodes", {"kind": "NodeMetricsList", "items": [measured]})
        server.answer("/apis/metrics.k8s.io/v1beta1/pods", {"kind": "PodMetricsList", "items": []})
        snapshot = scoring.load_snapshot(None, Config(), server.kubeconfig(tmp_path), None)
    packing = scoring.only(Config(), "TargetLoadPacking", ())
    (scored,) = scoring.score(packing, snapshot, pod_of({"cpu": "200m"}), None)["nodes"]
    assert scored["name"] == "node-1"
    assert scored["scorers"]["TargetLoadPacking"]["raw"] == 85


def test_a_state_file_is_read_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "state.yaml"
    file.write_text(yaml.safe_dump({"nodes": [{"name": "node-1", "capacity": {"cpu": "4"}}]}))
    assert scoring.load_snapshot(str(file), Config(), None, None).names == ("node-1",)
