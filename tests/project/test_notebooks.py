"""What notebooks are, before anybody runs them; tests/notebooks runs them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
OWN = "your-data"


def cells(file: Path, kind: str = "code") -> list[dict[str, Any]]:
    book = json.loads(file.read_text(encoding="utf-8"))
    return [cell for cell in book["cells"] if cell["cell_type"] == kind]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_they_are_numbered_from_one_to_six() -> None:
    assert [file.name[:3] for file in FILES] == [f"{number:02d}-" for number in range(1, 7)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_is_stored_without_outputs(file: Path) -> None:
    for cell in cells(file):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
    assert "widgets" not in json.loads(file.read_text(encoding="utf-8"))["metadata"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_first_code_cell_and_no_other_is_for_your_own_data(file: Path) -> None:
    own = [number for number, cell in enumerate(cells(file)) if OWN in cell["metadata"].get("tags", [])]
    assert own == [0]
    text = source(cells(file)[0])
    assert text.startswith("# YOUR DATA: ")
    assert re.search(r"^[A-Z_]+ = None  # ", text, re.MULTILINE)
    assert "import" not in text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_notebook_links_to_is_there(file: Path) -> None:
    links = [link for cell in cells(file, "markdown") for link in re.findall(r"\]\(([^)#]+)", source(cell))]
    missing = [link for link in links if not (FOLDER / link).exists()]
    assert not missing


def test_the_readme_names_every_notebook() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [file.name for file in FILES if f"({file.name})" not in text] == []
