"""Nodes: what is believed about each of them, and what that is worth to a pod."""

from deploy.grafana.panels import NODE, RED, SELECTED, YELLOW, Dashboard, Panel, Query, Row

CHOSEN = f'{SELECTED},node=~"$node"'
SHOWN = "Shown are the most utilized nodes (telemetry.nodes, 50 by default)."


def of_cpu(metric: str) -> str:
    """A metric of the chosen nodes, of CPU."""
    return f'max by (node) ({metric}{{{CHOSEN},resource="cpu"}})'


MEASURED = Row(
    "Measured",
    [
        Panel(
            "CPU utilization",
            f"Mean usage of the window per allocatable. {SHOWN}",
            [Query(of_cpu("loadaware_node_utilization"), "{{node}}")],
            unit="percentunit",
            thresholds={0.8: RED},
        ),
        Panel(
            "Memory utilization",
            f"Mean usage of the window per allocatable. {SHOWN}",
            [Query(f'max by (node) (loadaware_node_utilization{{{CHOSEN},resource="memory"}})', "{{node}}")],
            unit="percentunit",
            thresholds={0.9: RED},
        ),
        Panel(
            "CPU deviation",
            f"Standard deviation of usage within the window per allocatable: how unsteady a node is. {SHOWN}",
            [Query(of_cpu("loadaware_node_deviation"), "{{node}}")],
            unit="percentunit",
        ),
    ],
)
BELIEVED = Row(
    "Expected",
    [
        Panel(
            "Expected CPU utilization",
            f"What the node's pods are expected to use per allocatable, those placed a moment ago included. {SHOWN}",
            [Query(of_cpu("loadaware_node_expected_utilization"), "{{node}}")],
            unit="percentunit",
            thresholds={0.8: RED},
        ),
        Panel(
            "Expected less measured",
            "Above 0: pods were placed that the window has not seen, or others are expected to wake up. Below 0: pods "
            "left, or a burst is over.",
            [
                Query(
                    f"{of_cpu('loadaware_node_expected_utilization')} - {of_cpu('loadaware_node_utilization')}",
                    "{{node}}",
                )
            ],
            unit="percentunit",
            least=None,
        ),
        Panel(
            "Risk",
            "The chance that a node wants more CPU than it has, if its expected usage is normal.",
            [Query(f"max by (node) (loadaware_node_risk{{{CHOSEN}}})", "{{node}}")],
            unit="percentunit",
            most=1.0,
            thresholds={0.05: YELLOW, 0.2: RED},
        ),
    ],
)
WORTH = Row(
    "Worth to a pod",
    [
        Panel(
            "Score of the reference pod",
            "What a pod that requests telemetry.referencePod would get on each node now, in the default profile.",
            [Query(f"max by (node) (loadaware_node_score{{{CHOSEN}}})", "{{node}}")],
            most=100.0,
            width=12,
        ),
        Panel(
            "Nodes now",
            "Utilization beside score: the busiest should score least.",
            [
                Query(of_cpu("loadaware_node_utilization"), "cpu utilization", instant=True),
                Query(f"max by (node) (loadaware_node_score{{{CHOSEN}}})", "score", instant=True),
            ],
            kind="table",
            width=12,
            least=None,
        ),
    ],
)
KNOWN = Row(
    "Known",
    [
        Panel(
            "Nodes and pods",
            "How many nodes and bound pods are known.",
            [
                Query(f"max(loadaware_nodes{{{SELECTED}}})", "nodes"),
                Query(f"max(loadaware_bound_pods{{{SELECTED}}})", "bound pods"),
            ],
            width=12,
        ),
        Panel(
            "Busy nodes",
            "Nodes whose utilization is above 0.8, by resource, over the whole cluster.",
            [
                Query(
                    f'max by (resource) (loadaware_busy_nodes{{{SELECTED},above="0.8"}})',
                    "{{resource}}",
                )
            ],
            width=12,
            thresholds={1: YELLOW},
        ),
    ],
)
NODES = Dashboard(
    "loadaware-nodes",
    "Nodes",
    "What is believed about each node, and what that is worth to a pod.",
    [MEASURED, BELIEVED, WORTH, KNOWN],
    [NODE],
)
