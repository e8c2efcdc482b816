from dataclasses import replace

import numpy as np
import pytest

from loadaware.simulation.catalogue import FAMILIES, TEAMS, Catalogue, Workload
from loadaware.simulation.settings import WorkloadSettings


def drawn(count: int, seed: int = 1, settings: WorkloadSettings | None = None) -> list[Workload]:
    catalogue = Catalogue(settings or WorkloadSettings(), np.random.default_rng(seed))
    return [catalogue.draw() for _ in range(count)]


@pytest.fixture(scope="module")
def company() -> list[Workload]:
    return drawn(1500)


def test_the_same_seed_gives_the_same_company() -> None:
    assert drawn(20) == drawn(20)
    assert drawn(20) != drawn(20, seed=2)


def test_names_are_unique_and_come_from_the_tables(company: list[Workload]) -> None:
    assert len({(workload.namespace, workload.name) for workload in company}) == len(company)
    assert {workload.namespace for workload in company} == {team.name for team in TEAMS}
    for workload in company:
        family = FAMILIES[workload.family]
        assert workload.image.split("/")[1] == family.name
        assert workload.controller == family.controller


def test_without_jobs_those_who_would_be_are_deployments_and_nothing_else_changes(company: list[Workload]) -> None:
    assert "CronJob" in {workload.controller for workload in company}
    without = drawn(len(company), settings=WorkloadSettings(jobs=False))
    for workload, other in zip(company, without, strict=True):
        is_job = workload.controller == "CronJob"
        assert other == replace(workload, controller="Deployment" if is_job else workload.controller)


def test_requests_are_lognormal_around_the_median_and_bounded(company: list[Workload]) -> None:
    cores = np.array([workload.request_millicores for workload in company]) / 1000.0
    assert cores.min() >= 0.1
    assert cores.max() <= 4.0
    assert np.median(cores) == pytest.approx(0.4, abs=0.04)
    assert cores.mean() == pytest.approx(0.6, abs=0.06)


def test_names_and_requests_explain_some_seven_tenths_of_the_use(company: list[Workload]) -> None:
    use = np.log([workload.factor for workload in company])
    columns = [np.log([workload.request_millicores for workload in company])]
    for names in ([w.namespace for w in company], [w.image.split(":")[0] for w in company]):
        columns += [np.array([name == this for name in names], dtype=np.float64) for this in sorted(set(names))]
    table = np.column_stack(columns)
    rest = use - table @ np.linalg.lstsq(table, use, rcond=None)[0]
    assert 0.6 < 1.0 - rest.var() / use.var() < 0.8
    assert rest.std() == pytest.approx(0.5, abs=0.05)


def test_staging_uses_a_smaller_share_of_its_requests_than_production(company: list[Workload]) -> None:
    def typical(namespace: str) -> float:
        return float(np.median([w.factor for w in company if w.namespace == namespace]))

    assert typical("shop-staging") < 0.7 * typical("shop")


def test_cpu_limits_are_declared_by_the_share_asked_for_and_lie_above_the_request() -> None:
    assert all(workload.limit_millicores is None for workload in drawn(50))
    limited = [w for w in drawn(400, settings=WorkloadSettings(cpu_limit_share=0.5)) if w.limit_millicores]
    assert len(limited) == pytest.approx(200, abs=40)
    assert all(w.limit_millicores and w.limit_millicores >= 1.4 * w.request_millicores for w in limited)
