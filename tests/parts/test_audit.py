"""What is read from an audit log."""

import json
from pathlib import Path

from tests.parts.audit import Audit, AuditedCall


def test_calls_of_one_account_are_told_with_their_answers(tmp_path: Path) -> None:
    def event(user: str, verb: str, code: int, **about: str) -> str:
        told = {"user": {"username": user}, "verb": verb, "responseStatus": {"code": code}}
        return json.dumps(told | ({"objectRef": about} if about else {}))

    ours, theirs = "system:serviceaccount:load:loadaware", "system:serviceaccount:load:another"
    lines = [
        event(ours, "list", 200, resource="nodes", apiGroup="metrics.k8s.io"),
        event(ours, "create", 403, resource="pods", subresource="binding"),
        event(ours, "get", 200),
        event(theirs, "delete", 200, resource="pods"),
    ]
    (tmp_path / "audit.log").write_text("\n".join(lines) + "\n")
    assert Audit(tmp_path).calls_of("load", "loadaware") == {
        AuditedCall("list", "metrics.k8s.io", "nodes", 200),
        AuditedCall("create", "", "pods/binding", 403),
        AuditedCall("get", "", "", 200),
    }


def test_nothing_written_yet_is_nothing_asked(tmp_path: Path) -> None:
    assert Audit(tmp_path).calls_of("load", "loadaware") == set()
