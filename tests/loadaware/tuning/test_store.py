import os
from pathlib import Path

import pytest

from loadaware.config import Config, ScorerReference, parse
from loadaware.errors import ConfigError
from loadaware.tuning.source import Judged
from loadaware.tuning.store import Store, profile_key

ABOUT = {"source": "a", "space": "b", "seed": "1"}
JUDGED = Judged(figures={"hot80": 1.5, "std": None}, blocks={"hot80": {0: 1.0, 3: 2.0}}, seconds=2.0)


def refused(file: Path, about: dict[str, str] = ABOUT) -> str:
    with pytest.raises(ConfigError) as caught:
        Store(file, about)
    return str(caught.value)


def test_what_was_kept_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    file = tmp_path / "best.runs.jsonl"
    Store(file, ABOUT).add("key", "monday", JUDGED)
    again = Store(file, ABOUT)
    assert again.get("key", "monday") == JUDGED
    assert again.get("key", "tuesday") is None
    assert len(again) == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [("source", "other data"), ("space", "another search space"), ("seed", "another seed")],
)
def test_the_file_of_another_search_is_refused_and_left_alone(tmp_path: Path, changed: str, said: str) -> None:
    file = tmp_path / "best.runs.jsonl"
    Store(file, ABOUT).add("key", "monday", JUDGED)
    before = file.read_bytes()
    message = refused(file, ABOUT | {changed: "other"})
    assert "holds the runs of another search" in message
    assert said in message
    assert file.read_bytes() == before


def test_a_line_that_a_crash_cut_short_is_removed_and_nothing_else_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "best.runs.jsonl"
    store = Store(file, ABOUT)
    store.add("key", "monday", JUDGED)
    whole = file.read_bytes()
    store.add("key", "tuesday", JUDGED)
    for length in range(len(whole) + 1, len(file.read_bytes())):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(file.read_bytes()[:length])
        again = Store(cut, ABOUT)
        assert len(again) == 1
        assert cut.read_bytes() == whole


@pytest.mark.parametrize("content", [b"my diary\n", b"my diary", b'{"is":"judged","key":"a","case":"b"}\n', b"{}\n"])
def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "diary"
    file.write_bytes(content)
    assert "loadaware tune" in refused(file)
    assert file.read_bytes() == content


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "best.runs.jsonl"
    Store(file, ABOUT)
    file.chmod(0o400)
    assert "cannot be written" in refused(file)


def test_profiles_have_the_same_key_if_they_are_the_same() -> None:
    first, second = (parse("profiles: [{scorers: [{name: Peaks, deadline: 70ms}]}]").profiles[0] for _ in range(2))
    assert profile_key(first) == profile_key(second)
    assert profile_key(first) != profile_key(Config().profiles[0])
    assert profile_key(Config().profiles[0]) != profile_key(
        type(first)(scorers=(ScorerReference(name="EntropicRisk", weight=2.0),))
    )
