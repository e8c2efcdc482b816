"""The configuration: frozen classes, `load(path) -> Config`. Unknown keys are refused with their path.

Written as people write KubeSchedulerConfiguration: apiVersion, kind, camelCase, durations (15s), quantities (500m).
The defaults work in a cluster with nothing but metrics-server. Each field's docstring says what it does and why its
default is what it is; docs/configuration.md is made from them.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from loadaware.config_problems import explain_problem, name_keys
from loadaware.errors import ConfigError
from loadaware.in_flight import Rule
from loadaware.quantities import Duration, Quantity, decode_hook

API_VERSION: Final = "loadaware.io/v1alpha1"
KIND: Final = "LoadAwareConfiguration"


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of every part of the configuration."""


class MetricsServerSource(Section, frozen=True, kw_only=True, tag_field="type", tag="MetricsServer"):
    """metrics.k8s.io, as metrics-server and others serve it."""

    pods: bool = True
    """Read pod usage too. Off saves some 500 bytes per pod and reading."""
    timeout: Duration = Duration(30.0)
    """How long one reading may take; 150,000 pods are some 75 MB."""


class BasicAuth(Section, frozen=True, kw_only=True):
    """A user name and a file that holds the password."""

    username: str
    """Sent with each request."""
    password_file: str
    """Read anew for each request."""


class PrometheusSource(Section, frozen=True, kw_only=True, tag_field="type", tag="Prometheus"):
    """Whatever speaks the Prometheus API: Prometheus, Thanos, Mimir, VictoriaMetrics."""

    url: str
    """Where it answers, such as http://prometheus.monitoring:9090."""
    node_queries: Mapping[str, str] = {}
    """PromQL per resource for nodes, in cores and bytes. Empty: node-exporter's series, else cAdvisor's."""
    pod_queries: Mapping[str, str] = {}
    """PromQL per resource for pods, with labels `namespace` and `pod`. Empty: cAdvisor's series."""
    pods: bool = True
    """Read pod usage too."""
    rate_window: Duration = Duration(120.0)
    """What `$window` means in a query: over how long rates are taken. At least twice the scrape interval."""
    node_label: str = ""
    """The label that names the node. Empty: found by itself."""
    node_pattern: str = ""
    """A regular expression whose group `node` (or first group) in that label is the node."""
    bearer_token_file: str = ""
    """Read anew for each request, so the token may rotate."""
    basic_auth: BasicAuth | None = None
    """A user name and a password file."""
    headers: Mapping[str, str] = {}
    """Sent with each request: a tenant, say."""
    ca_file: str = ""
    """The authority that signed the server's certificate. Empty: the system's."""
    insecure_skip_verify: bool = False
    """Do not check the server's certificate. For trying out only."""
    timeout: Duration = Duration(10.0)
    """How long one query may take."""
    history: bool = True
    """Fill the window from the past at start, so that a restart is warm."""


class LoadWatcherSource(Section, frozen=True, kw_only=True, tag_field="type", tag="LoadWatcher"):
    """A load-watcher service, as Trimaran uses it."""

    url: str
    """Where it answers; /watcher is added."""
    timeout: Duration = Duration(10.0)
    """How long one reading may take."""


class ReplaySource(Section, frozen=True, kw_only=True, tag_field="type", tag="Replay"):
    """A recorded history, played back. For trying a configuration out."""

    folder: str
    """The history's folder."""
    speed: float = 1.0
    """1 is as it was, 60 a minute per second."""
    loop: bool = True
    """Begin again at the end."""

    def __post_init__(self) -> None:
        if not 0 < self.speed < float("inf"):
            raise ValueError(f"speed must be above zero, not {self.speed:g}")


Source = MetricsServerSource | PrometheusSource | LoadWatcherSource | ReplaySource


class PluginReference(Section, frozen=True, kw_only=True):
    """A filter by name, with its args."""

    name: str
    """A row of docs/plugins.md, or another distribution's entry point."""
    args: Mapping[str, Any] = {}
    """The plugin's own settings."""
    isolated: bool = False
    """Run it in a worker process, so that even one that hangs harms nobody. Costs a journey between processes."""
    deadline: Duration = Duration(0.05)
    """How long an isolated plugin may take before it is skipped and its worker started anew."""


class ScorerReference(PluginReference, frozen=True, kw_only=True):
    """A scorer by name, with its weight and args."""

    weight: float = 1.0
    """Its share among the profile's scorers."""

    def __post_init__(self) -> None:
        if not 0 < self.weight < float("inf"):
            raise ValueError(f"weight must be above zero, not {self.weight:g}")


class ProfileSection(Section, frozen=True, kw_only=True):
    """How pods of one schedulerName are filtered and ranked."""

    scheduler_name: str = "default-scheduler"
    """Pods whose spec.schedulerName is this use the profile; it is also its name in the path."""
    scorers: tuple[ScorerReference, ...] = ()
    """Weighted; their weighted mean is the score."""
    filters: tuple[PluginReference, ...] = ()
    """Applied in order. None by default: placing by load needs no rejection."""
    max_score: int = 30
    """The best priority on the wire. 30 with extender weight 1 counts like an in-tree plugin of weight 3; 10 is the
    protocol's own range and leaves only 11 levels."""
    combine: Literal["Weighted", "Mean", "Minimum"] = "Weighted"
    """How the scorers' scores become one: by their weights, equally, or the worst alone."""
    least_passing: int = 3
    """How many of the least loaded nodes pass when load rules would reject every node."""
    shadow: bool = False
    """Only scored aside, on the requests of all other profiles, and never on the wire: GET /shadow compares them. Pods
    of its schedulerName are served by the first profile."""

    def __post_init__(self) -> None:
        if not 1 <= self.max_score <= 1000:
            raise ValueError(f"maxScore must be in 1..1000, not {self.max_score}")
        if self.least_passing < 1:
            raise ValueError("leastPassing must be at least 1: a load rule never empties the list")
        if "/" in self.scheduler_name or not self.scheduler_name:
            raise ValueError("schedulerName must be a name without a slash")


class WindowSection(Section, frozen=True, kw_only=True):
    """How much past is kept, and how it is summed up."""

    length: Duration = Duration(900.0)
    """The main window: mean and deviation are over this. As Trimaran's load-watcher has it. At most 240 samples are
    kept per node, so a source that has a new one every second fills four minutes of it."""
    others: tuple[Duration, ...] = (Duration(300.0), Duration(600.0), Duration(3600.0), Duration(86400.0))
    """Other lengths that plugins may use. Those longer than `length` are kept in 60 buckets each."""
    percentiles: tuple[float, ...] = (95.0,)
    """Percentiles of the main window that plugins may use."""

    def __post_init__(self) -> None:
        if not 60 <= self.length <= 3600:
            raise ValueError("length must be in 1m..1h; longer ones belong in `others`")
        if len(self.others) > 8:
            raise ValueError("others takes at most 8 lengths")
        if any(not 60 <= length <= 31 * 86400 for length in self.others):
            raise ValueError("others takes lengths in 1m..31d")
        if any(not 0 <= p <= 100 for p in self.percentiles):
            raise ValueError("percentiles must be in 0..100")


class StalenessSection(Section, frozen=True, kw_only=True):
    """When a measurement is doubted, and when it is worth nothing."""

    fresh: Duration = Duration(300.0)
    """Up to this age a measurement counts wholly. Five minutes cost no placement quality on real traces."""
    expired: Duration = Duration(900.0)
    """From this age on it counts for nothing; in between it fades."""

    def __post_init__(self) -> None:
        if not 0 < self.fresh < self.expired:
            raise ValueError("expired must be longer than fresh, and both above zero")


class InFlightSection(Section, frozen=True, kw_only=True):
    """How pods placed but not yet measured are counted."""

    rule: Rule = "MissingShare"
    """MissingShare: by the share of the window that has not seen them. Trimaran: wholly, for 60 seconds."""
    booking_timeout: Duration = Duration(10.0)
    """How long a ranked pod stays booked if no watch tells where it went."""
    beside_default_plugins: bool = True
    """Book where our priority and kube-scheduler's default plugins together will be highest. False where those plugins
    are switched off: then our priority alone says where."""


class HandOverSection(Section, frozen=True, kw_only=True):
    """Another loadaware of the same cluster that hands over what it has learned when we start."""

    url: str
    """Where it answers, such as http://loadaware-headless.kube-system:8090. Each address of the name is asked in turn,
    but not our own."""
    timeout: Duration = Duration(5.0)
    """How long all of it may take; the first reading waits for it."""
    ca_file: str = ""
    """For https: the authority that signed its certificate. Empty: the system's."""
    cert_file: str = ""
    """The certificate that we show it, if it asks for one."""
    key_file: str = ""
    """Its key. Empty: it is in the same file."""

    def __post_init__(self) -> None:
        if not 0.1 <= self.timeout <= 60:
            raise ValueError("timeout must be in 100ms..1m")


class DemandSection(Section, frozen=True, kw_only=True):
    """Where learned demand comes from at start, and where it is kept. Of what several know, the newest counts."""

    state_file: str = ""
    """The file in which it is kept over restarts. Empty: none. Its folder must exist and be writable."""
    save_interval: Duration = Duration(300.0)
    """How often it is saved, besides at a clean stop. A crash costs what was learned since."""
    hand_over: HandOverSection | None = None
    """Ask another replica for it at start."""
    warm_up: Duration = Duration(6 * 3600.0)
    """How much of pods' past is read at start where the source is a Prometheus (with `history`): as long as half of it
    is remembered. 0s: none. What a file or a replica knows is not read again."""

    def __post_init__(self) -> None:
        if not 10 <= self.save_interval <= 86400:
            raise ValueError("saveInterval must be in 10s..1d")
        if self.warm_up > 7 * 86400:
            raise ValueError("warmUp must be at most 7d")


class TLSSection(Section, frozen=True, kw_only=True):
    """Certificates of the extender."""

    cert_file: str
    """The server's certificate chain, PEM."""
    key_file: str
    """Its key, PEM."""
    client_ca_file: str = ""
    """If set, a client must show a certificate signed by this authority."""


class ServerSection(Section, frozen=True, kw_only=True):
    """Where and how requests are answered."""

    address: str = "0.0.0.0"
    """The address to listen on."""
    port: int = 8090
    """The port to listen on."""
    body_limit: Quantity = Quantity(128 * 2**20)
    """The largest body taken: 5,000 whole nodes can be 75 MB."""
    keep_alive: Duration = Duration(120.0)
    """How long an idle connection is kept. kube-scheduler reuses one idle for up to 90 s."""
    connections: int = 1024
    """How many connections at once; further ones are answered 503."""
    drain: Duration = Duration(10.0)
    """How long requests under way may take after SIGTERM."""
    leaving: Duration = Duration(5.0)
    """How long after SIGTERM it goes on answering if anybody is connected: unready, and with `Connection: close` in
    each answer, so that clients go elsewhere before the port is closed. 0s: not at all."""
    readiness_grace: Duration = Duration(60.0)
    """Ready after the first good reading, or after this long without one: answers are neutral then, not wrong."""
    tls: TLSSection | None = None
    """HTTPS, on the people's port as well. None: plain HTTP."""
    extender: bool = True
    """Answer kube-scheduler's verbs. False: only what is for people, and health."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port must be in 0..65535, not {self.port}")
        if self.connections < 1:
            raise ValueError("connections must be at least 1")
        if self.body_limit < 1024:
            raise ValueError("bodyLimit must be at least 1Ki")
        if not 0 <= self.leaving <= 300:
            raise ValueError("leaving must be in 0s..5m")


class PeopleSection(Section, frozen=True, kw_only=True):
    """What people and Prometheus ask for: the page, explanations, metrics. Each can be switched off; what is off is
    answered 404, and with all of it off nobody listens on this port.
    """

    port: int | None = 8091
    """A port of its own, so that streams and scrapes take none of kube-scheduler's connections. null: everything is on
    `server.port`."""
    address: str = ""
    """The address to listen on. Empty: `server.address`."""
    connections: int = 256
    """How many connections at once; further ones are answered 503."""
    page: bool = True
    """The live page at / and its stream."""
    streams: int = 32
    """How many pages may be open at once; further ones are told to come back later."""
    nodes: bool = True
    """/nodes and /node: what is believed about nodes, and the pods of one."""
    explain: bool = True
    """/explain and /decisions, and the decisions on the page."""
    what_if: bool = True
    """/what-if: where would this manifest go? Nothing is booked, kept or counted."""
    shadow: bool = True
    """/shadow."""
    demand: bool = True
    """/demand. (/demand/state, for other replicas, is on the extender's port.)"""
    metrics: bool = True
    """/metrics. It names nodes, but no pods, and asks for no token."""
    token_file: str = ""
    """A file with a token that must come with each request (Authorization: Bearer, or X-Loadaware-Token where a proxy
    wants the former for itself). Read anew each time, so it may rotate. Not asked for: /healthz, /readyz, /metrics, and
    the page's own files, which hold no data. Empty: no token."""
    token_variable: str = ""
    """An environment variable that holds the token, instead of a file."""

    def __post_init__(self) -> None:
        if self.port is not None and not 0 <= self.port <= 65535:
            raise ValueError(f"port must be in 0..65535, not {self.port}")
        if self.connections < 1:
            raise ValueError("connections must be at least 1")
        if not 1 <= self.streams <= 1000:
            raise ValueError(f"streams must be in 1..1000, not {self.streams}")
        if self.token_file and self.token_variable:
            raise ValueError("tokenFile and tokenVariable exclude each other")


class ReferencePod(Section, frozen=True, kw_only=True):
    """What a pod requests whose score on each node is shown."""

    cpu: Quantity = Quantity(0.5)
    """Cores."""
    memory: Quantity = Quantity(512 * 2**20)
    """Bytes."""


class TracesSection(Section, frozen=True, kw_only=True):
    """Answers as OpenTelemetry spans. Needs the extra `loadaware[tracing]`; a change of it needs a restart."""

    endpoint: str = ""
    """Where spans are sent, OTLP over HTTP: `http://collector:4318/v1/traces`. Empty: none are made."""
    ratio: float = 1.0
    """Which share of the answers is told, where the client's own trace does not say."""

    def __post_init__(self) -> None:
        if self.endpoint and not self.endpoint.startswith(("http://", "https://")):
            raise ValueError(f"endpoint must begin with http:// or https://, not {self.endpoint!r}")
        if not 0.0 <= self.ratio <= 1.0:
            raise ValueError(f"ratio must be in 0..1, not {self.ratio:g}")


class TelemetrySection(Section, frozen=True, kw_only=True):
    """What /metrics shows."""

    nodes: int = 50
    """How many nodes have series of their own: the most utilized by CPU. 0: none; `/metrics?nodes=all` shows more."""
    reference_pod: ReferencePod = ReferencePod()
    """The pod whose score on each node is shown."""
    traces: TracesSection = TracesSection()
    """Spans for OpenTelemetry."""

    def __post_init__(self) -> None:
        if not 0 <= self.nodes <= 10_000:
            raise ValueError(f"nodes must be in 0..10000, not {self.nodes}")


class DecisionsSection(Section, frozen=True, kw_only=True):
    """What is kept of answers, so that they can be explained."""

    kept: int = 1000
    """How many of the last answers to filter and prioritize are kept; 0: none, and nothing can be explained."""
    memory: Quantity = Quantity(64 * 2**20)
    """How much memory they may take, about; some 40 bytes per node asked about and answer. The oldest go first."""
    file: str = ""
    """Write them to this file, too, as JSON lines. Empty: none. Its folder must exist and be writable."""
    file_size: Quantity = Quantity(16 * 2**20)
    """A file larger than this is put aside as FILE.1, the one before as FILE.2 ..."""
    files: int = 5
    """How many files there are at most, the one being written included."""
    events: bool = False
    """Write the explanation as a Kubernetes event on each pod that is bound, one a second at most. Needs `create` on
    events."""

    def __post_init__(self) -> None:
        if not 0 <= self.kept <= 100_000:
            raise ValueError(f"kept must be in 0..100000, not {self.kept}")
        if self.memory < 2**20:
            raise ValueError("memory must be at least 1Mi")
        if self.file_size < 2**16:
            raise ValueError("fileSize must be at least 64Ki")
        if not 1 <= self.files <= 100:
            raise ValueError(f"files must be in 1..100, not {self.files}")


class HistorySection(Section, frozen=True, kw_only=True):
    """What is written down of all that was seen and answered, to be replayed later; see history.md."""

    folder: str = ""
    """The folder it is written to, made if it is not there. Empty: none. Needs pyarrow."""
    max_size: Quantity = Quantity(10 * 2**30)
    """Once it is larger the oldest goes. 500 nodes and 15,000 pods read each minute take some 250 MB a day."""
    max_age: Duration = Duration(14 * 86400.0)
    """What is older goes. A pause counts for a tenth of it at most, as it may be a clock that jumped ahead."""
    flush: Duration = Duration(5.0)
    """How often it is written: what a crash can cost."""

    def __post_init__(self) -> None:
        if self.max_size < 2**20:
            raise ValueError("maxSize must be at least 1Mi")
        if self.max_age < 3600:
            raise ValueError("maxAge must be at least 1h")
        if not 1 <= self.flush <= 600:
            raise ValueError("flush must be in 1s..10m")


class LogSection(Section, frozen=True, kw_only=True):
    """What is written to standard error."""

    format: Literal["text", "json"] = "text"
    """Lines for people, or JSON lines."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severity written."""
    pod_names: bool = True
    """Name pods in messages. (Metrics never do.)"""


DEFAULT_PROFILES = (ProfileSection(scorers=(ScorerReference(name="EntropicRisk"),)),)


class Config(Section, frozen=True, kw_only=True):
    """The whole configuration."""

    api_version: Literal["loadaware.io/v1alpha1"] = API_VERSION
    """The version of this format."""
    kind: Literal["LoadAwareConfiguration"] = KIND
    """What this file is."""
    source: Source = MetricsServerSource()
    """Where usage is read from."""
    second_source: Source | None = None
    """Takes over while the first fails, and is compared with it now and then."""
    disagreement_margin: float = 0.2
    """If the two sources differ by more than this share of CPU usage at the median node, it is said."""
    interval: Duration = Duration(15.0)
    """How often it is read. A source that has nothing new costs a request and adds nothing."""
    window: WindowSection = WindowSection()
    """How much past is kept."""
    staleness: StalenessSection = StalenessSection()
    """When data is doubted."""
    in_flight: InFlightSection = InFlightSection()
    """How unmeasured pods are counted."""
    demand: DemandSection = DemandSection()
    """How learned demand survives."""
    high_priority: int = 9000
    """Pods of this priority and above count as high-priority ones for plugins that keep them apart."""
    profiles: tuple[ProfileSection, ...] = DEFAULT_PROFILES
    """By schedulerName. The first one serves pods of every other schedulerName too."""
    mode: Literal["active", "shadow"] = "active"
    """active: answers count. shadow: prioritize is answered with zeros, filter lets all pass, and what we would have
    said is only kept and compared: the safe way to begin."""
    decisions: DecisionsSection = DecisionsSection()
    """What is kept of answers."""
    history: HistorySection = HistorySection()
    """What is written down for replays."""
    server: ServerSection = ServerSection()
    """Where requests are answered."""
    people: PeopleSection = PeopleSection()
    """What people may see, and where."""
    telemetry: TelemetrySection = TelemetrySection()
    """What /metrics shows."""
    log: LogSection = LogSection()
    """What is logged."""

    def __post_init__(self) -> None:
        if not 1 <= self.interval <= 600:
            raise ValueError("interval must be in 1s..10m")
        if not self.profiles:
            raise ValueError("profiles must name at least one profile")
        names = [profile.scheduler_name for profile in self.profiles]
        if len(set(names)) != len(names):
            raise ValueError(f"profiles must differ in schedulerName: {', '.join(names)}")
        if self.profiles[0].shadow:
            raise ValueError("profiles: the first one serves every other pod, so it cannot be a shadow; see `mode`")
        if self.history.folder and not self.decisions.kept:
            raise ValueError("history is written from the decisions that are kept: decisions.kept must be above 0")


def load(path: str | Path) -> Config:
    """Read a file. Raises ConfigError with file, path, what was expected and the nearest right word."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "", f"cannot be read: {error}") from error
    return parse(text, str(path))


def parse(text: str, file: str = "<text>") -> Config:
    """Parse YAML (or JSON). Raises ConfigError."""
    value = parse_yaml(text, file)
    config: Config = convert({} if value is None else value, Config, file)
    return config


def parse_yaml(text: str, file: str, *, first: bool = False) -> Any:
    """Parsed YAML: the only document of the file, or its `first`. Raises ConfigError with the line."""
    import yaml

    loader = _strict_loader()
    try:
        if first:
            return next(iter(yaml.load_all(text, Loader=loader)), None)
        return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise ConfigError(file, "", f"is not YAML: {' '.join(str(error).split())}") from error


@cache
def _strict_loader() -> type[Any]:
    """YAML's safe loader, which takes the last of two equal keys in silence, made to refuse them."""
    import yaml

    safe: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class StrictLoader(safe):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            pairs = node.value if isinstance(node, yaml.MappingNode) else ()
            seen = set()
            for key in (key for key, _ in pairs if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    return StrictLoader


def convert(value: Any, kind: type[Any], file: str, prefix: str = "") -> Any:
    """A parsed value as one of our classes. Raises ConfigError."""
    try:
        return msgspec.convert(value, kind, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        message = name_keys(str(error), value, lambda other: _problem(other, kind))
        where, problem, hint = explain_problem(message, value, kind)
        raise ConfigError(file, ".".join(part for part in (prefix, where) if part), problem, hint) from error


def _problem(value: Any, kind: type[Any]) -> str:
    """What msgspec says of a value; empty if nothing is wrong."""
    try:
        msgspec.convert(value, kind, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        return str(error)
    return ""
