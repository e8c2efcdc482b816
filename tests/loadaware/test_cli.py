"""The whole command line: what it prints, where, and with which exit code."""

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from loadaware import __version__
from loadaware.cli import cli
from tests.collectors.fake_api_server import write_kubeconfig

COMMANDS = [
    "check-config", "completion", "demand", "demo", "doctor", "explain", "history", "promote", "record", "replay",
    "schedule-config", "score", "serve", "shadow", "simulate", "tune", "version",
]  # fmt: skip

STATE = """
nodes:
- name: busy
  capacity: {cpu: "4", memory: 16Gi}
  usage: {cpu: {mean: 90%, deviation: 5%, latest: 95%}, memory: {mean: 30%}}
- name: unknown
  capacity: {cpu: "4", memory: 16Gi}
- name: steady
  capacity: {cpu: "4", memory: 16Gi}
  usage: {cpu: {mean: 1200m, deviation: 100m}, memory: {mean: 30%}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    image: shop/web:1
    resources: {requests: {cpu: 200m, memory: 256Mi}}
"""
FILTERING = """
profiles:
- scorers: [{name: TargetLoadPacking}]
  filters: [{name: UsageThreshold, args: {thresholds: {cpu: 80}}}]
- schedulerName: steady
  scorers: [{name: LoadVariationRiskBalancing}]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a state, a pod and two configurations, and no cluster anywhere near."""
    for name, text in {
        "state.yaml": STATE,
        "pod.yaml": POD,
        "good.yaml": FILTERING,
        "bad.yaml": "intervall: 5s",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "service.yaml").write_text("kind: Service")
    monkeypatch.chdir(tmp_path)
    for variable in ("LOADAWARE_CONFIG", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="loadaware")


def printed(*arguments: str) -> str:
    """What a command that succeeds prints."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refused(*arguments: str) -> str:
    """The line on standard error of a command that refuses."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def process(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "loadaware", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def scored(*arguments: str) -> list[dict[str, Any]]:
    nodes = json.loads(printed("score", "--state", "state.yaml", "--pod", "pod.yaml", "-o", "json", *arguments))[
        "nodes"
    ]
    assert isinstance(nodes, list)
    return nodes


# -- Help ----------------------------------------------------------------------------------------------------------


def test_help_lists_every_command_with_a_whole_sentence() -> None:
    listed = printed("--help").partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == COMMANDS
    assert [line for line in listed if line.endswith("...")] == []


def test_help_teaches_the_first_steps() -> None:
    text = printed("-h")
    for step in ("loadaware demo", "loadaware score --state", "loadaware serve", "loadaware doctor"):
        assert step in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_each_of_its_options(command: str) -> None:
    text = printed(command, "--help")
    assert text.startswith(f"Usage: loadaware {command}")
    options = [parameter for parameter in cli.commands[command].params if isinstance(parameter, click.Option)]
    unexplained = [option for option in options if not option.help]
    assert unexplained == []


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    heavy = ("numpy", "pandas", "kubernetes", "uvicorn", "prometheus_client", "requests", "yaml", "msgspec", "rich")
    code = f"import sys, loadaware.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_ranking_from_a_file_imports_no_server_and_no_client(here: Path) -> None:
    heavy = ("pandas", "kubernetes", "uvicorn", "starlette", "prometheus_client", "requests", "urllib3", "pyarrow")
    arguments = ["score", "--state", "state.yaml", "--pod", "pod.yaml", "-o", "json"]
    code = (
        "import sys, loadaware.cli\n"
        f"loadaware.cli.cli({arguments}, standalone_mode=False)\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.strip() == "[]"


# -- score ---------------------------------------------------------------------------------------------------------


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


def test_a_refusal_of_the_installed_command_is_one_line_and_exit_code_2(here: Path) -> None:
    done = process("score", "--state", "state.yaml", "--pod", "nowhere.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("loadaware: nowhere.yaml: cannot be read")


# -- check-config and schedule-config ------------------------------------------------------------------------------


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


def test_every_option_of_schedule_config_reaches_the_document(here: Path) -> None:
    files = ["--ca-file", "/ca", "--cert-file", "/cert", "--key-file", "/key", "--kubeconfig-path", ""]
    flags = ["--whole-nodes", "--no-leader-elect", "--url", "https://loadaware:8443"]
    document = yaml.safe_load(printed("schedule-config", *files, *flags))
    assert "clientConnection" not in document
    assert document["leaderElection"] == {"leaderElect": False}
    (extender,) = document["extenders"]
    assert extender["tlsConfig"] == {"caFile": "/ca", "certFile": "/cert", "keyFile": "/key"}
    assert (extender["enableHTTPS"], extender["nodeCacheCapable"]) == (True, False)


# -- doctor, version, completion -----------------------------------------------------------------------------------


def test_doctor_exits_with_1_if_anything_fails_and_prints_lines_for_people(here: Path) -> None:
    result = run("doctor", "--kubeconfig", "nowhere")
    assert result.exit_code == 1
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ok    configuration: ")
    assert any(line.startswith("fail  API server: ") for line in lines)
    assert any(line.startswith("      fix: ") for line in lines)
    assert lines[-1].endswith("1 fail")


def test_doctor_as_json_is_a_list_of_findings(here: Path) -> None:
    kubeconfig = write_kubeconfig(here / "kubeconfig", "http://127.0.0.1:1", token="s3cr3t")
    result = run("doctor", "--kubeconfig", str(kubeconfig), "--config", "bad.yaml", "--output", "json")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)
    assert {tuple(finding) for finding in findings} == {("verdict", "what", "detail", "fix")}
    assert [finding["what"] for finding in findings if finding["verdict"] == "fail"] == ["configuration", "API server"]
    assert "s3cr3t" not in result.output


def test_version_is_the_packages_own() -> None:
    assert printed("version") == f"{__version__}\n"
    assert printed("--version") == f"loadaware {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell_for_our_command(shell: str) -> None:
    script = printed("completion", shell)
    assert f"_LOADAWARE_COMPLETE={shell}_complete" in script


def test_completion_really_completes_commands() -> None:
    command = [sys.executable, "-c", "from loadaware.cli import main; main()"]
    asked = {"_LOADAWARE_COMPLETE": "bash_complete", "COMP_WORDS": "loadaware sc", "COMP_CWORD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=asked)
    assert done.stdout.split() == ["plain,schedule-config", "plain,score"]


def test_the_names_of_scorers_are_completed() -> None:
    (option,) = [o for o in cli.commands["score"].params if o.name == "scorer"]
    completed = option.shell_complete(click.Context(cli.commands["score"]), "target")
    assert [item.value for item in completed] == ["TargetLoadPacking"]
    assert "docs/plugins.md" in printed("score", "--help")


def test_a_shell_we_do_not_know_is_refused() -> None:
    assert "'bash', 'zsh', 'fish'" in refused("completion", "tcsh")


def test_a_command_that_there_is_not_is_refused() -> None:
    assert "No such command 'scor'" in refused("scor")


# -- serve ---------------------------------------------------------------------------------------------------------


@contextmanager
def serving(*arguments: str) -> "Iterator[tuple[subprocess.Popen[str], int]]":
    """`loadaware serve` on a port that the system chooses, once it listens."""
    command = [sys.executable, "-m", "loadaware", "serve", "--address", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        [*command, "--log-format", "json", *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as server:
        try:
            yield server, _port_told_by(server)
        finally:
            server.kill()


def _port_told_by(server: "subprocess.Popen[str]") -> int:
    assert server.stderr is not None
    for line in server.stderr:
        message = json.loads(line)["message"]
        if "running on" in message:
            return int(message.partition("http://127.0.0.1:")[2].split()[0])
    raise AssertionError("it ended without serving")


def ask(port: int, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_serve_answers_from_a_state_file_and_ends_with_code_0_on_sigterm(here: Path) -> None:
    with serving("--state", "state.yaml") as (server, port):
        assert ask(port, "GET", "/healthz")[0] == 200
        assert ask(port, "GET", "/readyz")[0] == 200
        pod = yaml.safe_load(POD)
        status, body = ask(port, "POST", "/prioritize", {"Pod": pod, "NodeNames": ["busy", "steady"]})
        assert (status, json.loads(body)) == (200, [{"Host": "busy", "Score": 0}, {"Host": "steady", "Score": 30}])
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0


def test_doctor_understands_what_a_running_server_tells_of_itself(here: Path) -> None:
    with serving("--state", "state.yaml") as (_, port):
        assert ask(port, "POST", "/prioritize", {"Pod": yaml.safe_load(POD), "NodeNames": ["busy"]})[0] == 200
        url = f"http://127.0.0.1:{port}"
        result = run("doctor", "--kubeconfig", "nowhere", "--server", url, "--output", "json")
    told = {finding["what"]: finding for finding in json.loads(result.stdout)}
    assert told["loadaware server"]["detail"] == f"{url} is ready"
    assert told["loadaware server window"]["detail"] == "a frozen state: it never ages"
    assert told["loadaware server nodes"]["detail"] == "2 of 3 nodes measured; missing: unknown"
    assert told["loadaware server requests"]["detail"] == "1 answered since its start"


def test_serve_ends_with_code_0_on_ctrl_c_and_prints_no_traceback(here: Path) -> None:
    with serving("--state", "state.yaml") as (server, _):
        server.send_signal(signal.SIGINT)
        rest = server.communicate(timeout=20)[1]
        assert server.returncode == 0
    assert "Traceback" not in rest


def test_serve_beside_a_dead_cluster_answers_neutrally_and_ends_its_observer(here: Path) -> None:
    kubeconfig = write_kubeconfig(here / "kubeconfig", "http://127.0.0.1:1")
    with serving("--kubeconfig", str(kubeconfig)) as (server, port):
        status, body = ask(port, "POST", "/prioritize", {"Pod": yaml.safe_load(POD), "NodeNames": ["a", "b"]})
        assert status == 200
        assert len({node["Score"] for node in json.loads(body)}) == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--state", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["--config", "bad.yaml"], "did you mean 'interval'?"),
        (["--config", "unsourced.yaml"], "is no address"),
    ],
)
def test_serve_refuses_wrong_input_before_it_starts(here: Path, arguments: Sequence[str], message: str) -> None:
    (here / "unsourced.yaml").write_text("source: {type: LoadWatcher, url: watcher}")
    done = process("serve", "--port", "0", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_said_in_one_line_with_exit_code_1(here: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = process(
            "serve", "--state", "state.yaml", "--address", "127.0.0.1", "--port", str(taken.getsockname()[1])
        )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"loadaware: cannot serve on 127.0.0.1:{done.args[-1]}: ")
    assert "in use" in line


@pytest.mark.parametrize("address", ["192.0.2.1", "not an address"])
def test_an_address_that_is_not_ours_is_said_in_one_line_with_exit_code_1(here: Path, address: str) -> None:
    result = run("serve", "--state", "state.yaml", "--address", address, "--port", "0")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"loadaware: cannot serve on {address}:0: ")


def test_a_picture_in_a_folder_that_there_is_not_is_refused_at_the_start(here: Path) -> None:
    assert refused("demo", "--picture", "nope/x.svg") == "loadaware: --picture: there is no folder nope\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ca-file", "ca.crt"], "are for an https --server"),
        (["--server", "http://127.0.0.1:8090", "--cert-file", "tls.crt"], "are for an https --server"),
        (["--server", "https://127.0.0.1:8090", "--key-file", "tls.key"], "--key-file needs --cert-file"),
    ],
)
def test_doctor_refuses_files_that_it_would_not_use(here: Path, options: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, ["doctor", *options])
    assert result.exit_code == 2
    assert message in result.output
