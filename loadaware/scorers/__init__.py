"""The scorers there are: a table one can grep. Others' come by the entry point group `loadaware.scorers`."""

from collections.abc import Mapping

from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.label_number import LabelNumber
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.low_risk_over_commitment import LowRiskOverCommitment
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.metric_rank import MetricRank
from loadaware.scorers.multi_window_load import MultiWindowLoad
from loadaware.scorers.network_cost import NetworkCost
from loadaware.scorers.node_resources_allocatable import NodeResourcesAllocatable
from loadaware.scorers.peaks import Peaks
from loadaware.scorers.pod_state import PodState
from loadaware.scorers.scorer import CountsInFlight, Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking

SCORERS: Mapping[str, type[Scorer]] = {
    "EntropicRisk": EntropicRisk,
    "EstimatedLoad": EstimatedLoad,
    "LabelNumber": LabelNumber,
    "LoadVariationRiskBalancing": LoadVariationRiskBalancing,
    "LowRiskOverCommitment": LowRiskOverCommitment,
    "LowestUsage": LowestUsage,
    "MetricRank": MetricRank,
    "MultiWindowLoad": MultiWindowLoad,
    "NetworkCost": NetworkCost,
    "NodeResourcesAllocatable": NodeResourcesAllocatable,
    "Peaks": Peaks,
    "PodState": PodState,
    "TargetLoadPacking": TargetLoadPacking,
}
