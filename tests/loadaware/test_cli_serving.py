"""`loadaware serve` as a process: it answers, ends with code 0 when asked to, and refuses in one line."""

import json
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.collectors.fake_api_server import write_kubeconfig
from tests.loadaware.command_line import POD, ask, process, run, serving
from tests.parts.processes import PATIENCE_SECONDS


def test_serve_answers_from_a_state_file_and_ends_with_code_0_on_sigterm(here: Path) -> None:
    with serving("--state", "state.yaml") as (server, port):
        assert ask(port, "GET", "/healthz")[0] == 200
        assert ask(port, "GET", "/readyz")[0] == 200
        pod = yaml.safe_load(POD)
        status, body = ask(port, "POST", "/prioritize", {"Pod": pod, "NodeNames": ["busy", "steady"]})
        assert (status, json.loads(body)) == (200, [{"Host": "busy", "Score": 0}, {"Host": "steady", "Score": 30}])
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=PATIENCE_SECONDS) == 0


def test_serve_ends_with_code_0_on_ctrl_c_and_prints_no_traceback(here: Path) -> None:
    with serving("--state", "state.yaml") as (server, _):
        server.send_signal(signal.SIGINT)
        rest = server.communicate(timeout=PATIENCE_SECONDS)[1]
        assert server.returncode == 0
    assert "Traceback" not in rest


def test_serve_beside_a_dead_cluster_answers_neutrally_and_ends_its_observer(here: Path) -> None:
    kubeconfig = write_kubeconfig(here / "kubeconfig", "http://127.0.0.1:1")
    with serving("--kubeconfig", str(kubeconfig)) as (server, port):
        status, body = ask(port, "POST", "/prioritize", {"Pod": yaml.safe_load(POD), "NodeNames": ["a", "b"]})
        assert status == 200
        assert len({node["Score"] for node in json.loads(body)}) == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=PATIENCE_SECONDS) == 0


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
