"""The picture: well-formed, complete, in order, and to scale."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.simulation.picture import PANEL, PANELS, _scale, draw
from loadaware.simulation.summary import PolicySummary

SVG = "{http://www.w3.org/2000/svg}"


def summary(*hot80: float) -> PolicySummary:
    values = np.array(hot80)
    return PolicySummary({"hot80": values, "unserved": values / 10.0}, {})


POLICIES = {
    "default": summary(5.0, 7.0, 6.0),
    "EntropicRisk*3+default": summary(1.0, 1.5, 2.0),
    "Odd{a: <b> & c}": summary(9.0, 9.0, 9.0),
    "clairvoyant": summary(0.0, 0.0, 0.0),
}


@pytest.fixture(scope="module")
def picture() -> ET.Element:
    return ET.fromstring(draw(POLICIES, "load 50 %, A & B"))


def texts(picture: ET.Element) -> list[str]:
    return [element.text or "" for element in picture.iter(f"{SVG}text")]


def test_it_names_every_policy_the_best_first(picture: ET.Element) -> None:
    names = [text for text in texts(picture) if text in POLICIES]
    assert names == ["clairvoyant", "EntropicRisk*3+default", "default", "Odd{a: <b> & c}"]
    assert "load 50 %, A & B" in texts(picture)


def test_every_run_is_a_dot_and_every_mean_too(picture: ET.Element) -> None:
    dots = [element.get("class", "") for element in picture.iter(f"{SVG}circle")]
    assert sum("run" in dot for dot in dots) == len(PANELS) * 3 * len(POLICIES)
    assert sum("run" not in dot for dot in dots) == len(PANELS) * len(POLICIES)


def test_nothing_is_drawn_outside(picture: ET.Element) -> None:
    _, _, width, height = map(float, picture.get("viewBox", "").split())
    for element in picture.iter():
        for name in ("x", "cx", "x1", "x2"):
            assert 0.0 <= float(element.get(name, 0)) <= width
        for name in ("y", "cy", "y1", "y2"):
            assert 0.0 <= float(element.get(name, 0)) <= height


def test_it_needs_nothing_from_elsewhere() -> None:
    drawn = draw(POLICIES, "title").replace("http://www.w3.org/2000/svg", "")
    assert "http" not in drawn
    assert "url(" not in drawn


@given(st.floats(0.0, 1e4))
def test_a_scale_holds_every_value_in_few_round_steps(most: float) -> None:
    scale = _scale(10.0, np.array([0.0, most]))
    assert scale.x(0.0) == 10.0
    assert scale.x(most) <= 10.0 + PANEL + 1e-6
    assert 1 <= scale.ticks <= 6
    assert f"{scale.step:e}"[0] in "125"
