"""Names of policies: what is understood, what it becomes, and what is said of the rest."""

from dataclasses import replace

import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.simulation.engine import EngineSettings, Run
from loadaware.simulation.policy_names import Constant, known, parse
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.stage import Setup, Stage


@pytest.fixture(scope="module")
def stage(quiet: Scenario) -> Stage:
    """A quarter of an hour is enough to be asked."""
    short = replace(quiet, settings=replace(quiet.settings, duration_seconds=900.0))
    setup = Setup(short.settings, EngineSettings(warm_up_seconds=0.0))
    return Stage(setup, short, seed=1)


@pytest.mark.parametrize(
    "name",
    [
        "random",
        "default",
        "constant",
        "constant*3+default",
        "EntropicRisk",
        "EntropicRisk*3+default",
        "EntropicRisk*0.5+default",
        "EntropicRisk+default",
        "EntropicRisk{range: 2}*3+default",
        "Peaks*3+default",
        "Trimaran/TargetLoadPacking",
        "Trimaran/TargetLoadPacking{targetUtilization: 60}*3+default",
        "Trimaran/Peaks*3+default",
        "Koordinator/LoadAwareScheduling*3+default",
        "Crane/Dynamic",
        "oracle",
        "oracle*3+default",
        "clairvoyant",
        "offline",
    ],
)
def test_a_policy_of_that_name_runs(name: str, stage: Stage) -> None:
    policy = parse(name)
    assert policy.name == name
    report = Run(stage.scenario, lambda clock: policy.make(stage, clock), stage.setup.engine).report()
    assert 0.0 < report.utilization < 100.0


def test_spaces_do_not_matter() -> None:
    assert parse(" EntropicRisk * 3 + default ").name == "EntropicRisk*3+default"


def test_a_heavier_scorer_counts_for_more_beside_the_default(stage: Stage) -> None:
    """A scorer that prefers nothing lets the default decide; EntropicRisk at 100 decides alone."""
    reports = {
        name: Run(stage.scenario, lambda clock, name=name: parse(name).make(stage, clock), stage.setup.engine).report()  # type: ignore[misc]
        for name in ("default", "constant*3+default", "EntropicRisk*100+default")
    }
    assert reports["constant*3+default"] == reports["default"]
    assert reports["EntropicRisk*100+default"] != reports["default"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "EntropicRsk",
            "there is no policy called 'EntropicRsk'; did you mean 'EntropicRisk'? there are: random, default",
        ),
        ("entropicrisk*3+default", "did you mean 'EntropicRisk'?"),
        ("nonsense", "there is no policy called 'nonsense'; there are: random, default"),
        ("", "is not a policy; expected such as default"),
        ("*3+default", "is not a policy"),
        ("EntropicRisk*3+TargetLoadPacking", "is not a policy"),
        ("EntropicRisk*3", "beside the default only; write EntropicRisk*3+default, or EntropicRisk alone"),
        ("EntropicRisk*three+default", "the weight must be a number in 0.1..100, not three"),
        ("EntropicRisk*0+default", "the weight must be a number in 0.1..100, not 0"),
        ("EntropicRisk*nan+default", "the weight must be a number in 0.1..100, not nan"),
        ("default*3+default", "default is a policy of its own"),
        ("clairvoyant+default", "clairvoyant is a policy of its own"),
        ("random{a: 1}", "random is a policy of its own"),
        ("constant{a: 1}", "constant takes no args"),
        ("EntropicRisk{rnge: 2}", "args.rnge: there is no such setting; did you mean 'range'?"),
        ("EntropicRisk{range: -1}", "args.range: Expected float > 0.0"),
        ("EntropicRisk{range: [}", "is not YAML"),
        ("EntropicRisk{range:2}", "there is no such setting; YAML wants a space after a colon"),
        ("EntropicRisk{rnge: a:b}", "args.rnge: there is no such setting; did you mean 'range'?"),
        ("EntropicRisk{k:{cpu:8}}", "YAML wants a space after a colon"),
        ("LabelNumber*3+default", "args: label is required and missing"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_reason(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(name)
    assert message in str(raised.value)
    assert str(raised.value).startswith("--policy")


def test_every_scorer_and_every_reference_is_known() -> None:
    assert {"random", "default", "constant", "oracle", "clairvoyant", "offline", "EntropicRisk", "Peaks"} <= set(
        known()
    )
    assert len(known()) == len(set(known()))


def test_the_constant_scorer_has_no_opinion(quiet: Scenario) -> None:
    nodes: list[str] = list(quiet.machines.names)
    scores = Constant().score(nodes, quiet.pod(0))  # type: ignore[arg-type]
    assert np.unique(scores).tolist() == [50.0]
