import pytest

from loadaware.config import parse
from loadaware.errors import ConfigError
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.hindsight_settings import HindsightSettings
from loadaware.profiles import adviser_settings, hindsight_settings, observer_settings, resources_of
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.target_load_packing import TargetLoadPacking

TWO = """
staleness: {fresh: 1m, expired: 4m}
inFlight: {rule: Trimaran, bookingTimeout: 3s}
profiles:
- schedulerName: packing
  maxScore: 100
  leastPassing: 2
  scorers:
  - {name: TargetLoadPacking, weight: 3, args: {targetUtilization: 55}}
  - {name: LoadVariationRiskBalancing}
  filters:
  - {name: UsageThreshold, args: {thresholds: {cpu: 70}}}
- schedulerName: spreading
  scorers: [{name: LoadVariationRiskBalancing}]
"""


def test_profiles_are_made_with_their_scorers_filters_and_weights() -> None:
    settings = adviser_settings(parse(TWO))
    packing, spreading = settings.profiles["packing"], settings.profiles["spreading"]
    assert [(w.name, w.scorer, w.weight) for w in packing.scorers] == [
        ("TargetLoadPacking", TargetLoadPacking(target_utilization=55.0), 3.0),
        ("LoadVariationRiskBalancing", LoadVariationRiskBalancing(), 1.0),
    ]
    assert [(f.name, f.filter) for f in packing.filters] == [
        ("UsageThreshold", UsageThreshold(thresholds={"cpu": 70.0}))
    ]
    assert (packing.max_score, packing.least_passing) == (100, 2)
    assert (spreading.max_score, spreading.filters) == (30, ())


def test_the_first_profile_is_the_default() -> None:
    assert adviser_settings(parse(TWO)).default_profile == "packing"
    assert adviser_settings(parse("")).default_profile == "default-scheduler"


def test_doubt_and_bookings_are_as_configured() -> None:
    settings = adviser_settings(parse(TWO))
    assert (settings.staleness.fresh_seconds, settings.staleness.expired_seconds) == (60.0, 240.0)
    assert (settings.in_flight_rule, settings.booking_seconds) == ("Trimaran", 3.0)


def test_a_wrong_plugin_is_refused_with_its_place() -> None:
    wrong = parse("profiles: [{scorers: [{name: TargetLoadPacking}, {name: TargetLoadPacking, args: {x: 1}}]}]")
    with pytest.raises(ConfigError) as caught:
        adviser_settings(wrong, "c.yaml")
    assert str(caught.value).startswith("c.yaml: profiles[0].scorers[1].args.x: there is no such setting")


def test_the_window_is_as_configured_and_no_length_is_kept_twice() -> None:
    text = "interval: 30s\nwindow: {length: 10m, others: [1h, 10m, 5m, 1h], percentiles: [50]}"
    settings = observer_settings(parse(text))
    assert settings.window_seconds == 600.0
    assert settings.other_windows_seconds == (300.0, 3600.0)
    assert settings.longer_windows_seconds == (3600.0,)
    assert settings.percentiles == (50.0,)
    assert settings.interval_seconds == 30.0
    assert settings.samples == 21


@pytest.mark.parametrize(
    ("source", "resources"),
    [
        ("{type: MetricsServer}", ("cpu", "memory")),
        ("{type: Prometheus, url: x}", ("cpu", "memory")),
        (
            "{type: Prometheus, url: x, nodeQueries: {gpu: q, cpu: q}, podQueries: {disk: q, gpu: q}}",
            ("cpu", "memory", "disk", "gpu"),
        ),
    ],
)
def test_a_resource_is_kept_for_each_query_beside_cpu_and_memory(source: str, resources: tuple[str, ...]) -> None:
    assert resources_of(parse(f"source: {source}")) == resources


def test_a_profile_in_shadow_is_kept_apart() -> None:
    settings = adviser_settings(parse("profiles: [{}, {schedulerName: aside, shadow: true}]"))
    assert (list(settings.profiles), list(settings.shadows)) == (["default-scheduler"], ["aside"])
    assert settings.default_profile == "default-scheduler"


def test_what_becomes_of_answers_is_taken_from_the_configuration() -> None:
    text = "mode: shadow\ndecisions: {kept: 5, memory: 2Mi, file: /f, fileSize: 1Mi, files: 2, events: true}\n"
    assert hindsight_settings(parse(text)) == HindsightSettings("shadow", 5, 2.0**21, "/f", 2.0**20, 2, events=True)
    assert hindsight_settings(parse("")) == HindsightSettings()
