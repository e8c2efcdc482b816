"""A real metrics-server behind the API server of a test; it reads what kwok plays.

The bargain: entering a `MetricsServer` gives metrics.k8s.io, registered and answering; nodes are in it two rounds
after they came, some 20 seconds. Leaving it stops the process and takes the registration away.
"""

from types import TracebackType
from typing import Self

from tests.parts.builder import binary
from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import ApiError
from tests.parts.processes import Process, free_port, wait_for

METRICS = "/apis/metrics.k8s.io/v1beta1"
REGISTRATIONS = "/apis/apiregistration.k8s.io/v1/apiservices"
SERVICES = "/api/v1/namespaces/kube-system/services"
RESOLUTION = "10s"
"""The shortest that it takes."""


class MetricsServer:
    """One metrics-server; started on entry, stopped on exit. It may be stopped and started in between."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._api = control_plane.api
        self._port = free_port()
        kubeconfig = control_plane.kubeconfig
        flags = [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--tls-cert-file={control_plane.serving.certificate}",
            f"--tls-private-key-file={control_plane.serving.key}",
            "--kubelet-use-node-status-port",
            "--kubelet-preferred-address-types=InternalIP",
            "--deprecated-kubelet-completely-insecure",
            f"--metric-resolution={RESOLUTION}",
            "--kubelet-request-timeout=5s",
        ]
        self.process = Process("metrics-server", [binary("metrics-server"), *flags], control_plane.logs)

    def __enter__(self) -> Self:
        self._register()
        self.process.start()
        try:
            self.wait_until_served()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def wait_until_served(self) -> None:
        """Until the API server passes questions on to it."""
        wait_for(lambda: self._api.get(METRICS), "metrics.k8s.io", self.process)

    def nodes(self) -> set[str]:
        """Names of the nodes that it has measured."""
        return {item["metadata"]["name"] for item in self._api.get(f"{METRICS}/nodes")["items"]}

    def _register(self) -> None:
        """An aggregated API at a port of this machine."""
        ports = [{"port": self._port, "protocol": "TCP"}]
        service = {"type": "ExternalName", "externalName": "localhost", "ports": ports}
        self._api.create(SERVICES, {"metadata": {"name": "metrics-server"}, "spec": service})
        spec = {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": "metrics-server", "namespace": "kube-system", "port": self._port},
        }
        self._api.create(REGISTRATIONS, {"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": spec})

    def _leave(self) -> None:
        self.process.stop()
        for path in (f"{REGISTRATIONS}/v1beta1.metrics.k8s.io", f"{SERVICES}/metrics-server"):
            try:
                self._api.delete(path)
            except ApiError as error:
                if error.status != 404:
                    raise
