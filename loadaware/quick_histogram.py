"""A histogram for the hot path: one value is one step of bisection and two additions, without a lock.

The bargain: one thread observes, the event loop's. Any thread may collect; it may see a value that is being counted
in one place and not yet in the other, and sees it whole the next time.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.utils import floatToGoString


class Observed:
    """The values of one series."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def told(self) -> tuple[list[int], float]:
        """How many values are at most each bound, and last all; their sum."""
        return list(accumulate(self._counts)), self._sum


class QuickHistogram:
    """One family of the registry."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str],
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self.name = name
        self.documentation = documentation
        self.label_names = tuple(labels)
        self._bounds = tuple(sorted(buckets))
        self._series: dict[tuple[str, ...], Observed] = {}
        registry.register(self)

    def labels(self, *values: str) -> Observed:
        """The series of these labels' values."""
        if len(values) != len(self.label_names):
            raise ValueError(f"{self.name} has the labels {self.label_names}, not {len(values)} of them")
        series = self._series.get(values)
        if series is None:
            series = self._series[values] = Observed(self._bounds)
        return series

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """What was counted so far."""
        family = self._family()
        bounds = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, series in list(self._series.items()):
            counts, total = series.told()
            family.add_metric(values, list(zip(bounds, counts, strict=True)), total)
        yield family

    def describe(self) -> Iterator[HistogramMetricFamily]:
        """The family without values, for the registry."""
        yield self._family()

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self.documentation, labels=self.label_names)
