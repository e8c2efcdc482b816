"""The KubeSchedulerConfiguration that fits a configuration of ours: the other half of an installation."""

from typing import Any

from loadaware.config import Config

HEADER = """# For kube-scheduler's --config. Made by `loadaware schedule-config`.
# nodeCacheCapable sends node names only; whole nodes cost kube-scheduler more than the call itself.
# ignorable: if loadaware is down or slow, pods are scheduled without it.
# weight 1 and priorities 0..{max_score} count like an in-tree plugin of weight {weight:g}.
"""


def schedule_configuration(
    config: Config,
    *,
    url: str,
    kubeconfig: str = "",
    ca_file: str = "",
    node_cache_capable: bool = True,
    leader_elect: bool = True,
) -> str:
    """YAML text."""
    import yaml

    max_score = max(profile.max_score for profile in config.profiles)
    extender: dict[str, Any] = {
        "urlPrefix": url.rstrip("/"),
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "nodeCacheCapable": node_cache_capable,
        "ignorable": True,
        "httpTimeout": "2s",
        "enableHTTPS": url.startswith("https:"),
    }
    if any(profile.filters for profile in config.profiles):
        extender["filterVerb"] = "filter"
    if ca_file:
        extender["tlsConfig"] = {"caFile": ca_file}
    document: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": leader_elect},
        "profiles": [{"schedulerName": profile.scheduler_name} for profile in config.profiles],
        "extenders": [extender],
    }
    if kubeconfig:
        document["clientConnection"] = {"kubeconfig": kubeconfig}
    return HEADER.format(max_score=max_score, weight=max_score / 10) + yaml.safe_dump(document, sort_keys=False)
