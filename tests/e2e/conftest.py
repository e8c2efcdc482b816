"""Fixtures of the end-to-end tests: one real control plane for the whole run, a clean table for each test.

Programs that are missing are built before the first test, where no test's time limit runs. When a test fails,
the logs of every process are kept, and the summary says where.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.before_tests import build_for
from tests.parts.cluster import Cluster
from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import KubernetesApi

PROGRAMS = [
    "etcd", "kube-apiserver", "kube-scheduler", "kubectl", "prometheus", "promtool", "helm", "kwok", "metrics-server",
]  # fmt: skip
HERE = Path(__file__).parent
RUN_FOLDER = pytest.StashKey[Path]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what is missing, with the progress in plain sight."""
    build_for(session, HERE, PROGRAMS)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Forget a run that went well; of one that did not, keep everything but the database."""
    folder = session.config.stash.get(RUN_FOLDER, None)
    if folder is None:
        return
    if session.testsfailed:
        for database in folder.glob("**/etcd"):
            shutil.rmtree(database, ignore_errors=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    folder = config.stash.get(RUN_FOLDER, None)
    if folder is not None and folder.exists():
        terminalreporter.write_line(f"logs of the processes: {folder}")


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    """Where processes of this run keep their files and logs; kept when a test fails."""
    folder = Path(tempfile.mkdtemp(prefix="loadaware-e2e-"))
    pytestconfig.stash[RUN_FOLDER] = folder
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
