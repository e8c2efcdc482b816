"""Why nothing was decided about a node: kube-scheduler did not ask us to rank it. What is known of that, in words.

It asks only about nodes that passed its own filters (room for the requests, taints, affinity), and in a large cluster
only about enough of them. Which it was is not told to us; whether there is room for the requests we can see.
"""

from collections.abc import Sequence
from typing import Any

from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY


def passed_over(node: str, pods: Sequence[Pod], free: dict[str, float]) -> dict[str, Any] | None:
    """For the pods that were ranked last, newest first, on other nodes; `free` is what no pod there requests now. None
    without any pod.
    """
    if not pods:
        return None
    last = pods[0]
    count = "the last pod" if len(pods) == 1 else f"any of the last {len(pods)} pods"
    words = f"kube-scheduler did not ask us about {node} for {count}"
    lacking = [r for r in (CPU, MEMORY) if r in free and last.shape.request(r) > free[r]]
    if lacking:
        wanted = " and ".join(
            f"{_amount(r, last.shape.request(r))} of {r} where {_amount(r, max(free[r], 0.0))} is free" for r in lacking
        )
        words += f": by requests it is full; {last.key} requests {wanted} now, whatever is really used"
    else:
        words += ": it ruled the node out by itself (room, taints, affinity), or found enough others first"
    return {"pod": last.key, "pods": len(pods), "words": words}


def _amount(resource: str, value: float) -> str:
    return f"{value * 1000:.0f}m" if resource == CPU else f"{value / 2**20:.0f}Mi"
