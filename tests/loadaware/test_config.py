import dataclasses
import pickle
from pathlib import Path

import msgspec
import pytest

from loadaware import config
from loadaware.config import Config, MetricsServerSource, PrometheusSource, load, parse, parse_yaml
from loadaware.config_problems import explain_problem, nearest
from loadaware.errors import ConfigError
from loadaware.profiles import adviser_settings, observer_settings
from loadaware.quantities import Duration

FILES = Path(__file__).parent.parent / "configs"
GOOD = sorted(FILES.glob("*.good.yaml"))
BAD = sorted(FILES.glob("*.bad.yaml"))


def check(file: Path) -> Config:
    """All that `check-config` looks at."""
    read = load(file)
    adviser_settings(read, str(file))
    observer_settings(read)
    return read


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.name)
def test_a_good_file_is_taken(file: Path) -> None:
    check(file)


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.name)
def test_a_bad_file_is_refused_with_its_path_what_was_expected_and_the_nearest_right_word(file: Path) -> None:
    mark, _, expected = file.read_text(encoding="utf-8").splitlines()[0].partition("# expect: ")
    assert (mark, bool(expected)) == ("", True)
    with pytest.raises(ConfigError) as caught:
        check(file)
    assert str(caught.value) == f"{file}: {expected}"


def test_the_files_are_there() -> None:
    assert len(GOOD) >= 8
    assert len(BAD) >= 50


def test_nothing_but_metrics_server_is_needed() -> None:
    defaults = load(FILES / "empty.good.yaml")
    assert defaults == Config() == parse("")
    assert defaults.source == MetricsServerSource()
    assert defaults.profiles[0].max_score == 30


def test_every_setting_of_a_file_takes_hold() -> None:
    read = load(FILES / "everything.good.yaml")
    assert read.interval == 30.0
    assert read.source == MetricsServerSource(pods=False, timeout=Duration(90.0))
    assert read.window.others == (300.0, 3600.0, 86400.0)
    assert read.staleness.expired == 300.0
    assert read.in_flight.booking_timeout == 0.25
    assert [profile.scheduler_name for profile in read.profiles] == ["default-scheduler", "batch"]
    assert read.server.body_limit == 64.0 * 2**20
    assert read.server.tls is not None
    assert read.server.tls.client_ca_file == "ca.crt"
    assert read.log.format == "json"


def test_a_source_is_chosen_by_its_type() -> None:
    source = load(FILES / "prometheus.good.yaml").source
    assert isinstance(source, PrometheusSource)
    assert source.headers == {"X-Scope-OrgID": "team"}


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Config().interval = Duration(1.0)  # type: ignore[misc]


def test_a_configuration_can_be_sent_to_another_process() -> None:
    read = load(FILES / "everything.good.yaml")
    assert pickle.loads(pickle.dumps(read)) == read


def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.yaml: cannot be read: "):
        load(tmp_path / "nothing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"log: {level: \xe9}")
    with pytest.raises(ConfigError, match=r"latin\.yaml: cannot be read: "):
        load(tmp_path / "latin.yaml")


def test_the_first_of_several_documents_can_be_asked_for() -> None:
    assert parse_yaml("a: 1\n---\nb: 2\n", "x.yaml", first=True) == {"a": 1}
    assert parse_yaml("", "x.yaml", first=True) is None


def test_yaml_that_makes_objects_is_refused() -> None:
    with pytest.raises(ConfigError, match="is not YAML"):
        parse("interval: !!python/object/apply:os.getcwd []")


def test_a_key_that_stands_twice_is_refused_however_deep_and_merged_ones_are_not() -> None:
    with pytest.raises(ConfigError, match="'port' stands twice"):
        parse("server: {port: 1, address: x, port: 2}")
    merged = "staleness: &s {fresh: 1m, expired: 9m}\n"
    assert parse_yaml(merged + "other: {<<: *s, fresh: 2m}\n", "x")["other"] == {"fresh": "2m", "expired": "9m"}


# -- Words for problems ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("portt", ["port", "address"], "did you mean 'port'?"),
        ("PORT", ["port", "address"], "did you mean 'port'?"),
        ("zzz", ["port", "address"], "there are: port, address"),
        ("zzz", [], ""),
    ],
)
def test_the_nearest_right_word_is_told_or_all_there_are(word: str, known: list[str], hint: str) -> None:
    assert nearest(word, known) == hint


def test_a_message_that_is_not_understood_is_passed_on() -> None:
    assert explain_problem("something odd", {}, Config) == ("", "something odd", "")


class _Inner(msgspec.Struct, forbid_unknown_fields=True):
    amounts: dict[str, dict[str, int]] = {}


def test_wrong_values_of_mappings_inside_mappings_are_told_by_all_their_keys() -> None:
    value = {"amounts": {"good": {"a": 1}, "bad": {"a": 1, "b.c": "two"}}}
    with pytest.raises(ConfigError) as caught:
        config.convert(value, _Inner, "x.yaml")
    assert str(caught.value) == "x.yaml: amounts[bad][b.c]: Expected int, got str"


def test_errors_say_where_and_what() -> None:
    assert str(ConfigError("x.yaml", "", "is odd")) == "x.yaml: is odd"
    assert str(ConfigError("x.yaml", "a.b", "is odd", "try c")) == "x.yaml: a.b: is odd; try c"
    assert dataclasses.asdict(ConfigError("x", "y", "z"))["hint"] == ""
