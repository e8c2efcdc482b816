"""A real simulation whose every configuration was run: what tuning finds is compared with the best there is.

There are 21 configurations, so 60 trials may meet them all: this shows that search, simulation and book-keeping agree.
That it finds its way in a large space is shown where the best is known by construction (test_search.py). Figures
of so small a cluster leap from one configuration to the next (on a grid of 399, one alone was within 2 % of the best).
"""

import itertools

import pytest

from loadaware.config import Config, ScorerReference
from loadaware.tuning import crew, simulated, tune
from loadaware.tuning.objective import values_of
from loadaware.tuning.search import with_profile
from loadaware.tuning.space import parse_space

SPACE = """
scorers:
- name: EntropicRisk
  optional: true
  weight: {oneOf: [1, 4]}
- name: TargetLoadPacking
  optional: true
  weight: 1
  args: {targetUtilization: {oneOf: [30, 60]}}
maxScore: {oneOf: [3, 30, 100]}
"""


def every_configuration() -> list[Config]:
    """All that the space can draw."""
    base = Config().profiles[0]
    risk = [ScorerReference(name="EntropicRisk", weight=weight) for weight in (1, 4)]
    packing = [ScorerReference(name="TargetLoadPacking", args={"targetUtilization": target}) for target in (30, 60)]
    sets = [(risk[0],), *((p,) for p in packing), *itertools.product(risk, packing)]
    profiles = [
        type(base)(scheduler_name=base.scheduler_name, scorers=scorers, max_score=score)
        for scorers in sets
        for score in (3, 30, 100)
    ]
    return [with_profile(Config(), profile) for profile in profiles]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_tuning_finds_the_best_of_a_cluster_of_which_everything_is_known() -> None:
    source = simulated(nodes=6, hours=1.0, warm_up_hours=0.5, load=0.6, seeds=2, test_seeds=5)
    values = [
        values_of([source.judge(config, "default-scheduler", case) for case in source.train], ["std"])[0]
        for config in every_configuration()
    ]
    assert max(values) > 1.1 * min(values)
    result = tune(source, trials=60, space=parse_space(SPACE), objectives=["std"], crew=crew(2))
    assert min(values) <= result.best.values[0] <= 1.02 * min(values)
