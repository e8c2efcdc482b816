"""What service accounts asked of the API server, from its own audit log: every call, and how it was answered.

The bargain: `Audit` gives kube-apiserver's flags before it starts; `calls_of` reads what was written so far.
"""

import json
from pathlib import Path
from typing import NamedTuple

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}


class AuditedCall(NamedTuple):
    """One call; resource and group are empty for a path that is no resource."""

    verb: str
    group: str
    resource: str
    status: int


class Audit:
    """The audit log of one API server, below a folder."""

    def __init__(self, folder: Path) -> None:
        self._policy = folder / "audit-policy.json"
        self._log = folder / "audit.log"

    def flags(self) -> list[str]:
        """For kube-apiserver."""
        return [f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}", "--audit-log-mode=blocking"]

    def write_policy(self) -> None:
        """Before kube-apiserver starts."""
        self._policy.parent.mkdir(parents=True, exist_ok=True)
        self._policy.write_text(json.dumps(POLICY))

    def calls_of(self, namespace: str, account: str) -> set[AuditedCall]:
        """What an account asked for so far; a watch is there from its first answer on."""
        user = f"system:serviceaccount:{namespace}:{account}"
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        events = [event for event in map(json.loads, lines) if event["user"]["username"] == user]
        return {_call(event) for event in events}


def _call(event: dict[str, object]) -> AuditedCall:
    about = event.get("objectRef") or {}
    status = event.get("responseStatus") or {}
    assert isinstance(about, dict)
    assert isinstance(status, dict)
    resource = "/".join(filter(None, [about.get("resource", ""), about.get("subresource", "")]))
    return AuditedCall(str(event["verb"]), about.get("apiGroup", ""), resource, status.get("code", 0))
