"""Pages made from the code say what the code says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from loadaware.config import parse
from loadaware.profiles import adviser_settings

DOCS = Path(__file__).parents[2] / "docs"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_pages", DOCS / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", list(maker().PAGES))
def test_the_page_in_the_tree_is_the_page_that_the_code_makes(name: str) -> None:
    assert (DOCS / name).read_text() == maker().PAGES[name](), "run: .venv/bin/python docs/make.py"


def test_every_setting_is_explained() -> None:
    assert "|  |" not in (DOCS / "configuration.md").read_text()


def test_the_example_of_the_configuration_page_is_accepted() -> None:
    example = (DOCS / "configuration.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    assert yaml.safe_load(example)["kind"] == "LoadAwareConfiguration"
    assert list(adviser_settings(parse(example)).profiles) == ["default-scheduler"]
