"""Pictures from what the notebook functions give. They need matplotlib, so they are drawn with the notebooks' tests."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loadaware import notebook, plots

pytestmark = pytest.mark.notebooks
SHADOWED = """
profiles:
- scorers: [{name: TargetLoadPacking}]
- schedulerName: tuned
  shadow: true
  scorers: [{name: EntropicRisk}]
"""
POD = {"metadata": {"name": "web"}, "spec": {"containers": []}}
SPACE = "scorers:\n- name: EntropicRisk\n  weight: {from: 0.5, to: 2}\n- {name: LowestUsage, optional: true}\n"


@pytest.fixture(scope="module")
def history() -> notebook.History:
    return notebook.generated_history(nodes=5, hours=2.0)


@pytest.fixture(scope="module")
def drawn(history: notebook.History) -> dict[str, plots.Picture]:
    weights = {"EntropicRisk": 1.0, "LowestUsage": 0.5, "EstimatedLoad": 0.0}
    scored = notebook.score(history.state(), POD, notebook.weighted(weights))
    replays = notebook.replay(history, {"a": history.config, "b": notebook.weighted(weights)})
    result = notebook.tune(history, trials=3, space=SPACE)
    demands = notebook.demand(history)
    report = notebook.shadow(notebook.generated_shadow(SHADOWED, nodes=4, hours=1.0, every_minutes=15))
    return {
        "load_map": plots.load_map(history.utilization()),
        "node_loads": plots.node_loads(history.utilization(), history.requested(), history.sizes()),
        "score_map": plots.score_map(scored[["EntropicRisk", "LowestUsage"]]),
        "score_parts": plots.score_parts(scored, weights),
        "changes": plots.changes(replays.changes),
        "over_time": plots.over_time(replays.blocks),
        "search": plots.search(result),
        "importance": plots.importance(result),
        "before_after": plots.before_after(result),
        "requests_and_usage": plots.requests_and_usage(demands.of("cpu")),
        "savings": plots.savings(demands.of("memory"), "memory"),
        "shadow_spans": plots.shadow_spans(report, "tuned", "default-scheduler"),
    }


def pixels(picture: plots.Picture) -> Any:
    from io import BytesIO

    from matplotlib.image import imread

    return imread(BytesIO(picture.png()))


def test_there_is_a_picture_for_every_function(drawn: dict[str, plots.Picture]) -> None:
    assert set(drawn) == set(plots.__all__) - {"Picture"}


def test_no_picture_has_a_background_and_each_has_something_on_it(drawn: dict[str, plots.Picture]) -> None:
    for name, picture in drawn.items():
        image = pixels(picture)
        assert (image[[0, -1], :, 3] == 0).mean() > 0.9, name
        assert (image[..., 3] > 0.5).mean() > 0.01, name
        assert picture.words


def test_text_is_legible_on_white_and_on_nearly_black(drawn: dict[str, plots.Picture]) -> None:
    from matplotlib.text import Text

    for name, picture in drawn.items():
        for text in picture.figure.findobj(Text):
            if not text.get_text().strip() or not text.get_visible():
                continue
            if name == "score_map" and text.get_color() == "white":
                continue  # on a cell that has a colour
            assert contrast(text.get_color(), "white") > 3.0, (name, text.get_text())
            assert contrast(text.get_color(), "#111111") > 3.0, (name, text.get_text())


def contrast(one: Any, other: Any) -> float:
    """As the web's accessibility guidelines define it."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Any) -> float:
    from matplotlib.colors import to_rgb

    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_a_notebook_shows_a_picture_at_half_its_pixels(drawn: dict[str, plots.Picture]) -> None:
    picture = drawn["search"]
    data, about = picture._repr_mimebundle_()
    height, width, _ = pixels(picture).shape
    assert (about["image/png"]["width"], about["image/png"]["height"]) == (width // 2, height // 2)
    assert data["text/plain"] == picture.words


def test_a_picture_can_be_saved(drawn: dict[str, plots.Picture], tmp_path: Path) -> None:
    drawn["search"].save(tmp_path / "search.svg")
    assert "<svg" in (tmp_path / "search.svg").read_text(encoding="utf-8")


def test_many_nodes_are_drawn_as_the_hottest_of_them() -> None:
    names = [f"node-{number:03d}" for number in range(100)]
    times = pd.to_datetime([0, 60], unit="s", utc=True)
    rows = [(time, name, number / 100) for time in times for number, name in enumerate(names)]
    picture = plots.load_map(pd.DataFrame(rows, columns=["time", "node", "cpu"]))
    shown = [label.get_text() for label in picture.figure.axes[0].get_yticklabels()]
    assert len(shown) == 60
    assert shown[0] == "node-099"
