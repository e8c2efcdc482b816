"""The files of a search: a configuration that check-config accepts, and reports that need nothing else."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from loadaware.config import load, parse
from loadaware.errors import ConfigError
from loadaware.profiles import adviser_settings
from loadaware.tuning import TuneResult, tune
from loadaware.tuning.output import best_text, check_output, report_folder, runs_file, write_all
from loadaware.tuning.report import html, markdown, pictures
from tests.loadaware.tuning.known_best import TEST_CASES, Valley, valley_space


def search(trials: int = 24, **more: Any) -> TuneResult:
    return tune(more.pop("source", Valley()), trials=trials, space=valley_space(), seed=2, **more)


@pytest.fixture(scope="module")
def result() -> TuneResult:
    return search(objectives=["hot80", "unserved"])


def test_the_best_configuration_is_one_that_check_config_accepts(result: TuneResult, tmp_path: Path) -> None:
    file = tmp_path / "best.yaml"
    written = write_all(result, str(file))
    assert load(file) == result.config
    adviser_settings(load(file))
    assert all(path.is_file() for path in written)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best-report", "best.yaml"]


def test_its_comments_say_where_it_came_from_and_what_it_gains(result: TuneResult) -> None:
    text = best_text(result)
    assert text.startswith("# Made by `loadaware tune`: best of 24 trials with seed 2.\n")
    for name, word in (("hot80", "more"), ("unserved", "less")):
        said = rf"# On cases it had not seen: {name} [\d.]+ -> [\d.]+ %, \d+ % {word}, interval \d+\.\.\d+\."
        assert re.search(said, text)


def test_what_one_began_with_keeps_its_settings_and_its_comments() -> None:
    begun = """# ours, do not touch
interval: 20s   # often
profiles:
- schedulerName: default-scheduler   # everybody
  scorers:
  - name: EntropicRisk
"""
    found = search(config=parse(begun))
    text = best_text(found, begun)
    assert parse(text) == found.config
    assert parse(text).interval == 20.0
    for comment in ("# ours, do not touch", "# often", "# everybody"):
        assert comment in text


def test_a_token_in_the_configuration_is_neither_in_the_report_nor_readable_by_more_people(tmp_path: Path) -> None:
    begun = tmp_path / "live.yaml"
    begun.write_text("source: {type: Prometheus, url: 'http://p:9090', headers: {X-Token: secret-word}}\n")
    begun.chmod(0o600)
    found = search(config=load(begun))
    write_all(found, str(tmp_path / "best.yaml"), str(begun))
    assert "secret-word" in (tmp_path / "best.yaml").read_text()
    assert (tmp_path / "best.yaml").stat().st_mode & 0o777 == 0o600
    for file in (tmp_path / "best-report").iterdir():
        assert "secret-word" not in file.read_text()


@pytest.mark.parametrize("more", [{}, {"objectives": ["hot80", "unserved"]}])
def test_every_picture_is_whole_and_legible_on_light_and_dark(more: dict[str, Any]) -> None:
    drawn = pictures(search(**more))
    assert set(drawn) - {"front"} == {"before_after", "history", "importance", "coordinates"}
    assert ("front" in drawn) is bool(more)
    for picture in drawn.values():
        root = ET.fromstring(picture)
        assert root.get("aria-label")
        assert "prefers-color-scheme: dark" in picture
        assert "nan" not in picture
        assert "inf" not in picture.replace("info", "")
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for dot in root.iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 <= float(dot.attrib["cx"]) <= width
            assert 0 <= float(dot.attrib["cy"]) <= height


def test_the_page_needs_no_other_resource_and_the_markdown_only_its_pictures(result: TuneResult) -> None:
    drawn = pictures(result)
    page, text = html(result, "a: <b>", drawn), markdown(result, "a: 1", drawn)
    assert not re.findall(r"(?:src|href)\s*=|url\(|@import", page)
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "a: &lt;b&gt;" in page
    assert page.count("<svg") == len(drawn)
    assert set(re.findall(r"\]\((.*?)\)", text)) == {f"{name}.svg" for name in drawn}
    assert "A valley is no cluster." in page
    assert "A valley is no cluster." in text


def test_a_gain_that_holds_is_said_with_its_interval_and_one_that_does_not_is_warned_of() -> None:
    good, bad = search(), search(source=Valley(upset=tuple(TEST_CASES)[::2]))
    assert "**The tuned configuration beats what it began with" in markdown(good, "", {})
    said = markdown(bad, "", {})
    assert "is not shown to beat what it began with" in said
    assert "> **Beware.** On cases it has not seen, hot80 is not shown to be better: within noise" in said
    assert "Beware: On cases" in best_text(bad)
    assert 'class="warning"' in html(bad, "", {})


def test_nothing_better_and_a_single_trial_can_be_reported_too() -> None:
    best = parse(
        "profiles: [{maxScore: 40, scorers: [{name: EntropicRisk, weight: 3, args: {k: {cpu: 8, memory: 20}}}, "
        "{name: LowestUsage}]}]"
    )
    found = search(1, config=best)
    drawn = pictures(found)
    assert "Nothing better was found" in markdown(found, "", drawn)
    assert "before_after" not in drawn
    assert parse(best_text(found)) == best


@pytest.mark.parametrize(
    ("file", "said"),
    [("best.json", "is written as YAML"), ("none/best.yaml", "there is no folder"), ("folder.yaml", "is a folder")],
)
def test_an_output_that_cannot_be_written_is_refused(tmp_path: Path, file: str, said: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(ConfigError, match=said):
        check_output(str(tmp_path / file))


def test_everything_is_named_after_the_output() -> None:
    assert runs_file("a/best.yaml") == Path("a/best.runs.jsonl")
    assert report_folder("a/best.yaml") == Path("a/best-report")
