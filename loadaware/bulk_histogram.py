"""A histogram that takes thousands of values at once: one per node and reading is too many for one call each.

bucket(le) = number of values <= le,  cumulative as Prometheus wants it;  NaN is no value
"""

import threading
from collections.abc import Iterator, Sequence

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.utils import floatToGoString

from collectors.reading import Floats


class BulkHistogram:
    """One family of the registry. Any thread may observe, any thread may collect.

    As Prometheus has it, a family with bounds below zero tells neither sum nor count: its last bucket is the count.
    """

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
        self.labels = tuple(labels)
        self._bounds = np.array(sorted(buckets))
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, ...], Floats] = {}
        self._sums: dict[tuple[str, ...], float] = {}
        if not self.labels:
            self.observe(np.zeros(0))
        registry.register(self)

    def observe(self, values: Floats, *labels: str) -> None:
        """Count these values under the values of the labels."""
        if len(labels) != len(self.labels):
            raise ValueError(f"{self.name} has the labels {self.labels}, not {len(labels)} of them")
        values = values[~np.isnan(values)]
        places = np.searchsorted(self._bounds, values, side="left")
        counts = np.bincount(places, minlength=len(self._bounds) + 1).astype(np.float64)
        with self._lock:
            self._counts[labels] = self._counts.get(labels, 0.0) + counts
            self._sums[labels] = self._sums.get(labels, 0.0) + float(values.sum())

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """What was counted so far."""
        family = self._family()
        with self._lock:
            counted = [(labels, counts, self._sums[labels]) for labels, counts in self._counts.items()]
        bounds = [*map(floatToGoString, self._bounds.tolist()), "+Inf"]
        for labels, counts, total in counted:
            family.add_metric(labels, list(zip(bounds, np.cumsum(counts).tolist(), strict=True)), total)
        yield family

    def describe(self) -> Iterator[HistogramMetricFamily]:
        """The family without values, for the registry."""
        yield self._family()

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self.documentation, labels=self.labels)
