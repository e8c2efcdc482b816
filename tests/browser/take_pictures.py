"""Takes the pictures of the live page for the docs: `python -m tests.browser.take_pictures [seconds]`.

The demo runs for that long (40 s), always with the same seed, and a real Chromium looks at it.
"""

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, placed
from tests.parts.processes import Process, free_port, wait_for

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = {"width": 1360, "height": 900}


def main(seconds: float = 40.0) -> None:
    """Run, look, write."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "loadaware", "demo", "--port", str(port), "--duration", str(seconds + 120)]
    with tempfile.TemporaryDirectory() as folder, Process("demo", command, Path(folder)) as demo:
        wait_for(lambda: placed(url) >= 12, "the demo to place pods", demo)
        time.sleep(seconds)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for scheme in ("light", "dark"):
                take(opened(browser, url, scheme), f"page-{scheme}")
            page = opened(browser, url, "light")
            page.locator("#hottest").click()
            expect(page.locator("svg.chart")).to_be_visible()
            take(page, "page-node")
            page.keyboard.press("Escape")
            page.locator("#decisions button").first.click()
            expect(page.locator("#drawer .sentence")).to_be_visible()
            take(page, "page-decision")
            browser.close()


def opened(browser: Browser, url: str, scheme: str) -> Page:
    """The page with everything in it."""
    page = browser.new_context(viewport=SIZE, color_scheme=scheme).new_page()  # type: ignore[arg-type]
    page.goto(url)
    expect(page.locator("#bars tr.node").nth(5)).to_be_visible(timeout=20_000)
    expect(page.locator("#decisions button").nth(3)).to_be_visible(timeout=20_000)
    expect(page.locator("#side-ours")).to_contain_text("hottest")
    return page


def take(page: Page, name: str) -> None:
    """One picture."""
    page.wait_for_timeout(1000)  # transitions end
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path)
    sys.stdout.write(f"{path.relative_to(PICTURES.parents[1])}\n")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
