"""The page where a token is asked for, where things are switched off, and where the server goes away."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.served import served
from tests.browser.watched_page import Opener
from tests.loadaware.decided import ask
from tests.loadaware.running_server import frozen_service
from tests.parts.processes import free_port

TOKEN = "quite-a-secret"


def test_where_a_token_is_needed_the_page_asks_for_it(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    opened.expected = ("401 (Unauthorized)",)
    with served(frozen_service(), token_file=str(file)) as url:
        page = opened(url, wait=False)
        dialog = page.locator("#token")
        expect(dialog).to_be_visible()
        expect(page.locator("#bars tr.node")).to_have_count(0)
        page.fill("#token-value", "wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#token-problem")).to_contain_text("the token is not the right one")
        page.fill("#token-value", TOKEN)
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.locator("#bars tr.node").first).to_contain_text("busy")
        page.reload()
        expect(page.locator("#bars tr.node").first).to_contain_text("busy")
        expect(dialog).to_be_hidden()
        assert TOKEN not in page.content()
        assert TOKEN not in page.url


def test_what_is_switched_off_is_not_offered(opened: Opener) -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    with served(service, explain=False, what_if=False, shadow=False) as url:
        page = opened(url)
        expect(page.get_by_role("link", name="What if")).to_be_hidden()
        expect(page.locator("#decisions")).to_contain_text("switched off here (people.explain)")
        page.locator("#bars tr.node").first.click()
        expect(page.locator("#drawer h2")).to_have_text("busy")
        expect(page.locator("#drawer .sentence")).to_have_count(0)


def test_where_nobody_watches_pods_the_panel_says_what_is_known(opened: Opener) -> None:
    with served(frozen_service()) as url:
        page = opened(url)
        page.get_by_text("near", exact=True).click()
        drawer = page.locator("#drawer")
        expect(drawer).to_contain_text(re.compile("Single samples are not known here. CPU over the window: mean 1400m"))
        expect(drawer).to_contain_text("Which they are is not told")


def test_a_server_that_goes_away_is_told_of_and_found_again(opened: Opener) -> None:
    opened.expected = ("Failed to load resource", "ERR_")
    port = free_port()
    with served(frozen_service(), port=port) as url:
        page = opened(url)
    expect(page.locator("#banner")).to_be_visible()
    expect(page.locator("#health")).to_contain_text("not connected")
    with served(frozen_service(), port=port):
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator("#health")).to_contain_text("frozen data")


def test_a_page_too_many_is_told_why(opened: Opener) -> None:
    opened.expected = ("503 (Service Unavailable)",)
    with served(frozen_service(), streams=1) as url:
        opened(url)
        second = opened(url, wait=False)
        expect(second.locator("#banner")).to_contain_text("1 pages are open already (people.streams)")
