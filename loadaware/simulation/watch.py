"""What was told when: news wait here until they are due, and come out in order of time."""

import heapq
from collections.abc import Iterable, Iterator
from itertools import count

from collectors.cluster import Event
from collectors.reading import Reading

News = Event | Reading


class Watch:
    """A queue of news. Of those due at the same moment, the one put in first comes out first."""

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, News]] = []
        self._order = count()

    def tell(self, due: float, news: Iterable[News]) -> None:
        """To be told at that time."""
        for item in news:
            heapq.heappush(self._queue, (due, next(self._order), item))

    def until(self, time: float) -> Iterator[News]:
        """Everything due by then."""
        while self._queue and self._queue[0][0] <= time:
            yield heapq.heappop(self._queue)[2]
