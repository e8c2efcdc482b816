"""Decisions: what is asked, how clear the answers are, what they take."""

from deploy.grafana.panels import PROFILE, SELECTED, YELLOW, Dashboard, Panel, Query, Row

CHOSEN = f'{SELECTED},profile=~"$profile"'


def quantiles(metric: str, labels: str = CHOSEN) -> list[Query]:
    """A tenth, half and nine tenths of a histogram."""
    buckets = f"sum by (le) (rate({metric}_bucket{{{labels}}}[$__rate_interval]))"
    names = {0.1: "one in ten below", 0.5: "half below", 0.9: "nine in ten below"}
    return [Query(f"histogram_quantile({share}, {buckets})", name) for share, name in names.items()]


def heat(metric: str, labels: str) -> list[Query]:
    """A histogram over time."""
    return [Query(f"sum by (le) (increase({metric}_bucket{{{labels}}}[$__rate_interval]))", "{{le}}")]


ASKED = Row(
    "What is asked",
    [
        Panel(
            "Requests by profile",
            "Answers per second, by the profile that gave them.",
            [
                Query(
                    f"sum by (profile, verb) (rate(loadaware_requests_total{{{CHOSEN}}}[$__rate_interval]))",
                    "{{profile}} {{verb}}",
                )
            ],
            unit="reqps",
        ),
        Panel(
            "Nodes per request",
            "How many nodes are asked about: those that kube-scheduler's own filters left, or fewer with "
            "percentageOfNodesToScore.",
            quantiles("loadaware_request_nodes", SELECTED),
        ),
        Panel(
            "Time to answer prioritize",
            "Each column is how many answers took how long.",
            heat("loadaware_request_duration_seconds", f'{SELECTED},verb="prioritize"'),
            kind="heatmap",
            unit="s",
            least=None,
        ),
    ],
)
CLEAR = Row(
    "How clear the answers are",
    [
        Panel(
            "Spread of scores",
            "Best score less worst of an answer. Near 0, nodes are all alike to us and kube-scheduler decides alone.",
            quantiles("loadaware_score_spread"),
            most=100.0,
        ),
        Panel(
            "Margin of the best",
            "Best score less second best. Near 0, the second best would have been as good.",
            quantiles("loadaware_score_margin"),
        ),
        Panel(
            "First choice",
            "Ranked pods seen bound per second: those that went to a node of our best priority, and those that did "
            "not because kube-scheduler's own scores weighed more.",
            [
                Query(
                    f"sum by (won) (rate(loadaware_first_choice_total{{{SELECTED}}}[$__rate_interval]))", "won {{won}}"
                )
            ],
            unit="ops",
            stacked=True,
        ),
    ],
)
REJECTED = Row(
    "Filters",
    [
        Panel(
            "Rejected nodes by filter",
            "Nodes that each filter rejected per second. Empty if no profile has filters.",
            [
                Query(
                    f"sum by (filter) (rate(loadaware_rejected_nodes_total{{{CHOSEN}}}[$__rate_interval]))",
                    "{{filter}}",
                )
            ],
            unit="ops",
            width=12,
        ),
        Panel(
            "Load rules relaxed",
            "Filter answers where load rules would have rejected every node, so the least loaded passed. Empty is "
            "good; if not, the cluster is full or thresholds are too low.",
            [
                Query(
                    f"sum by (profile) (increase(loadaware_relaxed_filters_total{{{CHOSEN}}}[$__rate_interval]))",
                    "{{profile}}",
                )
            ],
            width=12,
            thresholds={1: YELLOW},
        ),
    ],
)
PLUGINS = Row(
    "Plugins and bookings",
    [
        Panel(
            "Time per run of a plugin",
            "What a filter or scorer takes each time, at the mean. Above 50 ms it overruns, and is switched off after "
            "three times in a row.",
            [
                Query(
                    f"sum by (plugin) (rate(loadaware_plugin_seconds_total{{{SELECTED}}}[$__rate_interval])) / "
                    f"sum by (plugin) (rate(loadaware_plugin_runs_total{{{SELECTED}}}[$__rate_interval]))",
                    "{{plugin}}",
                )
            ],
            unit="s",
        ),
        Panel(
            "Failures of plugins",
            "Times a filter or scorer raised, answered nonsense or overran its time. Empty is good.",
            [
                Query(
                    "sum by (plugin, kind) (increase(loadaware_plugin_failures_total"
                    f"{{{SELECTED}}}[$__rate_interval]))",
                    "{{plugin}} {{kind}}",
                )
            ],
            thresholds={1: YELLOW},
        ),
        Panel(
            "Bookings",
            "Ranked pods that no watch has shown bound yet; each counts on the node it will most likely go to.",
            [Query(f"sum by (instance) (loadaware_bookings{{{SELECTED}}})", "{{instance}}")],
        ),
    ],
)
DECISIONS = Dashboard(
    "loadaware-decisions",
    "Decisions",
    "What is asked, how clear the answers are, what they take.",
    [ASKED, CLEAR, REJECTED, PLUGINS],
    [PROFILE],
)
