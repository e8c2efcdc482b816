"""Fixtures of the end-to-end tests: one real control plane for the whole run, a clean table for each test.

Programs that are missing are built before the first test, where no test's time limit runs. When a test fails,
the logs of every process are kept, and the summary says where. Each worker has a control plane of its own.

What reads usage is tested from metrics-server and from Prometheus: placements by load, bursts, a node without metrics.
The rest does not depend on where usage comes from, as every source ends in the same window, and takes the one that
is quickest: a frozen state or a load-watcher for verbs, profiles, constraints, certificates, replicas and what dies;
metrics-server for rights, the ladder and learned demand; Prometheus, with a sample each second, for load that changes.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.before_tests import build, build_for
from tests.parts.cluster import Cluster
from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import KubernetesApi

PROGRAMS = [
    "etcd", "kube-apiserver", "kube-scheduler", "kubectl", "prometheus", "promtool", "helm", "kwok", "metrics-server",
]  # fmt: skip
HERE = Path(__file__).parent
RUN_FOLDERS = pytest.StashKey[list[Path]]()
"""Of this run; of each of its workers, if it has any."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what is missing, with the progress in plain sight."""
    build_for(session, HERE, PROGRAMS)


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """The same, before workers are started."""
    build(config, PROGRAMS)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Forget a run that went well; of one that did not, keep everything but the database."""
    for folder in _run_folders(session.config):
        if session.testsfailed:
            for database in folder.glob("**/etcd"):
                shutil.rmtree(database, ignore_errors=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["run_folders"] = [str(folder) for folder in _run_folders(session.config)]


def pytest_testnodedown(node: Any) -> None:
    """A worker has ended, and told where its processes wrote."""
    told = getattr(node, "workeroutput", {}).get("run_folders", [])
    _run_folders(node.config).extend(map(Path, told))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for folder in filter(Path.exists, _run_folders(config)):
        terminalreporter.write_line(f"logs of the processes: {folder}")


def _run_folders(config: pytest.Config) -> list[Path]:
    return config.stash.setdefault(RUN_FOLDERS, [])


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    """Where processes of this run keep their files and logs; kept when a test fails."""
    folder = Path(tempfile.mkdtemp(prefix="loadaware-e2e-"))
    _run_folders(pytestconfig).append(folder)
    return folder


@pytest.fixture(scope="session")
def control_plane(run_folder: Path) -> Iterator[ControlPlane]:
    """A real API server for the whole run."""
    with ControlPlane(run_folder / "control-plane") as running:
        yield running


@pytest.fixture(scope="session")
def played_cluster(run_folder: Path) -> Iterator[Cluster]:
    """A second control plane, whose kubelets are played by kwok, for the whole run."""
    with Cluster(run_folder / "cluster") as running:
        yield running


@pytest.fixture(scope="module")
def cluster(played_cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with played kubelets; what a module leaves behind is gone before the next."""
    yield played_cluster
    played_cluster.clear()


@pytest.fixture
def folder(run_folder: Path, request: pytest.FixtureRequest) -> Path:
    """A folder for the processes of one test; its logs are kept when a test fails."""
    return run_folder / re.sub(r"\W+", "-", request.node.name).strip("-")


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[KubernetesApi]:
    """The administrator's client; nodes and pods that a test leaves behind are gone before the next."""
    yield control_plane.api
    control_plane.api.clear()
