"""Shadow and tuning: would another profile choose otherwise, and does what is expected come true?"""

from deploy.grafana.decisions import heat, quantiles
from deploy.grafana.panels import SELECTED, YELLOW, Dashboard, Panel, Query, Row, Variable

SHADOW = Variable("profile", "Shadow profile", f"label_values(loadaware_shadow_agreement_total{{{SELECTED}}}, profile)")
CHOSEN = f'{SELECTED},profile=~"$profile"'


def within(metric: str, bound: float) -> str:
    """The share of a histogram between minus and plus a bound."""
    rate = f"sum(rate({metric}_bucket{{{SELECTED},le=%s}}[$__rate_interval]))"
    upper, lower, every = (rate % f'"{le}"' for le in (bound, -bound, "+Inf"))
    return f"({upper} - {lower}) / {every}"


SHADOWS = Row(
    "Shadow profiles",
    [
        Panel(
            "Agreement",
            "The share of requests where a profile in shadow would have chosen the same node first.",
            [
                Query(
                    "sum by (profile) (rate(loadaware_shadow_agreement_total"
                    f'{{{CHOSEN},agrees="true"}}[$__rate_interval])) / '
                    f"sum by (profile) (rate(loadaware_shadow_agreement_total{{{CHOSEN}}}[$__rate_interval]))",
                    "{{profile}}",
                )
            ],
            unit="percentunit",
            most=1.0,
        ),
        Panel(
            "Rank correlation",
            "How alike the order of nodes is, at the median request: 1 the same, 0 unrelated, -1 the reverse.",
            [
                Query(
                    "histogram_quantile(0.5, sum by (le, profile) (rate(loadaware_shadow_rank_correlation_bucket"
                    f"{{{CHOSEN}}}[$__rate_interval])))",
                    "{{profile}}",
                )
            ],
            least=-1.0,
            most=1.0,
        ),
        Panel(
            "Load difference",
            "Expected CPU utilization of the shadow's first choice less that of the one answered, at the median "
            "request. Below 0: the shadow would have found emptier nodes.",
            [
                Query(
                    "histogram_quantile(0.5, sum by (le, profile) (rate(loadaware_shadow_load_difference_bucket"
                    f"{{{CHOSEN}}}[$__rate_interval])))",
                    "{{profile}}",
                )
            ],
            unit="percentunit",
            least=None,
        ),
        Panel(
            "Requests scored in shadow",
            "Per second, by profile; and how many were left out, because the next pod was asked for before there was "
            "time.",
            [
                Query(
                    f"sum by (profile) (rate(loadaware_shadow_agreement_total{{{CHOSEN}}}[$__rate_interval]))",
                    "{{profile}}",
                ),
                Query(f"sum(rate(loadaware_shadow_dropped_total{{{SELECTED}}}[$__rate_interval]))", "left out"),
            ],
            unit="reqps",
        ),
    ],
)
CALIBRATION = Row(
    "Does what is expected come true?",
    [
        Panel(
            "Measured less expected",
            "CPU usage of nodes at each reading less what was expected before it, per allocatable.",
            heat("loadaware_calibration_error", SELECTED),
            kind="heatmap",
            unit="percentunit",
            least=None,
        ),
        Panel(
            "Within bounds",
            "The share of nodes whose usage was within 5 and 20 points of what was expected.",
            [
                Query(within("loadaware_calibration_error", 0.05), "within 5 points"),
                Query(within("loadaware_calibration_error", 0.2), "within 20 points"),
            ],
            unit="percentunit",
            most=1.0,
        ),
        Panel(
            "Within deviations",
            "The share of nodes within one and two expected deviations: 68 % and 95 % if the deviations are right; "
            "more if they are too wide.",
            [
                Query(within("loadaware_calibration_deviations", 1.0), "within 1"),
                Query(within("loadaware_calibration_deviations", 2.0), "within 2"),
            ],
            unit="percentunit",
            most=1.0,
        ),
        Panel(
            "Bias",
            "Measured less expected at the median node. Above 0 for long: pods use more than was learned.",
            [
                Query(
                    "histogram_quantile(0.5, sum by (le) (rate(loadaware_calibration_error_bucket"
                    f"{{{SELECTED}}}[$__rate_interval])))",
                    "median",
                )
            ],
            unit="percentunit",
            least=None,
        ),
        Panel(
            "Learned workloads",
            "Workloads whose demand was learned: a new one is taken to behave like its kin, or the rest.",
            [Query(f"max(loadaware_learned_workloads{{{SELECTED}}})", "workloads")],
        ),
        Panel(
            "Spread of scores",
            "Best score less worst of an answer, over all profiles: how much say we have.",
            quantiles("loadaware_score_spread", SELECTED),
            most=100.0,
        ),
    ],
)
RUNNING = Row(
    "Running it",
    [
        Panel(
            "Time of a reading",
            "What the last reading and its snapshot took, in the observer process: requests do not wait for it.",
            [Query(f"max by (instance) (loadaware_reading_duration_seconds{{{SELECTED}}})", "{{instance}}")],
            unit="s",
        ),
        Panel(
            "Configuration files",
            "Changed files that were taken or refused. Empty until one changes.",
            [
                Query(
                    f"sum by (outcome) (increase(loadaware_config_reloads_total{{{SELECTED}}}[$__rate_interval]))",
                    "{{outcome}}",
                )
            ],
        ),
        Panel(
            "Restarts of the observer",
            "Times the observer process was started again after it ended by itself.",
            [Query(f"sum(increase(loadaware_observer_restarts_total{{{SELECTED}}}[$__rate_interval]))", "restarts")],
            thresholds={1: YELLOW},
        ),
        Panel(
            "Not written down",
            "Records missing from the history, because they could not be written or came faster than they could be "
            "handed over; and lines missing from the file of decisions. 0 where neither is kept.",
            [
                Query(
                    f"sum by (reason) (increase(loadaware_history_lost_records_total{{{SELECTED}}}[$__rate_interval]))",
                    "history: {{reason}}",
                ),
                Query(
                    f"sum(increase(loadaware_decisions_unwritten_total{{{SELECTED}}}[$__rate_interval]))",
                    "file of decisions",
                ),
            ],
            thresholds={1: YELLOW},
        ),
    ],
)
TUNING = Dashboard(
    "loadaware-tuning",
    "Shadow and tuning",
    "Would another profile choose otherwise, and does what is expected come true?",
    [SHADOWS, CALIBRATION, RUNNING],
    [SHADOW],
)
