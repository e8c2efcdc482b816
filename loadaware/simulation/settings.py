"""Every number of a scenario, with unit, default and reason.

The defaults follow the setting in which EntropicRisk's prototype was measured, so that figures can be compared, and
differ from it in three things that are closer to a real cluster (decision 15); the demo and the sensitivity runs change
single ones.
"""

from dataclasses import dataclass, field

MONDAY_EIGHT_O_CLOCK = 1_767_600_000.0
"""Monday, 5 January 2026, 08:00 UTC, in seconds since 1970."""


@dataclass(frozen=True)
class MachineSettings:
    """The nodes."""

    nodes: int = 100
    cores: tuple[int, ...] = (8, 16, 32)
    shares: tuple[float, ...] = (0.4, 0.4, 0.2)
    """Of each size: clusters grow over the years and are never of one size."""
    gibibytes_per_core: float = 4.0
    zones: int = 3
    overhead: tuple[float, float] = (0.01, 0.06)
    """CPU that kubelet, container runtime and daemons use, as a share of the node; pod metrics do not show it."""


@dataclass(frozen=True)
class WorkloadSettings:
    """What pods declare, and how far from it they use."""

    request_median_cores: float = 0.4
    request_deviation: float = 0.9
    """Of the logarithm; gives a mean of 0.6 core."""
    request_least_cores: float = 0.1
    request_most_cores: float = 4.0
    named: float = 1.0
    """How much namespace, image and size of request tell of the usage factor: 1 as the catalogue says, 0 nothing."""
    own_deviation: float = 0.5
    """Of the logarithm of a workload's usage factor: the part that no name explains."""
    most_cores: float = 5.0
    """No pod uses more: programs have so many threads."""
    cpu_limit_share: float = 0.0
    """Share of workloads that declare a CPU limit (1.5 to 4 times the request, and never use more)."""
    jobs: bool = True
    """Some workloads are CronJobs, whose pods kube-scheduler does not spread; without, they are Deployments."""
    shared: float = 0.7
    """Share of a replica's curve that is its workload's; the rest is its own. 0: replicas are uncorrelated."""
    memory_scale: float = 1.0
    """All use of memory is multiplied by it: above 1.4 or so pods use more than they request."""
    noise: float = 0.15
    """Usage jumps by up to this share, either way, from one step to the next."""
    noise_seconds: float = 30.0


@dataclass(frozen=True)
class ArrivalSettings:
    """When pods come and go."""

    requests: float = 0.72
    """Requested CPU is held near this share of the cluster: where operators stop adding."""
    most_replicas: int = 30
    """A burst has 1 to this many replicas, small ones more often (log-uniform)."""
    even_bursts: bool = False
    """All sizes of bursts are as likely instead."""
    largest_burst: float = 0.05
    """A burst requests at most this share of the cluster, so that small clusters are not swamped by one."""
    wave_share: float = 0.04
    """Share of arrivals that are a wave of several workloads: a release, a recovery."""
    wave_workloads: tuple[int, int] = (4, 9)
    wave_seconds: float = 120.0
    new_share: float = 0.3
    """Bursts of workloads never seen before; the others recur."""
    known_per_node: float = 2.0
    """Workloads that exist when the scenario starts, per node."""
    lifetime_median_seconds: float = 5_400.0
    lifetime_deviation: float = 1.3
    lifetime_least_seconds: float = 60.0
    lifetime_most_seconds: float = 172_800.0
    fill_seconds: float = 600.0
    """The pods that exist at the start arrive within this time."""


@dataclass(frozen=True)
class FailureSettings:
    """Nodes that go away for a while."""

    per_day: float = 0.0
    """In the whole cluster. None by default, as where the prototype was measured."""
    away_median_seconds: float = 900.0
    away_deviation: float = 0.5


@dataclass(frozen=True)
class ScenarioSettings:
    """A whole scenario. Times are seconds since 1970."""

    start: float = MONDAY_EIGHT_O_CLOCK
    duration_seconds: float = 30 * 3600.0
    load: float = 0.5
    """Average demand for CPU, overhead included, as a share of all cores; met by scaling all usage."""
    load_before_limits: bool = False
    """The load is what pods alone would use if nothing limited them; what nodes use by themselves comes on top."""
    load_from_seconds: float = 3_600.0
    load_until_seconds: float | None = None
    """The load is met on average between these two, counted from the start; None: the end."""
    machines: MachineSettings = field(default_factory=MachineSettings)
    workloads: WorkloadSettings = field(default_factory=WorkloadSettings)
    arrivals: ArrivalSettings = field(default_factory=ArrivalSettings)
    failures: FailureSettings = field(default_factory=FailureSettings)

    @property
    def load_between(self) -> tuple[float, float]:
        """The time in which the load is met; the second half of a scenario that is over before it begins."""
        until = min(self.load_until_seconds or self.duration_seconds, self.duration_seconds)
        return self.start + min(self.load_from_seconds, until / 2.0), self.start + until

    @property
    def end(self) -> float:
        """When it is over."""
        return self.start + self.duration_seconds
