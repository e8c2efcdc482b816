"""`loadaware serve` as a process: one port or two."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.parts.processes import PATIENCE_SECONDS, Process, free_port, wait_for

STATE = "nodes: [{name: a, capacity: {cpu: 4}, usage: {cpu: {mean: 10%}}}]"


def get(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers=headers, trust_env=False, timeout=PATIENCE_SECONDS)


def answers(url: str) -> bool:
    try:
        return get(f"{url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Process]:
    (folder / "state.yaml").write_text(STATE)
    command = [sys.executable, "-m", "loadaware", "serve", "--state", str(folder / "state.yaml")]
    with Process("loadaware", [*command, "--address", "127.0.0.1", *options], folder / "logs") as process:
        yield process


def test_two_ports_serve_what_is_theirs_and_end_together(tmp_path: Path) -> None:
    port, people = free_port(), free_port()
    extender, page = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{people}"
    with serving(tmp_path, "--port", str(port), "--people-port", str(people)) as process:
        wait_for(lambda: answers(extender) and answers(page), "both ports", process)
        assert f"what is for people is on port {people}" in get(f"{extender}/nodes").json()["error"]
        assert get(f"{page}/nodes").json()["nodes"][0]["name"] == "a"
        assert get(page, accept="text/html").text.startswith("<!doctype html>")
        with httpx.stream("GET", f"{page}/live", trust_env=False, timeout=PATIENCE_SECONDS) as stream:
            next(stream.iter_lines())
            process.stop()
    assert not answers(extender)
    assert not answers(page)


def test_a_port_alone_serves_everything(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{(port := free_port())}"
    with serving(tmp_path, "--port", str(port)) as process:
        wait_for(lambda: answers(url), "the port", process)
        assert [get(f"{url}{path}").status_code for path in ("/nodes", "/metrics", "/watcher")] == [200] * 3


def test_a_people_s_port_that_is_taken_is_one_line_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        people = taken.getsockname()[1]
        with serving(tmp_path, "--port", str(free_port()), "--people-port", str(people)) as process:
            wait_for(lambda: not process.running, "it to end")
        assert f"cannot serve on 127.0.0.1:{people}" in process.log_tail()
