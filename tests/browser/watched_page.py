"""A page that is watched while it is used: errors in its console, and requests to anybody else, fail the test."""

from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

PATIENCE_MILLISECONDS = 60_000
expect.set_options(timeout=PATIENCE_MILLISECONDS)
SIZE = {"width": 1440, "height": 900}


class Opener:
    """Opens pages, each in a context of its own."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()
        """Parts of complaints that a test provokes."""

    def __call__(self, url: str, wait: bool = True, **context: Any) -> Page:
        """The page at that address, with nodes in it unless told not to wait for them."""
        made = self._browser.new_context(**{"viewport": SIZE, "color_scheme": "light", **context})
        made.set_default_timeout(PATIENCE_MILLISECONDS)
        self._contexts.append(made)
        page = made.new_page()
        host = urlsplit(url).netloc
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(host, request.url))
        page.goto(url)
        if wait:
            expect(page.locator("#nodes-count")).not_to_have_text("")
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, host: str, url: str) -> None:
        if urlsplit(url).netloc != host:
            self.complaints.append(f"asked another host: {url}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for context in self._contexts:
            context.close()
        if kind is None:
            unexpected = [each for each in self.complaints if not any(part in each for part in self.expected)]
            assert not unexpected
