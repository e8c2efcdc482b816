"""The filters there are: a table one can grep. Others' come by the entry point group `loadaware.filters`."""

from collections.abc import Mapping

from loadaware.filters.filter import Filter
from loadaware.filters.labels import LabelEquals, LabelExpression, LabelPresent
from loadaware.filters.metric_rules import MetricRules
from loadaware.filters.usage_threshold import UsageThreshold

FILTERS: Mapping[str, type[Filter]] = {
    "LabelEquals": LabelEquals,
    "LabelExpression": LabelExpression,
    "LabelPresent": LabelPresent,
    "MetricRules": MetricRules,
    "UsageThreshold": UsageThreshold,
}
