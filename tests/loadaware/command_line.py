"""The command line for tests: called in this process or in one of its own, and files for it to read."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from click.testing import CliRunner, Result

from loadaware.cli import cli
from tests.parts.processes import PATIENCE_SECONDS

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
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
