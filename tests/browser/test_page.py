"""The live page over the real demo, as a person uses it."""

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.watched_page import Opener


def hottest(url: str) -> str:
    nodes = httpx.get(f"{url}/nodes?sort=cpu", trust_env=False).json()["nodes"]
    return str(nodes[0]["name"])


def rows(page: Page) -> list[str]:
    return page.locator("#bars tr.node .name > span:first-child").all_inner_texts()


def test_a_newcomer_finds_the_hottest_node_and_reads_why_the_last_pod_did_not_go_there(
    demo: str, opened: Opener
) -> None:
    page = opened(demo)
    tile = page.locator("#hottest")
    expect(tile).to_contain_text(re.compile(r"node-\d\d\s+\d+ %"))
    tile.click()
    drawer = page.locator("#drawer")
    expect(drawer.locator("h2")).to_have_text(re.compile(r"node-\d\d"))
    name = drawer.locator("h2").inner_text()
    expect(drawer.get_by_text(re.compile("Why the last pod (did not go|went) here"))).to_be_visible()
    sentence = drawer.locator(".sentence").inner_text()
    decided = r"node-\d\d won with \d+|kube-scheduler did not ask us about node-\d\d for .* pods?: "
    assert re.search(rf"^\S+/\S+: ({decided})", sentence), sentence
    assert name in sentence


def test_the_first_row_is_the_hottest_node_that_the_server_knows(demo: str, opened: Opener) -> None:
    page = opened(demo)
    expect(page.locator("#bars tr.node").nth(5)).to_be_visible()
    page.hover("#bars tr.node >> nth=2")  # so that the order holds still
    for _ in range(5):  # a new snapshot may come between two questions
        if rows(page)[0] == hottest(demo):
            return
        page.mouse.move(5, 400)
        page.reload()
        expect(page.locator("#bars tr.node").nth(5)).to_be_visible()
    raise AssertionError(f"{rows(page)[0]} is shown first, {hottest(demo)} is the hottest")


def test_a_click_on_a_node_opens_its_window_and_its_pods(demo: str, opened: Opener) -> None:
    page = opened(demo)
    page.locator("#bars tr.node").nth(1).click()
    drawer = page.locator("#drawer")
    chart = drawer.locator("svg.chart")
    expect(chart).to_be_visible()
    assert len(re.findall("[ML]", chart.locator("path.cpu").get_attribute("d") or "")) >= 10
    expect(chart).to_have_attribute("aria-label", re.compile(r"CPU and memory of node-\d\d: CPU from \d+ % to \d+ %"))
    pods = drawer.get_by_role("table", name="Pods")
    expect(pods.locator("tbody tr").first).to_contain_text(re.compile(r"\S+/\S+.*± \d+m"))
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_a_decision_can_be_opened_and_read(demo: str, opened: Opener) -> None:
    page = opened(demo)
    expect(page.locator("#decisions button").nth(5)).to_be_visible()
    page.click("#pause")
    older = page.locator("#decisions button").nth(5)  # bound by now
    pod = older.locator(".pod").inner_text()
    older.click()
    drawer = page.locator("#drawer")
    expect(drawer.locator("h2")).to_have_text(pod)
    expect(drawer.locator(".sentence")).to_contain_text("predicted cpu")
    table = drawer.get_by_role("table", name="Nodes by score")
    expect(table.locator("tbody tr").first).to_contain_text("%")
    told = httpx.get(f"{demo}/explain", params={"pod": pod}, trust_env=False).json()
    assert table.locator("tbody tr").count() == len(told["nodes"])
    assert told["sentence"] in drawer.locator(".sentence").inner_text()


def test_the_stream_of_decisions_can_be_held_still(demo: str, opened: Opener) -> None:
    page = opened(demo)
    expect(page.locator("#decisions button").first).to_be_visible()
    page.click("#pause")
    page.mouse.move(5, 400)
    before = page.locator("#decisions .pod").all_inner_texts()
    expect(page.locator("#decisions-hint")).to_have_text(re.compile(r"\d+ new"), timeout=60_000)
    assert page.locator("#decisions .pod").all_inner_texts() == before
    page.click("#pause")
    page.mouse.move(5, 400)
    expect(page.locator("#decisions .pod").first).not_to_have_text(before[0])


def test_a_node_is_found_by_its_name(demo: str, opened: Opener) -> None:
    page = opened(demo)
    page.fill("#find", "node-07")
    expect(page.locator("#nodes-count")).to_have_text(re.compile(r"1 of \d+"))
    assert rows(page) == ["node-07"]
    page.press("#find", "Enter")
    expect(page.locator("#drawer h2")).to_have_text("node-07")


def test_what_if_says_where_a_manifest_would_go(demo: str, opened: Opener) -> None:
    page = opened(f"{demo}/#what-if")
    page.click("#ask")
    answer = page.locator("#what-if-answer")
    expect(answer.locator("h2")).to_have_text(re.compile(r"shop/web would go to node-\d\d"))
    expect(answer.locator(".sentence")).to_contain_text("would win with")
    expect(answer).to_contain_text("It requests 500m of CPU and 512Mi.")


def test_what_if_says_what_is_wrong_with_a_manifest(demo: str, opened: Opener) -> None:
    opened.expected = ("400 (Bad Request)",)
    page = opened(f"{demo}/#what-if")
    for manifest, words in (("a: [", "is not YAML"), ("kind: Deployment", "expected a manifest of kind Pod")):
        page.fill("#manifest", manifest)
        page.click("#ask")
        expect(page.locator("#what-if-answer .problem")).to_contain_text(words)
    page.fill("#manifest", "<img src=x onerror=alert(1)>")
    page.click("#ask")
    expect(page.locator("#what-if-answer .problem")).to_contain_text("expected a manifest of kind Pod")
    assert page.locator("#what-if-answer img").count() == 0


def test_both_clusters_of_the_demo_stand_side_by_side(demo: str, opened: Opener) -> None:
    page = opened(demo)
    expect(page.locator("#side-ours")).to_contain_text(re.compile(r"now: hottest \d+ %, \d+ above 80 %"))
    expect(page.locator("#side-default")).to_contain_text("kube-scheduler alone")
    table = page.get_by_role("table", name="Both clusters compared")
    expect(table.locator("tbody tr")).to_have_count(4)
    expect(table).to_contain_text("node-time above 80 %")


def test_profiles_and_their_shadows_are_shown(demo: str, opened: Opener) -> None:
    page = opened(f"{demo}/#profiles")
    expect(page.locator("#profiles")).to_contain_text(re.compile(r"EntropicRisk . 1"))
    expect(page.get_by_role("table", name="Shadow comparison")).to_contain_text("trimaran")


def test_the_source_and_its_ladder_are_shown(demo: str, opened: Opener) -> None:
    page = opened(f"{demo}/#sources")
    expect(page.locator("#source")).to_contain_text(re.compile(r"Readings\s*\d+ good, 0 failed"))
    expect(page.locator("#ladder")).to_contain_text(re.compile(r"fresh\s*counts wholly\s*\d+"))
    expect(page.locator("#health")).to_contain_text("fresh")


def test_everything_can_be_reached_with_the_keyboard_alone(demo: str, opened: Opener) -> None:
    page = opened(demo)
    page.wait_for_selector("#bars tr.node")

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
        raise AssertionError(f"no tab stop is {selector}")

    tab_to("#bars tr.node")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    name = page.evaluate("document.activeElement.dataset.node")
    assert page.evaluate("document.activeElement.getAttribute('aria-rowindex')") == "4"
    page.keyboard.press("Enter")
    expect(page.locator("#drawer h2")).to_have_text(name)
    assert page.evaluate("document.querySelector('#drawer').contains(document.activeElement)")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.place") == "2"
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.place") == str(page.locator("#bars tr.node").count() - 1)
    tab_to("#decisions button")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#drawer .sentence")).to_be_visible()


def test_cells_can_be_walked_and_tell_where_one_stands(demo: str, opened: Opener) -> None:
    page = opened(demo)
    page.click("#as-cells")
    page.focus("#cells canvas")
    where = page.locator("#cells-where")
    expect(where).to_contain_text(re.compile(r"node-\d\d: CPU \d+ % ± \d+, memory \d+ %"))
    before = where.inner_text().partition(":")[0]
    page.keyboard.press("ArrowRight")
    expect(where).not_to_contain_text(f"{before}:")
    name = where.inner_text().partition(":")[0]
    page.keyboard.press("Enter")
    expect(page.locator("#drawer h2")).to_have_text(name)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_system_and_the_words_can_be_read(demo: str, opened: Opener, scheme: str) -> None:
    page = opened(demo, color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    for selector in ("h2", ".hint", ".tile .more", "#bars th", "#decisions .words", "#bars .hotmark", "nav a"):
        if page.locator(selector).count():
            assert contrast(page, selector) >= 4.5, selector
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != scheme


def contrast(page: Page, selector: str) -> float:
    """Of the text of the first such element and the ground behind it, as WCAG counts it."""
    return float(
        page.evaluate(
            """(selector) => {
              const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
              const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
                .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
                .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
              const element = document.querySelector(selector);
              let ground = element;
              const clear = (each) => (parts(getComputedStyle(each).backgroundColor)[3] ?? 1) === 0;
              while (ground && clear(ground)) ground = ground.parentElement;
              const [a, b] = [element, ground ?? document.body].map((each, n) =>
                light(parts(getComputedStyle(each)[n ? "backgroundColor" : "color"])));
              return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            }""",
            selector,
        )
    )


def test_a_narrow_window_shows_the_same_without_scrolling_sideways(demo: str, opened: Opener) -> None:
    page = opened(demo, viewport={"width": 420, "height": 800})
    expect(page.locator("#bars tr.node").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
