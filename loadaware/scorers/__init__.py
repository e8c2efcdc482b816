"""The scorers there are: a table one can grep. Others' come by the entry point group `loadaware.scorers`."""

from collections.abc import Mapping

from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.scorer import CountsInFlight, Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking

SCORERS: Mapping[str, type[Scorer]] = {
    "LoadVariationRiskBalancing": LoadVariationRiskBalancing,
    "TargetLoadPacking": TargetLoadPacking,
}
