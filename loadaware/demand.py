"""Learned demand: what pods really use of what they request, per pod, per workload and for the whole cluster.

At every reading, with x = usage / request of pod i of workload w, and y = usage / what w requests now:

    pod       s0 .. s3 <- decay * (s0 .. s3) + (1, x, x^2, x^3)               half-life 1 h
    workload  W0 .. W3 <- decay * (W0 .. W3) + (1, y, y^2, y^3) of its pods   half-life 6 h, kept when its pods are gone
    cluster   G0 .. G3  = the same over all workloads, weighted by request, with x / p_w in place of x
    r_g = G1/G0                     v_g = G2/G0 - r_g^2
    r_w = (W1 + a p_w r_g)/(W0 + a)     v_w = (W2 + a p_w^2 (v_g + r_g^2))/(W0 + a) - r_w^2    a = 10 samples
    r_i = (s1 + b r_w)/(s0 + b)     v_i = (s2 + b (v_w + r_w^2))/(s0 + b) - r_i^2          b = 10 samples
    expected usage of a pod: mean r_i * request, deviation sqrt(v_i) * request

    t_w = (W0 t(W) + a p_w^3 t_u)/(W0 + a)        t_i = (s0 t(s) + b t_w)/(s0 + b)

t is the third moment about the mean: load that is mostly low and now and then very high has a large one, and is more
dangerous than its deviation tells. t(s) is what sums tell by themselves, t_u its average over workloads, each about its
own mean: that workloads differ makes the mean of one uncertain, not its peaks rare. A workload never seen leans on the
cluster's sums, t(G). Skew, (t_i)^(1/3) * request, is none where t is negative, and bounded by the deviation.

p_w is what the names of a workload tell of its level relative to others (see prior.py), 1 if they tell nothing. A pod
of a workload that was never measured is expected to use p_w r_g of its request.

While only nodes are measured, x is a guess (apportioning.py): its doubt is added to x^2, and it teaches the workload
alone, of whose samples that many count as inferred. The first measurement of a workload replaces all guesses.

Decay goes by elapsed time, not by call; a timestamp that does not advance adds nothing. A pod that requests nothing is
taken to request one unit (a core, a GiB): then its absolute usage is learned. A pod that is not running yet (its init
containers are) teaches nothing. A restarted container is the same pod. Workloads are bounded in number: the least
recently used go first.

Another request does not change what is used. Changed in place it rescales what was learned of the pod; and where a
controller makes all pods alike, a pod with another request is a new edition of them all (a rollout, a resize): what was
learned of the workload is rescaled, too, and its pods are expected to use what they used, whatever they request. Pods
of other owners, or of none, may be of many sizes: of those usage / request is learned.

All arrays: (pod slot or workload, resource, power 0..3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.reading import CPU, MEMORY, Floats
from loadaware.demand_state import Column, Table
from loadaware.kin import TRAITS, UNKNOWN, Kin
from loadaware.prior import SILENT, Prior, Told
from loadaware.ratios import POWERS, Ratios, as_columns, from_columns, grouped, own_third, powers_of, rescaled, shrunk
from loadaware.usage import Usage
from loadaware.window import Bools, Ints
from loadaware.workload import is_of_many_sizes

UNIT_REQUESTS = {CPU: 1.0, MEMORY: 2.0**30}
"""What a pod that requests nothing is taken to request."""
UNLEARNED_RATIO = 1.0
UNLEARNED_VARIANCE = 0.25
"""Before anything was measured: a pod uses what it requests, give or take half."""


@dataclass(frozen=True)
class DemandSettings:
    """Memory and shrinkage. All sit on plateaus: halving or doubling one changes placements by a few points at most."""

    pod_half_life_seconds: float = 3600.0
    workload_half_life_seconds: float = 6 * 3600.0
    workload_prior_samples: float = 10.0
    pod_prior_samples: float = 10.0
    most_workloads: int = 50_000
    names: bool = True
    """Whether names tell of workloads that were never seen (see prior.py)."""


class Demand:
    """The sums. Pods are known by the slot that their table gives them, workloads by name."""

    def __init__(self, resources: Sequence[str], settings: DemandSettings | None = None) -> None:
        self._settings = settings or DemandSettings()
        self._units = np.array([UNIT_REQUESTS.get(resource, 1.0) for resource in resources])
        count = len(resources)
        self._pods: Floats = np.zeros((0, count, POWERS))
        self._pod_times: Floats = np.zeros(0)
        self._pod_requests: Floats = np.zeros((0, count))
        self._workload_of_pod: Ints = np.zeros(0, dtype=np.intp)
        self._workloads: Floats = np.zeros((0, count, POWERS))
        self._workload_times: Floats = np.zeros(0)
        self._inferred: Floats = np.zeros((0, count))
        """How many of the samples of each workload are guesses."""
        self._living: Ints = np.zeros(0, dtype=np.intp)
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._traits: Ints = np.zeros((0, len(TRAITS)), dtype=np.intp)
        self._requests: Floats = np.zeros((0, count))
        """What the sums of each workload are relative to: what a pod of it requested when last seen."""
        self._of_many_sizes: Bools = np.zeros(0, dtype=np.bool_)
        """Whether pods of a workload use more where they request more."""
        self._prior = Prior(count)
        self._cluster: Floats = np.zeros((count, POWERS))
        self._cluster_time = -np.inf
        self._usual_third: Floats = np.zeros(count)
        """Third moment of a workload about its own mean, averaged over all as the cluster's sums are."""
        self._ratios: Ratios | None = None
        """Of every workload, until something is learned or forgotten."""

    @property
    def learned(self) -> bool:
        """Whether anything is known of any pod."""
        return bool(self._cluster[:, 0].any())

    @property
    def measured(self) -> bool:
        """Whether any of that is more than a guess."""
        count = len(self._names)
        return bool((self._workloads[:count, :, 0] > self._inferred[:count]).any())

    @property
    def units(self) -> Floats:
        """What a pod that requests nothing is taken to request, per resource."""
        return self._units

    def workload_name(self, slot: int) -> str:
        """The workload of a pod."""
        return self._names[self._workload_of_pod[slot]]

    @property
    def workload_names(self) -> tuple[str, ...]:
        """By number."""
        return tuple(self._names)

    def workload_numbers(self, slots: Ints) -> Ints:
        """The workload of each pod."""
        return self._workload_of_pod[slots]

    # -- Pods come and go -------------------------------------------------------------------------------------------

    def begin(self, slot: int, workload: str, request: Floats, kin: Kin = UNKNOWN) -> None:
        """A pod took a slot."""
        self._reserve_pods(slot + 1)
        number = self._number(workload)
        self._pod_requests[slot] = self._or_unit(request)
        self._rebase(number, self._pod_requests[slot])
        if self._settings.names:
            traits = self._prior.traits(kin)
            if traits.tolist() != self._traits[number].tolist():
                self._traits[number] = traits
                self._ratios = None
        self._living[number] += 1
        self._workload_of_pod[slot] = number
        self._pods[slot] = 0.0
        self._pod_times[slot] = -np.inf

    def resize(self, slot: int, request: Floats) -> None:
        """A pod's request changed in place: the same usage is another ratio."""
        request = self._or_unit(request)
        scale = self._pod_requests[slot] / request
        self._pods[slot] = rescaled(self._pods[slot], scale)
        self._pod_requests[slot] = request
        self._rebase(int(self._workload_of_pod[slot]), request)

    def _rebase(self, number: int, request: Floats) -> None:
        """A pod of a workload requests so much: the same usage of its siblings is another ratio."""
        before = self._requests[number]
        if not self._of_many_sizes[number] and before.tolist() != request.tolist():
            self._workloads[number] = rescaled(self._workloads[number], before / request)
            self._ratios = None
        self._requests[number] = request

    def end(self, slot: int) -> None:
        """A pod left its slot; what its workload learned stays."""
        self._living[self._workload_of_pod[slot]] -= 1

    # -- Learning ---------------------------------------------------------------------------------------------------

    def learn(self, slots: Ints, usage: Floats, times: Floats) -> None:
        """Take in what pods use: usage (pod, resource), NaN where it was not measured. Slots must be unique."""
        fresh = (times > self._pod_times[slots]) & ~np.isnan(usage).all(axis=1)
        slots, usage, times = slots[fresh], usage[fresh], times[fresh]
        if not len(slots):
            return
        requests, workloads = self._pod_requests[slots], self._workload_of_pod[slots]
        powers = powers_of(usage / requests)
        age = np.where(np.isfinite(self._pod_times[slots]), times - self._pod_times[slots], 0.0)
        decay = 0.5 ** (age / self._settings.pod_half_life_seconds)
        self._pods[slots] = self._pods[slots] * decay[:, None, None] + powers
        self._pod_times[slots] = times
        now = float(times.max())
        self._learn_workloads(workloads, rescaled(powers, requests / self._bases(workloads, requests)), now)
        self._learn_cluster(now)

    def infer(self, slots: Ints, usage: Floats, doubt: Floats, now: float) -> None:
        """Take in what pods are guessed to use (pod, resource), and the variance of that guess."""
        known = ~np.isnan(usage).all(axis=1)
        slots, usage, doubt = slots[known], usage[known], doubt[known]
        if not len(slots):
            return
        requests, workloads = self._pod_requests[slots], self._workload_of_pod[slots]
        bases = self._bases(workloads, requests)
        powers = powers_of(usage / bases)
        doubt = doubt / bases**2 * powers[:, :, 0]
        powers[:, :, 2] += doubt
        powers[:, :, 3] += 3.0 * powers[:, :, 1] * doubt
        self._learn_workloads(workloads, powers, now, inferred=True)
        self._learn_cluster(now)

    def _bases(self, workloads: Ints, requests: Floats) -> Floats:
        """What is learned of the workloads of some pods is relative to this."""
        return np.where(self._of_many_sizes[workloads, None], requests, self._requests[workloads])

    def _learn_workloads(self, workloads: Ints, powers: Floats, now: float, *, inferred: bool = False) -> None:
        sums = grouped(workloads, powers, len(self._names))
        touched = np.flatnonzero(np.bincount(workloads, minlength=len(self._names)))
        age = np.where(np.isfinite(self._workload_times[touched]), now - self._workload_times[touched], 0.0)
        decay = 0.5 ** (np.maximum(age, 0.0) / self._settings.workload_half_life_seconds)
        if not inferred:
            guessed = touched[self._inferred[touched].any(axis=1)]
            self._workloads[guessed], self._inferred[guessed] = 0.0, 0.0
        self._workloads[touched] = self._workloads[touched] * decay[:, None, None] + sums[touched]
        self._inferred[touched] *= decay[:, None]
        if inferred:
            self._inferred[touched] += sums[touched, :, 0]
        self._workload_times[touched] = now

    def _learn_cluster(self, now: float) -> None:
        """Fit what names tell, and sum up all workloads relative to it."""
        self._ratios = None
        count = len(self._names)
        sums, traits = self._workloads[:count], self._traits[:count]
        samples = sums[:, :, 0]
        if self._settings.names and self._prior.due(now):
            self._prior.fit(traits, sums[:, :, 1] / np.maximum(samples, 1e-12), samples)
        age = np.maximum(now - self._workload_times[:count], 0.0)
        decay = 0.5 ** (age / self._settings.workload_half_life_seconds)
        weights = decay[:, None] * self._requests[:count]
        relative = rescaled(sums, 1.0 / self._prior.levels(traits))
        self._cluster = (weights[:, :, None] * relative).sum(axis=0)
        seen = weights * samples
        self._usual_third = (seen * own_third(relative)).sum(axis=0) / np.maximum(seen.sum(axis=0), 1e-12)
        self._cluster_time = now

    # -- What follows from it ---------------------------------------------------------------------------------------

    def cluster_ratios(self) -> Ratios:
        """Of all pods together, per resource, relative to what names tell."""
        weight = self._cluster[:, 0]
        known = weight > 0
        mean = np.divide(self._cluster[:, 1], weight, out=np.full(len(weight), UNLEARNED_RATIO), where=known)
        square = np.divide(self._cluster[:, 2], weight, out=mean**2 + UNLEARNED_VARIANCE, where=known)
        return Ratios.of(mean, square, own_third(self._cluster))

    def workload_ratios(self) -> Ratios:
        """Of every workload, by number: what it learned, shrunk towards what names tell and the cluster."""
        if self._ratios is not None and len(self._ratios.mean) == len(self._names):
            return self._ratios
        count, cluster = len(self._names), self.cluster_ratios()
        levels = self._prior.levels(self._traits[:count])
        prior = Ratios(cluster.mean, cluster.variance, self._usual_third).times(levels)
        self._ratios = shrunk(self._workloads[:count], prior, self._settings.workload_prior_samples)
        return self._ratios

    def workload_bases(self) -> Floats:
        """What the ratios of each workload are of (workload, resource); NaN: of what the pod requests."""
        count = len(self._names)
        by_pod = self._of_many_sizes[:count, None] | (self._workloads[:count, :, 0] == 0)
        return np.where(by_pod, np.nan, self._requests[:count])

    def told(self) -> Told:
        """What names tell."""
        return self._prior.told()

    def pod_expectations(self, slots: Ints) -> Usage:
        """Expected usage of pods (pod, resource)."""
        workloads = self.workload_ratios()
        numbers = self._workload_of_pod[slots]
        requests = self._pod_requests[slots]
        learned = self._workloads[numbers, :, 0] > 0
        scale = np.where(learned, self._bases(numbers, requests), requests) / requests
        theirs = workloads.at(numbers).times(scale)
        return shrunk(self._pods[slots], theirs, self._settings.pod_prior_samples).usage(requests)

    # -- Kept beyond this process: see demand_state ------------------------------------------------------------------

    def export(self) -> dict[str, Table]:
        """What was learned of the cluster, of each workload (by number) and of the words that names are made of."""
        count = len(self._names)
        workloads: dict[str, Column] = {
            **as_columns(self._workloads[:count]),
            "times": self._workload_times[:count].copy(),
            "bases": self._requests[:count].copy(),
            "inferred": self._inferred[:count].copy(),
        }
        workloads |= {f"word_{trait}": self._traits[:count, column].copy() for column, trait in enumerate(TRAITS)}
        cluster: dict[str, Column] = {
            **as_columns(self._cluster[None]),
            "thirds": self._usual_third[None],
            "times": np.array([self._cluster_time]),
        }
        return {
            "cluster": Table(("cluster",), cluster),
            "workloads": Table(tuple(self._names), workloads),
            "words": self._prior.export(),
        }

    def restore(self, tables: Mapping[str, Table]) -> None:
        """Take what was learned elsewhere. Of one workload known on both sides, the newer by time is kept whole."""
        self._ratios = None
        theirs = tables.get("cluster", Table())
        newer = bool(len(theirs.names) and theirs.times[0] > self._cluster_time)
        if newer:
            self._cluster = from_columns(theirs, len(self._units))[0]
            self._usual_third = theirs.floats("thirds", len(self._units))[0]
            self._cluster_time = float(theirs.times[0])
        words = self._prior.restore(tables.get("words", Table()), newer=newer)
        self._restore_workloads(tables.get("workloads", Table()), np.concatenate([[SILENT], words]))

    def _restore_workloads(self, theirs: Table, words: Ints) -> None:
        """Should there be more than there is room for, the oldest go. `words` are our numbers of their words."""
        times, sums = theirs.times, from_columns(theirs, len(self._units))
        bases = self._or_unit(theirs.floats("bases", len(self._units)))
        inferred = theirs.floats("inferred", len(self._units))
        spoken = np.stack([theirs.numbers(f"word_{trait}") for trait in TRAITS], axis=-1)
        spoken = words[np.where((spoken >= 0) & (spoken < len(words)), spoken, SILENT)]
        newest = np.argsort(times, kind="stable")[-self._settings.most_workloads :]
        for position in np.sort(newest[np.isfinite(times[newest])]).tolist():
            number = self._number(theirs.names[position])
            if times[position] > self._workload_times[number]:
                self._workloads[number] = sums[position]
                self._inferred[number] = inferred[position]
                self._workload_times[number] = times[position]
                mine, self._requests[number] = self._requests[number].copy(), bases[position]
                if self._living[number]:
                    self._rebase(number, mine)
                else:
                    self._traits[number] = spoken[position]

    def export_pods(self, slots: Ints) -> dict[str, Column]:
        """What was learned of these pods."""
        return {
            **as_columns(self._pods[slots]),
            "times": self._pod_times[slots],
            "bases": self._pod_requests[slots],
            "workloads": self._workload_of_pod[slots],
        }

    def resume(self, slot: int, sums: Floats, time: float, base: Floats) -> None:
        """What was learned of a pod elsewhere, as ratios of `base`; kept if it is newer than what is known here."""
        if time > self._pod_times[slot]:
            self._pods[slot] = sums
            self._pod_times[slot] = time
            mine = self._pod_requests[slot].copy()
            if base.tolist() != mine.tolist():
                self._pod_requests[slot] = self._or_unit(base)
                self.resize(slot, mine)

    def learn_gone(self, workloads: Sequence[str], usage: Floats, requests: Floats, time: float) -> None:
        """What pods used that have no slot any more: their workloads and the cluster learn from it."""
        numbers = np.array([self._numbers.get(name, -1) for name in workloads], dtype=np.intp)
        known = (numbers >= 0) & ~np.isnan(usage).all(axis=1)
        if known.any():
            numbers, usage, requests = numbers[known], usage[known], self._or_unit(requests[known])
            self._learn_workloads(numbers, powers_of(usage / self._bases(numbers, requests)), time)
            self._learn_cluster(time)

    # -- Room -------------------------------------------------------------------------------------------------------

    def _or_unit(self, request: Floats) -> Floats:
        if request.ndim == 1 and min(request.tolist(), default=0.0) > 0:  # one pod, as most are
            return request
        return np.where(request > 0, request, self._units)

    def _reserve_pods(self, slots: int) -> None:
        if slots > len(self._pods):
            more = max(slots, 2 * len(self._pods), 1024) - len(self._pods)
            resources = self._pods.shape[1]
            self._pods = np.concatenate([self._pods, np.zeros((more, resources, POWERS))])
            self._pod_times = np.concatenate([self._pod_times, np.full(more, -np.inf)])
            self._pod_requests = np.concatenate([self._pod_requests, np.ones((more, resources))])
            self._workload_of_pod = np.concatenate([self._workload_of_pod, np.zeros(more, dtype=np.intp)])

    def _number(self, workload: str) -> int:
        number = self._numbers.get(workload)
        if number is not None:
            return number
        if len(self._numbers) >= self._settings.most_workloads:
            self._forget_oldest()
        number = self._numbers[workload] = len(self._names)
        self._names.append(workload)
        if number >= len(self._workloads):
            more = max(256, len(self._workloads))
            self._workloads = np.concatenate([self._workloads, np.zeros((more, *self._workloads.shape[1:]))])
            self._workload_times = np.concatenate([self._workload_times, np.full(more, -np.inf)])
            self._inferred = np.concatenate([self._inferred, np.zeros((more, len(self._units)))])
            self._living = np.concatenate([self._living, np.zeros(more, dtype=np.intp)])
            self._traits = np.concatenate([self._traits, np.zeros((more, len(TRAITS)), dtype=np.intp)])
            self._requests = np.concatenate([self._requests, np.ones((more, len(self._units)))])
            self._of_many_sizes = np.concatenate([self._of_many_sizes, np.zeros(more, dtype=np.bool_)])
        self._workloads[number] = 0.0
        self._inferred[number] = 0.0
        self._traits[number] = SILENT
        self._requests[number] = self._units
        self._of_many_sizes[number] = is_of_many_sizes(workload)
        self._workload_times[number] = -np.inf
        self._living[number] = 0
        return number

    def _forget_oldest(self) -> None:
        """Make room for a tenth: of the workloads without pods, those that learned least recently go, if there are any.

        The living stay, however many they are: their number is bounded by that of the pods.
        """
        count = len(self._numbers)
        idle = np.flatnonzero(self._living[:count] == 0)
        if not len(idle):
            return
        oldest = idle[np.argsort(self._workload_times[idle], kind="stable")[: max(count // 10, 1)]]
        keep = np.ones(count, dtype=np.bool_)
        keep[oldest] = False
        self._renumber(keep)

    def _renumber(self, keep: Bools) -> None:
        count = len(keep)
        self._ratios = None
        new_number = np.cumsum(keep) - 1
        self._names = [name for name, kept in zip(self._names, keep.tolist(), strict=True) if kept]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        by_number = (self._workloads, self._inferred, self._workload_times, self._living, self._traits)
        for array in (*by_number, self._requests, self._of_many_sizes):
            kept = array[:count][keep]
            array[: len(kept)] = kept
        living = self._workload_of_pod < count
        self._workload_of_pod[living] = np.maximum(new_number[self._workload_of_pod[living]], 0)
