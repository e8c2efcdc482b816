from pathlib import Path

import pytest

from loadaware import asked_aside, decision_file, demand_questions, isolation, observer_process, questions
from loadaware.extender import large_bodies
from tests.loadaware.command_line import FILTERING, POD, STATE
from tests.parts.processes import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom the product gives up on after a moment has time here, however slow the machine; tests of that moment set
    their own.
    """
    monkeypatch.setattr(asked_aside, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(decision_file, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(demand_questions, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(isolation, "START_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(large_bodies, "READING_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(observer_process, "ENDING_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(observer_process, "LAST_WORDS_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(questions, "WAIT_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a state, a pod and two configurations, and no cluster anywhere near."""
    for name, text in {
        "state.yaml": STATE,
        "pod.yaml": POD,
        "good.yaml": FILTERING,
        "bad.yaml": "intervall: 5s",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "service.yaml").write_text("kind: Service")
    monkeypatch.chdir(tmp_path)
    for variable in ("LOADAWARE_CONFIG", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path
