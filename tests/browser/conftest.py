"""A real Chromium (Debian's package, found by its path) and a real demo, shared by the session."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.watched_page import Opener
from tests.parts.processes import Process, free_port, wait_for

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert Path(CHROMIUM).is_file(), "no chromium: apt-get install chromium, or name it by $CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens pages that must not complain, nor ask another host for anything."""
    with Opener(browser) as opener:
        yield opener


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the demo shows its page: always the same cluster, and a dozen pods placed."""
    port = free_port()
    options = ["--port", str(port), "--seed", "1", "--speed", "60", "--duration", "600"]
    command = [sys.executable, "-m", "loadaware", "demo", *options]
    url = f"http://127.0.0.1:{port}"
    with Process("demo", command, tmp_path_factory.mktemp("demo")) as process:
        wait_for(lambda: placed(url) >= 12, "the demo to place pods", process)
        yield url


def placed(url: str) -> int:
    """How many pods of the last decisions are bound; 0 while nobody answers."""
    try:
        answer = httpx.get(f"{url}/decisions?limit=100", trust_env=False)
    except httpx.TransportError:
        return 0
    return sum(each["chosen"] is not None for each in answer.json()["decisions"])
