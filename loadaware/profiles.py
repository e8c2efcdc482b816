"""From the configuration to the settings of the core: profiles with their filters and scorers made."""

from collectors.manifests import shape_of
from loadaware.adviser import AdviserSettings
from loadaware.config import Config, PluginReference, ProfileSection, PrometheusSource, ScorerReference
from loadaware.filters.filter import Filter
from loadaware.hindsight_settings import HindsightSettings
from loadaware.ladder import Staleness
from loadaware.node_series import Shown
from loadaware.observer import ObserverSettings
from loadaware.plugins import make_filter, make_scorer
from loadaware.profile import NamedFilter, Profile, WeightedScorer
from loadaware.scorers.scorer import Scorer


def adviser_settings(config: Config, file: str = "<config>") -> AdviserSettings:
    """Everything the adviser needs. Raises ConfigError for an unknown plugin or wrong args."""
    profiles = [make_profile(section, file, f"profiles[{n}]") for n, section in enumerate(config.profiles)]
    shadows = {section.scheduler_name for section in config.profiles if section.shadow}
    return AdviserSettings(
        profiles={profile.name: profile for profile in profiles if profile.name not in shadows},
        shadows={profile.name: profile for profile in profiles if profile.name in shadows},
        default_profile=profiles[0].name,
        staleness=Staleness(config.staleness.fresh, config.staleness.expired),
        in_flight_rule=config.in_flight.rule,
        booking_seconds=config.in_flight.booking_timeout,
        beside_default=config.in_flight.beside_default_plugins,
    )


def hindsight_settings(config: Config) -> HindsightSettings:
    """What becomes of answers."""
    section = config.decisions
    return HindsightSettings(
        mode=config.mode,
        kept=section.kept,
        memory_bytes=section.memory,
        file=section.file,
        file_size_bytes=section.file_size,
        files=section.files,
        events=section.events,
    )


def make_profile(section: ProfileSection, file: str, path: str) -> Profile:
    """One profile. Raises ConfigError."""
    scorers = tuple(
        WeightedScorer(s.name, _scorer(s, file, f"{path}.scorers[{n}]"), s.weight)
        for n, s in enumerate(section.scorers)
    )
    filters = tuple(
        NamedFilter(f.name, _filter(f, file, f"{path}.filters[{n}]")) for n, f in enumerate(section.filters)
    )
    return Profile(section.scheduler_name, scorers, filters, section.max_score, section.least_passing, section.combine)


def _scorer(reference: ScorerReference, file: str, path: str) -> Scorer:
    scorer = make_scorer(reference.name, reference.args, file, path)
    if not reference.isolated:
        return scorer
    from loadaware.isolation import isolate_scorer

    return isolate_scorer(scorer, reference.deadline)


def _filter(reference: PluginReference, file: str, path: str) -> Filter:
    rule = make_filter(reference.name, reference.args, file, path)
    if not reference.isolated:
        return rule
    from loadaware.isolation import isolate_filter

    return isolate_filter(rule, reference.deadline)


def observer_settings(config: Config) -> ObserverSettings:
    """Everything the observer needs."""
    return ObserverSettings(
        resources=resources_of(config),
        window_seconds=config.window.length,
        other_windows_seconds=tuple(sorted(set(config.window.others) - {config.window.length})),
        high_priority_from=config.high_priority,
        percentiles=config.window.percentiles,
        interval_seconds=config.interval,
    )


def shown(config: Config) -> Shown:
    """What /metrics shows of nodes."""
    pod = config.telemetry.reference_pod
    return Shown(config.telemetry.nodes, shape_of((((("cpu", pod.cpu), ("memory", pod.memory)), ()),)))


def resources_of(config: Config) -> tuple[str, ...]:
    """cpu and memory, and whatever else is named with a query."""
    sources = [s for s in (config.source, config.second_source) if isinstance(s, PrometheusSource)]
    named = {resource for source in sources for resource in (*source.node_queries, *source.pod_queries)}
    return ("cpu", "memory", *sorted(named - {"cpu", "memory"}))
