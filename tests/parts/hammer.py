"""Asks a server again and again from several threads, some on kept connections and some on a new one each time.

The bargain: while inside `with`, calls go on; afterwards `answered` counts the good answers and `failures` says what
went wrong with the others. A call that failed is not tried again, as Go's client does not try a POST again.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests

from tests.parts.certificates import KeyPair

TIMEOUT_SECONDS = 10.0
PAUSE_SECONDS = 0.01
"""Enough calls to be in the middle of one at any moment, and CPU left for those who answer them."""


class Hammer:
    """`kept` threads that keep their connection, and `fresh` ones that make a new one for each call."""

    def __init__(
        self,
        url: str,
        body: Mapping[str, Any],
        *,
        kept: int = 2,
        fresh: int = 2,
        authority: Path | None = None,
        shown: KeyPair | None = None,
    ) -> None:
        self._url = url
        self._body = dict(body)
        self._authority = authority
        self._shown = shown
        self._stop = threading.Event()
        self.answered = 0
        self.failures: list[str] = []
        self._threads = [
            threading.Thread(target=self._ask_on, args=(keep,), daemon=True) for keep in [True] * kept + [False] * fresh
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask_on(self, keep: bool) -> None:
        session = self._session()
        while not self._stop.wait(PAUSE_SECONDS):
            try:
                answer = session.post(self._url, json=self._body, timeout=TIMEOUT_SECONDS)
                if answer.status_code == 200:
                    self.answered += 1
                else:
                    self.failures.append(f"{answer.status_code} {answer.text[:200]}")
            except requests.RequestException as error:
                self.failures.append(f"{'kept' if keep else 'fresh'}: {error}")
            if not keep:
                session.close()
                session = self._session()
        session.close()

    def _session(self) -> requests.Session:
        session = requests.Session()
        session.trust_env = False
        if self._authority is not None:
            session.verify = str(self._authority)
        if self._shown is not None:
            session.cert = (str(self._shown.certificate), str(self._shown.key))
        return session
