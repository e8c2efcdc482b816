"""`loadaware check-config` and `loadaware schedule-config`: summaries, warnings, refusals, and what is printed."""

import json
from pathlib import Path

import pytest
import yaml

from tests.loadaware.command_line import printed, refused, run


def test_check_config_sums_up_a_good_file(here: Path) -> None:
    assert printed("check-config", "good.yaml").splitlines() == [
        "good.yaml: good",
        "  source: MetricsServer",
        "  profile default-scheduler: TargetLoadPacking x 1; filters: UsageThreshold; 0..30 on the wire",
        "  profile steady: LoadVariationRiskBalancing x 1; 0..30 on the wire",
    ]


def test_check_config_says_that_a_profile_without_scorers_ranks_nothing(here: Path) -> None:
    (here / "empty.yaml").write_text("profiles: [{schedulerName: none}]")
    assert "no scorer: every node is equal" in printed("check-config", "empty.yaml")


def test_check_config_tells_of_what_is_in_shadow(here: Path) -> None:
    (here / "aside.yaml").write_text("mode: shadow\nprofiles: [{}, {schedulerName: aside, shadow: true}]\n")
    told = printed("check-config", "aside.yaml").splitlines()
    assert told[2] == "  mode: shadow: answers change nothing, what we would have said is kept"
    assert told[4] == "  profile aside: no scorer: every node is equal; in shadow"
    summary = json.loads(printed("check-config", "aside.yaml", "--output", "json"))
    assert (summary["mode"], summary["shadows"]) == ("shadow", ["aside"])


def test_check_config_as_json_is_for_programs(here: Path) -> None:
    assert json.loads(printed("check-config", "good.yaml", "--output", "json")) == {
        "file": "good.yaml",
        "source": "MetricsServer",
        "profiles": {
            "default-scheduler": {"scorers": {"TargetLoadPacking": 1.0}, "filters": ["UsageThreshold"]},
            "steady": {"scorers": {"LoadVariationRiskBalancing": 1.0}, "filters": []},
        },
        "mode": "active",
        "shadows": [],
        "warnings": [],
    }


def test_check_config_warns_of_what_does_nothing_and_still_succeeds(here: Path) -> None:
    (here / "vain.yaml").write_text("profiles: [{scorers: [{name: Peaks}]}]")
    warning = "profiles[0].scorers[0].args.nodePowerModel: there is no power model: nothing is scored"
    assert printed("check-config", "vain.yaml").splitlines()[-1] == f"  warning: {warning}"
    assert json.loads(printed("check-config", "vain.yaml", "--output", "json"))["warnings"] == [warning]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("intervall: 5s", "intervall: there is no such setting; did you mean 'interval'?"),
        ("interval: soon", "interval: "),
        ("kind: [", "is not YAML"),
        ("profiles: [{scorers: [{name: Best}]}]", "profiles[0].scorers[0].name: there is no scorer called 'Best'"),
        ("source: {type: Prometheus}", "url is required and missing"),
        ("source: {type: Prometheus, url: 'prometheus:9090'}", "source: 'prometheus:9090' is no address"),
        ("source: {type: LoadWatcher, url: watcher}", "source: 'watcher' is no address"),
        ("source: {type: Prometheus, url: 'http://a', nodePattern: '('}", "is no regular expression"),
    ],
)
def test_check_config_says_what_is_wrong_where(here: Path, text: str, message: str) -> None:
    (here / "wrong.yaml").write_text(text)
    line = refused("check-config", "wrong.yaml")
    assert line.startswith("loadaware: wrong.yaml: ")
    assert message in line


def test_schedule_config_prints_yaml_that_fits_the_configuration(here: Path) -> None:
    text = printed("schedule-config", "--config", "good.yaml", "--url", "http://loadaware.kube-system:8090")
    document = yaml.safe_load(text)
    assert document["kind"] == "KubeSchedulerConfiguration"
    assert document["profiles"] == [{"schedulerName": "default-scheduler"}, {"schedulerName": "steady"}]
    (extender,) = document["extenders"]
    assert extender["urlPrefix"] == "http://loadaware.kube-system:8090"
    assert (extender["filterVerb"], extender["prioritizeVerb"]) == ("filter", "prioritize")
    assert (extender["nodeCacheCapable"], extender["ignorable"], extender["weight"]) == (True, True, 1)


def test_schedule_config_refuses_an_address_that_is_none(here: Path) -> None:
    assert refused("schedule-config", "--url", "loadaware:8090").startswith("loadaware: --url: 'loadaware:8090' is no")


def test_schedule_config_can_ask_for_preemption_and_binding(here: Path) -> None:
    (extender,) = yaml.safe_load(printed("schedule-config", "--preempt", "--bind"))["extenders"]
    assert (extender["preemptVerb"], extender["bindVerb"]) == ("preempt", "bind")


@pytest.mark.parametrize(
    ("profiles", "warned"),
    [
        ("[{}]", False),
        ("[{schedulerName: calm}]", True),
        ("[{schedulerName: calm}, {shadow: true}]", True),
        ("[{schedulerName: calm}, {}]", False),
    ],
)
def test_schedule_config_warns_if_plain_pods_would_have_no_profile(here: Path, profiles: str, warned: bool) -> None:
    (here / "ours.yaml").write_text(f"profiles: {profiles}")
    result = run("schedule-config", "--config", "ours.yaml")
    assert result.exit_code == 0
    for text in (result.stderr, result.stdout):
        assert ("No profile is called default-scheduler" in text) == warned


def test_every_option_of_schedule_config_reaches_the_document(here: Path) -> None:
    files = ["--ca-file", "/ca", "--server-name", "ours", "--cert-file", "/cert", "--key-file", "/key"]
    files += ["--kubeconfig-path", ""]
    flags = ["--whole-nodes", "--no-leader-elect", "--url", "https://loadaware:8443"]
    document = yaml.safe_load(printed("schedule-config", *files, *flags))
    assert "clientConnection" not in document
    assert document["leaderElection"] == {"leaderElect": False}
    (extender,) = document["extenders"]
    assert extender["tlsConfig"] == {"caFile": "/ca", "serverName": "ours", "certFile": "/cert", "keyFile": "/key"}
    assert (extender["enableHTTPS"], extender["nodeCacheCapable"]) == (True, False)
