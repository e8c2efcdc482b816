"""A real control plane on loopback: etcd, kube-apiserver with RBAC and, when asked for, kube-scheduler.

The bargain: entering a `ControlPlane` gives an API server that is ready, with an administrator's client and
kubeconfig; leaving it stops everything it started. All files, logs included, lie in the folder it was given.
There is no kubelet and no controller manager: nodes and pods are what tests make of them.
"""

import secrets
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.parts.builder import binary
from tests.parts.certificates import Authority, KeyPair, new_key, write_key
from tests.parts.kubeconfig import write_kubeconfig
from tests.parts.kubernetes_api import KubernetesApi
from tests.parts.processes import Process, free_port, wait_for
from tests.parts.scheduler import Scheduler


@dataclass(frozen=True)
class Identity:
    """Somebody the API server knows by a token."""

    user: str
    groups: Sequence[str] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def line(self) -> str:
        """A line of kube-apiserver's token file: token, user, uid, groups."""
        return f'{self.token},{self.user},{self.user},"{",".join(self.groups)}"\n'


class ControlPlane:
    """etcd and kube-apiserver, started on entry and stopped on exit.

    `identities` are users known from the start beside the administrator; a service account can be given a
    token at any time. `api_server_flags` are added to kube-apiserver's, and win over those set here.
    """

    def __init__(
        self, folder: Path, *, identities: Sequence[Identity] = (), api_server_flags: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self.logs = folder / "logs"
        self.administrator = Identity("administrator", ["system:masters"])
        self._scheduler_identity = Identity("system:kube-scheduler")
        self._identities = [self.administrator, self._scheduler_identity, *identities]
        self._api_server_flags = api_server_flags
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._make_files()
            self.etcd = stack.enter_context(self._etcd())
            self.api_server = stack.enter_context(self._api_server())
            self.api = self.api_as(self.administrator.token)
            stack.callback(self.api.close)
            wait_for(lambda: self.api.text("/readyz"), "kube-apiserver", self.api_server)
            wait_for(lambda: self.api.get("/api/v1/namespaces/default"), "namespace default")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def restart_api_server(self) -> None:
        """Kill kube-apiserver and start it anew at the same address; what it keeps is in etcd."""
        self.api_server.send(signal.SIGKILL)
        self.api_server.stop()
        self.api_server.start()
        wait_for(lambda: self.api.text("/readyz"), "kube-apiserver, again", self.api_server)

    def start_scheduler(self, config: str) -> Scheduler:
        """Run kube-scheduler with a KubeSchedulerConfiguration; it stops with the control plane or before.

        The kubeconfig is filled in here, and no leader is elected unless the configuration asks for it.
        """
        kubeconfig = self.kubeconfig_for("scheduler", self._scheduler_identity.token)
        scheduler = Scheduler(
            folder=self.folder,
            config=config,
            kubeconfig=kubeconfig,
            serving=self.serving,
            authority=self.certificate_authority,
            metrics_token=self.administrator.token,
        )
        self._stack.callback(scheduler.stop)
        return scheduler.start()

    def api_as(self, token: str) -> KubernetesApi:
        """A client that logs in with that token; the caller closes it."""
        return KubernetesApi(self.url, token, self.certificate_authority)

    def kubeconfig_for(self, name: str, token: str) -> Path:
        """A kubeconfig file for programs that log in with that token."""
        return write_kubeconfig(self.folder / f"{name}.kubeconfig", self.url, self.certificate_authority, token)

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token as a pod of that service account would get; the account must exist."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token: str = self.api.create(path, request)["status"]["token"]
        return token

    def kubectl(self, *arguments: str | Path, stdin: str | None = None) -> str:
        """What kubectl prints, as the administrator; raises CalledProcessError with its words if it fails."""
        command = [binary("kubectl"), "--kubeconfig", self.kubeconfig, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout

    def _make_files(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.url = f"https://127.0.0.1:{free_port()}"
        keys = self.folder / "keys"
        authority, front_proxy = Authority(keys, "authority"), Authority(keys, "front-proxy-authority")
        self.certificate_authority = authority.certificate
        self.front_proxy_authority = front_proxy.certificate
        self.serving: KeyPair = authority.issue("serving")
        self._front_proxy = front_proxy.issue("front-proxy")
        self._account_key = write_key(keys / "service-accounts.key", new_key())
        self._token_file = self.folder / "tokens.csv"
        self._token_file.write_text("".join(identity.line() for identity in self._identities))
        self.kubeconfig = self.kubeconfig_for("administrator", self.administrator.token)

    def _etcd(self) -> Process:
        self.etcd_url, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        flags = [
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",  # nobody mourns a test's data
            "--log-level=warn",
        ]
        return Process("etcd", [binary("etcd"), *flags], self.logs)

    def _api_server(self) -> Process:
        flags = [
            f"--etcd-servers={self.etcd_url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.url.rsplit(':', 1)[1]}",
            f"--cert-dir={self.folder / 'keys'}",
            f"--tls-cert-file={self.serving.certificate}",
            f"--tls-private-key-file={self.serving.key}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._account_key}",
            f"--service-account-signing-key-file={self._account_key}",
            f"--token-auth-file={self._token_file}",
            "--authorization-mode=RBAC",
            # Nobody makes service accounts for pods or takes taints off nodes here.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            # For APIs behind this one, such as metrics.k8s.io.
            f"--requestheader-client-ca-file={self.front_proxy_authority}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self._front_proxy.certificate}",
            f"--proxy-client-key-file={self._front_proxy.key}",
        ]
        command: list[str | Path] = [binary("kube-apiserver"), *flags, *self._api_server_flags]
        return Process("kube-apiserver", command, self.logs)
