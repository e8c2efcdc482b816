"""The page's own files: served as they are, with a strict policy, and nothing beside them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadaware.extender.page_files import FOLDER, KINDS
from tests.loadaware.running_server import AppClient, frozen_service

FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in KINDS)
HTML = ((b"accept", b"text/html,application/xhtml+xml"),)


@pytest.fixture(scope="module")
def client() -> Iterator[AppClient]:
    with AppClient(frozen_service()) as client:
        yield client


def test_a_browser_gets_the_page_and_everybody_else_the_list(client: AppClient) -> None:
    page = client.request("GET", "/", b"", *HTML)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.content == (FOLDER / "index.html").read_bytes()
    assert client.get("/").text.startswith("loadaware: real load for kube-scheduler")
    assert page.headers["vary"] == "accept"


def test_the_policy_lets_nothing_in_from_elsewhere(client: AppClient) -> None:
    policy = client.request("GET", "/", b"", *HTML).headers["content-security-policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert set(parts.values()) == {"'none'", "'self'"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_is_served_with_its_kind(client: AppClient, path: Path) -> None:
    answer = client.get(f"/page/{path.name}")
    assert answer.content == path.read_bytes()
    assert answer.headers["content-type"].startswith(KINDS[path.suffix])
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fconfig.py", "%2e%2e%2fconfig.py", "index.html~", "%2e%2e", ""])
def test_nothing_else_is_served(client: AppClient, name: str) -> None:
    assert client.get(f"/page/{name}").status_code == 404


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_names_another_host_and_none_has_code_within_markup(path: Path) -> None:
    text = path.read_text()
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in text
    if path.suffix == ".html":
        assert not re.findall(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|<style", text)


def test_every_module_that_is_imported_is_there() -> None:
    for path in FILES:
        for name in re.findall(r'from "\./([\w.]+)"', path.read_text()):
            assert (FOLDER / name).is_file(), f"{path.name} imports {name}"
