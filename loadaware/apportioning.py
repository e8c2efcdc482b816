"""What pods use where only nodes are measured: each node's usage, shared out among the pods that it runs.

With m_i and sd_i what is expected of pod i of workload w, and S_w the sum of sd_i over its siblings on the node:

    left over   e   = usage of the node - sum of m_i
    share       u_i = max(m_i + e * sd_i * S_w / sum over w of S_w^2, 0)
    doubt       d_i = sd_i^2 * (1 - S_w^2 / sum over w of S_w^2)

It is the best guess for normal load whose replicas peak together: who varies most is most likely to be the cause. No
single share is to be believed. But a workload runs on several nodes in changing company, and over the readings only
one level for each explains them all. The doubt is variance that a guess cannot show; added to its square it keeps what
is learned from becoming ever more certain of itself.
"""

from typing import NamedTuple

import numpy as np

from collectors.reading import Floats
from loadaware.ratios import grouped
from loadaware.window import Ints

LEAST_VARIANCE = 1e-12


class Shares(NamedTuple):
    """Of the pods (pod, resource), and what they leave of their nodes' usage (node, resource)."""

    usage: Floats
    doubt: Floats
    left_over: Floats


def apportion(usage: Floats, nodes: Ints, workloads: Ints, means: Floats, deviations: Floats) -> Shares:
    """Share out usage (node, resource) among pods, each with its node, its workload and what is expected of it. NaN
    where a node was not measured.
    """
    count = len(usage)
    pairs, position = np.unique(workloads * count + nodes, return_inverse=True)
    together = grouped(position, deviations, len(pairs))
    variance = np.maximum(grouped(pairs % count, together**2, count), LEAST_VARIANCE)[nodes]
    left_over = usage - grouped(nodes, means, count)
    shares = means + left_over[nodes] * deviations * together[position] / variance
    doubt = deviations**2 * (1.0 - together[position] ** 2 / variance)
    return Shares(np.maximum(shares, 0.0), np.maximum(doubt, 0.0), left_over)
