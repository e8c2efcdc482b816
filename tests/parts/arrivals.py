"""Pods that keep coming, one after the other, while something happens to those who place them.

The bargain: while inside `with`, each pod is made as soon as the one before is bound, so at any moment one is on its
way; `placed` says where each went so far. One that is not bound in time ends it, and leaving raises that.
"""

import threading
from types import TracebackType
from typing import Any, Self

from tests.parts.kubernetes_api import KubernetesApi

PAUSE_SECONDS = 0.02


class Arrivals:
    """Made with a client of their own, in a thread of their own."""

    def __init__(self, api: KubernetesApi, name: str, **of_pod: Any) -> None:
        self.placed: dict[str, str] = {}
        self._api = api
        self._name = name
        self._of_pod = of_pod
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._api.close()
        if self._error is not None and error is None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._stop.wait(PAUSE_SECONDS):
                pod = f"{self._name}-{len(self.placed)}"
                self._api.add_pod(pod, **self._of_pod)
                self.placed[pod] = self._api.node_of(pod)
        except BaseException as error:  # noqa: BLE001 - told to whoever leaves
            self._error = error
