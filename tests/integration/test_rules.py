"""Rules and alerts, asked of the real promtool: they are well formed, and fire when they should and only then."""

import subprocess
from pathlib import Path

import pytest

from tests.parts.builder import binary

pytestmark = pytest.mark.integration

HERE = Path(__file__).parent
RULES = sorted((HERE.parents[1] / "deploy" / "prometheus").glob("*.yaml"))


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(binary("promtool")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_rules_are_well_formed(path: Path) -> None:
    checked = promtool("check", "rules", path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_alerts_fire_when_they_should_and_only_then() -> None:
    tested = promtool("test", "rules", HERE / "rules.test.yaml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_an_alert_that_does_not_fire_as_told_would_be_noticed(tmp_path: Path) -> None:
    text = (HERE / "rules.test.yaml").read_text().replace("../../deploy/prometheus/", f"{RULES[0].parent}/")
    (tmp_path / "wrong.test.yaml").write_text(text.replace("a keeps 12% of", "a keeps 13% of"))
    assert promtool("test", "rules", tmp_path / "wrong.test.yaml").returncode != 0
