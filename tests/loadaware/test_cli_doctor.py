"""`loadaware doctor`: what it prints, for whom, and with which exit code."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from loadaware.cli import cli
from tests.collectors.fake_api_server import write_kubeconfig
from tests.loadaware.command_line import POD, ask, run, serving


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


def test_doctor_understands_what_a_running_server_tells_of_itself(here: Path) -> None:
    with serving("--state", "state.yaml") as (_, port):
        assert ask(port, "POST", "/prioritize", {"Pod": yaml.safe_load(POD), "NodeNames": ["busy"]})[0] == 200
        url = f"http://127.0.0.1:{port}"
        result = run("doctor", "--kubeconfig", "nowhere", "--server", url, "--output", "json")
    told = {finding["what"]: finding for finding in json.loads(result.stdout)}
    assert told["loadaware server"]["detail"] == f"{url} is ready"
    assert told["loadaware server mode"]["detail"] == "active: its answers count"
    assert told["loadaware server window"]["detail"] == "a frozen state: it never ages"
    assert told["loadaware server nodes"]["detail"] == "2 of 3 nodes measured; missing: unknown"
    assert told["loadaware server requests"]["detail"] == "1 answered since its start"


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
