"""docs/tuning.md says what the code does."""

import re
from pathlib import Path

import msgspec

from loadaware.tuning import tune
from loadaware.tuning.pruning import Pruning
from loadaware.tuning.recorded_history import Recorded
from loadaware.tuning.simulated_days import Simulated
from loadaware.tuning.source import MEANINGS
from loadaware.tuning.space import Choice, Range, ScorerText, SpaceText, default_space, parameters, parse_space

PAGE = (Path(__file__).parents[3] / "docs" / "tuning.md").read_text(encoding="utf-8")
FIGURES = {
    name: (words[-2].startswith("yes"), words[-1].startswith("yes"))
    for row in re.findall(r"^\| (`\w+`.*) \|$", PAGE, re.MULTILINE)
    if (words := row.split(" | "))[-1] in {"yes", "no"}
    for name in re.findall(r"`(\w+)`", words[0])
}


def test_every_figure_is_explained_with_the_sources_that_tell_it() -> None:
    history = Recorded("", {}, (), (), "").figures
    days = Simulated.figures.fget(None)  # type: ignore[attr-defined]
    assert set(FIGURES) == set(MEANINGS)
    assert {name for name, (told, _) in FIGURES.items() if told} == set(history)
    assert {name for name, (_, told) in FIGURES.items() if told} == set(days)


def test_the_space_that_is_shown_can_be_searched_and_every_word_of_it_is_explained() -> None:
    (shown,) = re.findall(r"(?s)```yaml\n(.*?)```", PAGE)
    assert parameters(parse_space(shown))
    for part in (Range, Choice, ScorerText, SpaceText):
        for field in msgspec.structs.fields(part):
            assert f"`{field.encode_name}`" in PAGE or f"{field.encode_name}:" in shown


def test_the_shipped_space_searches_every_scorer_weight_and_the_score() -> None:
    names = parameters(default_space())
    assert "maxScore" in names
    assert sum(name.endswith(".used") for name in names) == len(default_space().scorers) == 5


def test_every_word_of_the_function_that_the_page_uses_exists() -> None:
    (code,) = re.findall(r"(?s)```python\n(.*?)```", PAGE)
    used = set(re.findall(r"(\w+)=", re.findall(r"tune\((.*)\)", code)[0])) - {"jobs"}
    assert used <= set(tune.__annotations__)
    assert Pruning().on
