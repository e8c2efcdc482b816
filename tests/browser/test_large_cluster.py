"""Five thousand nodes: a bounded page, and no long pauses."""

import re

from playwright.sync_api import expect

from loadaware.snapshot import Snapshot
from tests.browser.served import served
from tests.browser.watched_page import Opener
from tests.loadaware.builders import cpu_mean, snapshot_of
from tests.loadaware.running_server import new_service

NODES = 5000
MOST_ELEMENTS = 1500
"""What the page is made of with all these nodes in it; a row for each would be 35,000."""


def large() -> Snapshot:
    return snapshot_of({f"node-{number:04}": cpu_mean((number * 37) % 97) for number in range(NODES)})


def test_five_thousand_nodes_are_a_bounded_page(opened: Opener) -> None:
    service = new_service()
    service.take(large())
    with served(service) as url:
        page = opened(url)
        expect(page.locator("#nodes-count")).to_have_text(str(NODES))
        expect(page.locator("#as-cells")).to_have_attribute("aria-pressed", "true")
        elements = "document.querySelectorAll('*').length"
        assert page.evaluate(elements) < MOST_ELEMENTS
        page.click("#as-bars")
        expect(page.locator("#bars tr.node").first).to_contain_text("96 %")
        assert page.evaluate(elements) < MOST_ELEMENTS
        expect(page.get_by_role("table", name="Nodes")).to_have_attribute("aria-rowcount", str(NODES + 1))
        page.locator("#bars tr.node").first.focus()
        page.keyboard.press("End")
        expect(page.locator("#bars tr.node:focus")).to_have_attribute("aria-rowindex", str(NODES + 1))
        assert page.evaluate(elements) < MOST_ELEMENTS


def test_a_cell_of_five_thousand_can_be_found_and_opened(opened: Opener) -> None:
    service = new_service()
    service.take(large())
    with served(service) as url:
        page = opened(url)
        page.fill("#find", "node-4321")
        expect(page.locator("#nodes-count")).to_have_text(f"1 of {NODES}")
        page.press("#find", "Enter")
        expect(page.locator("#drawer h2")).to_have_text("node-4321")
        page.keyboard.press("Escape")
        page.fill("#find", "")
        page.hover("#cells canvas", position={"x": 200, "y": 100})
        expect(page.locator("#cells-where")).to_contain_text(re.compile(r"node-\d{4}: CPU \d+ %"))


def test_wherever_one_scrolls_to_there_are_rows_at_the_next_frame(opened: Opener) -> None:
    service = new_service()
    service.take(large())
    with served(service) as url:
        page = opened(url)
        page.click("#as-bars")
        page.wait_for_selector("#bars tr.node")
        drawn = page.evaluate(
            """async () => {
              const bars = document.querySelector('#bars');
              let frames = 0;
              for (let step = 0; step < 60; step += 1) {
                bars.scrollTop = step * 2500;
                await new Promise(requestAnimationFrame);
                frames += bars.querySelectorAll('tr.node').length > 10;
              }
              return frames;
            }"""
        )
    assert drawn == 60
