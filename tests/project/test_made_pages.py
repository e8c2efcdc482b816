"""Pages made from the code say what the code says."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from loadaware.config import parse
from loadaware.filters import FILTERS
from loadaware.filters.filter import Filter
from loadaware.profiles import adviser_settings
from loadaware.scorers import SCORERS
from loadaware.scorers.scorer import Scorer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PLUGINS: dict[str, type[Scorer | Filter]] = {**SCORERS, **FILTERS}


def maker() -> ModuleType:
    """docs/make.py, with its folder on the path as when it is run."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module("make")
    finally:
        sys.path.remove(str(DOCS))


def section_of(plugin: str) -> str:
    """A plugin's part of its page."""
    return re.split(r"\n##+ ", (DOCS / "plugins.md").read_text().partition(f"\n### {plugin}\n")[2])[0]


@pytest.mark.parametrize("name", list(maker().PAGES))
def test_the_page_in_the_tree_is_the_page_that_the_code_makes(name: str) -> None:
    assert (DOCS / name).read_text() == maker().PAGES[name](), "run: .venv/bin/python docs/make.py"


@pytest.mark.parametrize("name", list(maker().PAGES))
def test_every_setting_is_explained(name: str) -> None:
    assert "|  |" not in (DOCS / name).read_text()


@pytest.mark.parametrize("name", list(maker().PAGES))
def test_every_link_within_a_page_has_its_heading(name: str) -> None:
    page = (DOCS / name).read_text()
    headings = {heading.lower() for heading in re.findall(r"(?m)^#+ (\w+)$", page)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= headings


@pytest.mark.parametrize("name", list(maker().PAGES))
def test_no_two_headings_of_a_page_are_the_same(name: str) -> None:
    headings = re.findall(r"(?m)^#+ (\w+)$", (DOCS / name).read_text())
    assert len(set(headings)) == len(headings)


@pytest.mark.parametrize("name", ["configuration.md", "plugins.md"])
def test_the_first_example_of_a_page_is_accepted(name: str) -> None:
    example = (DOCS / name).read_text().partition("```yaml\n")[2].partition("```")[0]
    assert yaml.safe_load(example).get("kind", "LoadAwareConfiguration") == "LoadAwareConfiguration"
    assert list(adviser_settings(parse(example)).profiles) == ["default-scheduler"]


@pytest.mark.parametrize("name", list(PLUGINS))
def test_a_plugin_says_when_to_use_it_what_it_gets_wrong_and_what_each_arg_means(name: str) -> None:
    kind, section = PLUGINS[name], section_of(name)
    assert kind.when
    assert kind.beware
    assert "**Use it when.**" in section
    assert "**Beware.**" in section
    for field in kind.__struct_encode_fields__:
        assert f"\n| `{field}` | " in section


@pytest.mark.parametrize("name", list(SCORERS))
def test_a_scorer_s_formula_stands_in_a_block(name: str) -> None:
    block = section_of(name).partition("```\n")[2].partition("\n```")[0]
    assert re.search(r"score +=", block)


@pytest.mark.parametrize(("folder", "table"), [("scorers", SCORERS), ("filters", FILTERS)])
def test_a_readme_has_one_row_for_each_plugin_and_each_row_leads_to_its_file(
    folder: str, table: dict[str, type[Scorer | Filter]]
) -> None:
    text = (ROOT / "loadaware" / folder / "README.md").read_text()
    rows = re.findall(r"(?m)^\| \[`(\w+)`\]\((\w+)\.py\) \| [^|]+ \| [^|]+ \|$", text)
    assert rows == [(name, kind.__module__.rpartition(".")[2]) for name, kind in table.items()]
    assert text.count("\n|") == len(rows) + 2
