"""Kubernetes events for what people should see on a pod: off the request path, bounded, rare, never waited for."""

import asyncio
import logging
from collections.abc import Callable

from collectors.errors import CollectorError, SourceRefusedError
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Pod
from collectors.writes import EventKind, write_event

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 60.0
"""Between two events of one reason: a cluster in trouble needs no flood of them."""
FORBIDDEN = 403
FORBIDDEN_SECONDS = 3600.0
"""Quiet after we were told that we may not: for long, not for good, for it may be one namespace that is being deleted,
or a right that is granted later."""


class Announcements:
    """One thread: the event loop's. Writing happens in others."""

    def __init__(self, api: KubernetesApi | None, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock
        self._last: dict[str, float] = {}
        self._quiet_until = float("-inf")
        self._under_way: set[asyncio.Task[None]] = set()

    def announce(
        self,
        pod: Pod,
        reason: str,
        message: str | Callable[[], str],
        *,
        kind: EventKind = "Warning",
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        """Write an event on a pod, unless one of this reason was written lately. A message may be made only then."""
        now = self._clock()
        lately = now - self._last.get(reason, float("-inf")) < pause_seconds
        if self._api is None or not pod.name or lately or now < self._quiet_until:
            return
        self._last[reason] = now
        text = message if isinstance(message, str) else message()
        task = asyncio.get_running_loop().create_task(self._write(self._api, pod, reason, text, kind))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _write(self, api: KubernetesApi, pod: Pod, reason: str, message: str, kind: EventKind) -> None:
        try:
            await asyncio.to_thread(write_event, api, pod, reason, message, kind)
        except SourceRefusedError as error:
            logger.warning("an event cannot be written: %s", error)
            if error.status == FORBIDDEN:
                self._quiet_until = self._clock() + FORBIDDEN_SECONDS
        except CollectorError as error:
            logger.warning("an event cannot be written: %s", error)
