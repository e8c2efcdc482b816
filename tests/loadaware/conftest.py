from pathlib import Path

import pytest

from tests.loadaware.command_line import FILTERING, POD, STATE


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
