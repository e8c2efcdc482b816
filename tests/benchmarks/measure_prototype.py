"""The prototype's figures, measured again in its setting. Run it, go away, come back, read docs/benchmarks:

    make benchmark-prototype TRACES=folder [RUNS=10] [JOBS=2]

Finished runs are kept as those of `make benchmark-quality` are: it can be stopped at any time (Ctrl-C) and goes on.
"""

import sys

from loadaware.errors import LoadAwareError
from loadaware.simulating import Options, setup_of
from tests.benchmarks.measure_quality import PAGES, days_of, measure, options_of, origin, store_of
from tests.benchmarks.pages import ROOT
from tests.benchmarks.prototype_page import Prototype, report
from tests.benchmarks.quality_plan import HEADLINE_SET

PAGE = PAGES / "prototype.md"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--traces", required=True, help=f"folder of recorded days, {HEADLINE_SET}-*.npz among them")
    arguments = parser.parse_args()
    try:
        days = days_of(arguments.traces)
        if HEADLINE_SET not in days:
            found = f"{arguments.traces!r} has no {HEADLINE_SET}-*.npz"
            parser.error(f"--traces: {found}, on which the prototype was measured")
        days = {HEADLINE_SET: days[HEADLINE_SET]}
        store = store_of(arguments.store, days)
    except LoadAwareError as error:
        sys.exit(f"measure_prototype: {error}")
    plan = Prototype(setup_of(Options()), tuple(range(arguments.runs)))
    outcomes, problem = measure(plan, days, store, arguments.jobs, only_report=arguments.report)
    PAGE.write_text(report(plan, outcomes, origin("benchmark-prototype", arguments, days)), encoding="utf-8")
    sys.stderr.write(f"measure_prototype: {len(outcomes)} runs in {PAGE.relative_to(ROOT)}\n")
    if problem:
        sys.exit(f"measure_prototype: {problem}; the same command goes on from there")


if __name__ == "__main__":
    main()
