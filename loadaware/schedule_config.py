"""The KubeSchedulerConfiguration that fits a configuration of ours: the other half of an installation."""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from loadaware.config import Config, ServerSection
from loadaware.errors import ConfigError

MADE = "# For kube-scheduler's --config. Made by `loadaware schedule-config`.\n"
NAMES_ONLY = "# nodeCacheCapable sends node names only; whole nodes cost kube-scheduler more than the call itself.\n"
WHOLE_NODES = "# Without nodeCacheCapable whole nodes are sent, which costs kube-scheduler more than the call itself.\n"
IGNORABLE = "# ignorable: if loadaware is down or slow, pods are scheduled without it.\n"
COUNTS = "# weight 1 and priorities 0..{max_score}{where} count like an in-tree plugin of weight {weight:g}.\n"
BINDS = "# bindVerb: loadaware binds pods; its account needs the right to create pods/binding.\n"
UNVERIFIED = "# Without tlsConfig.caFile kube-scheduler does not verify our certificate: give --ca-file.\n"
ONLY_OURS = (
    "No profile is called default-scheduler: the cluster's own kube-scheduler needs one, or plain pods are stuck."
)
UNKNOWN_CLIENT = "# loadaware asks for a client certificate: give --cert-file and --key-file, or it refuses.\n"
OPTIONS = {"caFile": "--ca-file", "serverName": "--server-name", "certFile": "--cert-file", "keyFile": "--key-file"}
"""Where each member of tlsConfig comes from."""


def schedule_configuration(
    config: Config,
    *,
    url: str | None = None,
    kubeconfig: str = "",
    ca_file: str = "",
    server_name: str = "",
    cert_file: str = "",
    key_file: str = "",
    node_cache_capable: bool = True,
    leader_elect: bool = True,
    preempt: bool = False,
    bind: bool = False,
) -> str:
    """YAML text. Without a URL: this machine, at the configuration's port. Raises ConfigError for options that do
    not go together.
    """
    import yaml

    url = (local_url(config.server) if url is None else url).rstrip("/")
    given = {"caFile": ca_file, "serverName": server_name, "certFile": cert_file, "keyFile": key_file}
    tls = {name: value for name, value in given.items() if value}
    _check(url, tls)
    config = msgspec.structs.replace(config, profiles=tuple(p for p in config.profiles if not p.shadow))
    extender = _extender(config, url, tls, node_cache_capable)
    extender |= {"preemptVerb": "preempt"} if preempt else {}
    extender |= {"bindVerb": "bind"} if bind else {}
    document: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": leader_elect},
        "profiles": [{"schedulerName": profile.scheduler_name} for profile in config.profiles],
        "extenders": [extender],
    }
    if kubeconfig:
        document["clientConnection"] = {"kubeconfig": kubeconfig}
    return _header(config, extender) + yaml.safe_dump(document, sort_keys=False)


def serves_plain_pods(config: Config) -> bool:
    """Whether pods that name no scheduler have a profile in what is printed."""
    return any(profile.scheduler_name == "default-scheduler" and not profile.shadow for profile in config.profiles)


def local_url(server: ServerSection) -> str:
    """Where a kube-scheduler on the same machine reaches us."""
    return f"{'https' if server.tls else 'http'}://127.0.0.1:{server.port}"


def _check(url: str, tls: dict[str, str]) -> None:
    """Whether kube-scheduler could use the address and the files."""
    if not _is_address(url):
        raise ConfigError("--url", "", f"{url!r} is no http or https address such as http://loadaware.kube-system:8090")
    if tls and not url.startswith("https:"):
        raise ConfigError(OPTIONS[next(iter(tls))], "", f"is for an https address, not {url}")
    if "certFile" in tls and "keyFile" not in tls:
        raise ConfigError("--cert-file", "", "needs --key-file beside it")
    if "keyFile" in tls and "certFile" not in tls:
        raise ConfigError("--key-file", "", "needs --cert-file beside it")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return url.startswith(("http://", "https://")) and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


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


def _header(config: Config, extender: dict[str, Any]) -> str:
    tls = extender.get("tlsConfig", {})
    header = MADE + (NAMES_ONLY if extender["nodeCacheCapable"] else WHOLE_NODES) + IGNORABLE + _counts(config)
    if not serves_plain_pods(config):
        header += f"# {ONLY_OURS}\n"
    if "bindVerb" in extender:
        header += BINDS
    if extender["enableHTTPS"] and "caFile" not in tls:
        header += UNVERIFIED
    if config.server.tls and config.server.tls.client_ca_file and not {"certFile", "keyFile"} <= tls.keys():
        header += UNKNOWN_CLIENT
    return header


def _counts(config: Config) -> str:
    """What the priorities count like: one line for all profiles, or one for each if they differ."""
    profiles = {profile.scheduler_name: profile.max_score for profile in config.profiles}
    if len(set(profiles.values())) == 1:
        profiles = {"": config.profiles[0].max_score}
    return "".join(
        COUNTS.format(max_score=most, where=f" ({name})" if name else "", weight=most / 10)
        for name, most in profiles.items()
    )
