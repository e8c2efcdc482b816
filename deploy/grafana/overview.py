"""Overview: is it working, is it helping?"""

from deploy.grafana.panels import RED, SELECTED, YELLOW, Dashboard, Panel, Query, Row

RUNGS = {0: ("fresh", "green"), 1: ("ageing", "yellow"), 2: ("expired", "orange"), 3: ("unknown", "red")}
LATENCY = f"sum by (le, verb) (rate(loadaware_request_duration_seconds_bucket{{{SELECTED}}}[$__rate_interval]))"

WORKING = Row(
    "Is it working?",
    [
        Panel(
            "Instances",
            "How many instances are scraped, by version. Fewer than replicas: one is down, or not scraped.",
            [Query(f"sum by (version) (loadaware_build_info{{{SELECTED}}})", "{{version}}")],
            kind="stat",
            width=4,
            height=4,
        ),
        Panel(
            "Metric source",
            "The rung of the degradation ladder on which the newest data stands. Expired: requests of the bound pods "
            "stand in for usage.",
            [Query(f"max(loadaware_source_rung{{{SELECTED}}})", "rung")],
            kind="stat",
            width=4,
            height=4,
            words=RUNGS,
            thresholds={1: YELLOW, 2: RED},
        ),
        Panel(
            "Age of data",
            "Age of the newest sample of any node. Above 5 minutes data begins to be doubted.",
            [Query(f"max(loadaware_data_age_seconds{{{SELECTED}}})", "age")],
            kind="stat",
            unit="s",
            width=4,
            height=4,
            thresholds={120: YELLOW, 300: RED},
        ),
        Panel(
            "Requests",
            "What kube-scheduler asks per second. None although pods are scheduled: it does not know us, or gave up.",
            [Query(f"sum(rate(loadaware_requests_total{{{SELECTED}}}[$__rate_interval]))", "requests")],
            kind="stat",
            unit="reqps",
            width=4,
            height=4,
        ),
        Panel(
            "Prioritize, 99 of 100",
            "Within this time 99 of 100 are answered, without the network. kube-scheduler waits 2 s.",
            [
                Query(
                    "histogram_quantile(0.99, sum by (le) (rate(loadaware_request_duration_seconds_bucket"
                    f'{{{SELECTED},verb="prioritize"}}[$__rate_interval])))',
                    "p99",
                )
            ],
            kind="stat",
            unit="s",
            width=4,
            height=4,
            thresholds={0.25: YELLOW, 1: RED},
        ),
        Panel(
            "Nodes not measured",
            "Known nodes without CPU usage: they get the median score. A few right after they joined is usual.",
            [Query(f"max(loadaware_unmeasured_nodes{{{SELECTED}}})", "nodes")],
            kind="stat",
            width=4,
            height=4,
            thresholds={1: YELLOW},
        ),
    ],
)
HELPING = Row(
    "Is it helping?",
    [
        Panel(
            "Imbalance",
            "Standard deviation of utilization between nodes: 0 is perfect balance. It falls as pods come and go.",
            [Query(f"max by (resource) (loadaware_cluster_imbalance{{{SELECTED}}})", "{{resource}}")],
            unit="percentunit",
        ),
        Panel(
            "Busy nodes",
            "Nodes whose mean CPU utilization is above each bound.",
            [
                Query(
                    f'max by (above) (loadaware_busy_nodes{{{SELECTED},resource="cpu"}})',
                    "above {{above}}",
                )
            ],
        ),
        Panel(
            "Utilization of the cluster",
            "Usage of all measured nodes per their allocatable: how full it is as a whole.",
            [Query(f"max by (resource) (loadaware_cluster_utilization{{{SELECTED}}})", "{{resource}}")],
            unit="percentunit",
            most=1.0,
        ),
        Panel(
            "Hottest nodes",
            "The ten nodes with the highest mean CPU utilization of the window.",
            [
                Query(
                    f'topk(10, max by (node) (loadaware_node_utilization{{{SELECTED},resource="cpu"}}))',
                    "{{node}}",
                    instant=True,
                )
            ],
            kind="bargauge",
            unit="percentunit",
            most=1.0,
            thresholds={0.65: YELLOW, 0.8: RED},
        ),
        Panel(
            "First choice won",
            "Of the pods that we ranked and saw bound, the share that went to a node of our best priority. "
            "kube-scheduler adds its own scores: raise the extender's weight or maxScore if it is too low.",
            [
                Query(
                    f'sum(rate(loadaware_first_choice_total{{{SELECTED},won="true"}}[$__rate_interval])) / '
                    f"sum(rate(loadaware_first_choice_total{{{SELECTED}}}[$__rate_interval]))",
                    "won",
                )
            ],
            unit="percentunit",
            most=1.0,
        ),
        Panel(
            "Pods in flight",
            "Pods placed on nodes whose newest sample has not seen them, and the cores that they request.",
            [
                Query(f"max(loadaware_in_flight_pods{{{SELECTED}}})", "pods"),
                Query(f"max(loadaware_in_flight_cores{{{SELECTED}}})", "cores"),
            ],
        ),
    ],
)
ANSWERS = Row(
    "Answers",
    [
        Panel(
            "Latency",
            "From the whole body to the answer, by verb: half and 99 of 100. kube-scheduler gives up after 2 s.",
            [
                Query(f"histogram_quantile(0.5, {LATENCY})", "{{verb}} p50"),
                Query(f"histogram_quantile(0.99, {LATENCY})", "{{verb}} p99"),
            ],
            unit="s",
        ),
        Panel(
            "Requests by verb and profile",
            "What is answered per second.",
            [
                Query(
                    f"sum by (verb, profile) (rate(loadaware_requests_total{{{SELECTED}}}[$__rate_interval]))",
                    "{{verb}} {{profile}}",
                )
            ],
            unit="reqps",
        ),
        Panel(
            "Errors by reason",
            "Requests that were refused, or answered in spite of a doubt or a failure. docs/metrics.md explains each "
            "reason. Empty is good.",
            [
                Query(
                    f"sum by (verb, reason) (rate(loadaware_request_errors_total{{{SELECTED}}}[$__rate_interval]))",
                    "{{verb}} {{reason}}",
                )
            ],
            unit="reqps",
        ),
    ],
)
DATA = Row(
    "Data",
    [
        Panel(
            "Nodes by rung",
            "How far down the degradation ladder the knowledge of nodes is: fresh, ageing, expired, unknown.",
            [Query(f"max by (rung) (loadaware_nodes_on_rung{{{SELECTED}}})", "{{rung}}")],
            stacked=True,
            width=6,
        ),
        Panel(
            "Nodes in quarantine",
            "Nodes whose measurements are not believed, by reason. Empty is good.",
            [Query(f"max by (reason) (loadaware_quarantined_nodes{{{SELECTED}}})", "{{reason}}")],
            width=6,
            thresholds={1: YELLOW},
        ),
        Panel(
            "Time since the last good reading",
            "By source. A second source takes over while the first fails.",
            [Query(f"max by (source) (loadaware_source_age_seconds{{{SELECTED}}})", "{{source}}")],
            unit="s",
            width=6,
            thresholds={300: RED},
        ),
        Panel(
            "Readings",
            "Readings taken and failed per second, of all instances together.",
            [
                Query(f"sum(rate(loadaware_readings_total{{{SELECTED}}}[$__rate_interval]))", "taken"),
                Query(f"sum(rate(loadaware_reading_failures_total{{{SELECTED}}}[$__rate_interval]))", "failed"),
            ],
            unit="ops",
            width=6,
        ),
    ],
)
OVERVIEW = Dashboard(
    "loadaware-overview", "Overview", "Is it working, is it helping?", [WORKING, HELPING, ANSWERS, DATA]
)
