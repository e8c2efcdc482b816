"""Writes kubeconfig files, the one way in which every Kubernetes program is told where the API server is."""

import json
from pathlib import Path

NAME = "loadaware-test"


def write_kubeconfig(path: Path, url: str, authority: Path, token: str) -> Path:
    """A kubeconfig that trusts `authority` alone and logs in with `token`; JSON, which is YAML too."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": url, "certificate-authority": str(authority)}}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=2))
    return path
