"""The KubeSchedulerConfiguration that fits a configuration of ours: the other half of an installation."""

from typing import Any

from loadaware.config import Config, ServerSection

HEADER = """# For kube-scheduler's --config. Made by `loadaware schedule-config`.
# nodeCacheCapable sends node names only; whole nodes cost kube-scheduler more than the call itself.
# ignorable: if loadaware is down or slow, pods are scheduled without it.
# weight 1 and priorities 0..{max_score} count like an in-tree plugin of weight {weight:g}.
"""
UNVERIFIED = "# Without tlsConfig.caFile kube-scheduler does not verify our certificate: give --ca-file.\n"
UNKNOWN_CLIENT = "# loadaware asks for a client certificate: give --cert-file and --key-file, or it refuses.\n"


def schedule_configuration(
    config: Config,
    *,
    url: str | None = None,
    kubeconfig: str = "",
    ca_file: str = "",
    cert_file: str = "",
    key_file: str = "",
    node_cache_capable: bool = True,
    leader_elect: bool = True,
) -> str:
    """YAML text. Without a URL: this machine, at the configuration's port."""
    import yaml

    url = (url or local_url(config.server)).rstrip("/")
    files = {"caFile": ca_file, "certFile": cert_file, "keyFile": key_file}
    tls = {name: file for name, file in files.items() if file}
    document: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": leader_elect},
        "profiles": [{"schedulerName": profile.scheduler_name} for profile in config.profiles],
        "extenders": [_extender(config, url, tls, node_cache_capable)],
    }
    if kubeconfig:
        document["clientConnection"] = {"kubeconfig": kubeconfig}
    return _header(config, url, tls) + yaml.safe_dump(document, sort_keys=False)


def local_url(server: ServerSection) -> str:
    """Where a kube-scheduler on the same machine reaches us."""
    return f"{'https' if server.tls else 'http'}://127.0.0.1:{server.port}"


def _extender(config: Config, url: str, tls: dict[str, str], node_cache_capable: bool) -> dict[str, Any]:
    extender: dict[str, Any] = {
        "urlPrefix": url,
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "nodeCacheCapable": node_cache_capable,
        "ignorable": True,
        "httpTimeout": "2s",
        "enableHTTPS": url.startswith("https:"),
    }
    if any(profile.filters for profile in config.profiles):
        extender["filterVerb"] = "filter"
    if tls:
        extender["tlsConfig"] = tls
    return extender


def _header(config: Config, url: str, tls: dict[str, str]) -> str:
    max_score = max(profile.max_score for profile in config.profiles)
    header = HEADER.format(max_score=max_score, weight=max_score / 10)
    if url.startswith("https:") and "caFile" not in tls:
        header += UNVERIFIED
    if config.server.tls and config.server.tls.client_ca_file and not {"certFile", "keyFile"} <= tls.keys():
        header += UNKNOWN_CLIENT
    return header
