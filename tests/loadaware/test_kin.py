import pytest

from collectors.manifests import Owner
from loadaware.kin import TRAITS, UNKNOWN, kin_of, repository_of
from tests.loadaware.builders import make_pod


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("redis", "redis"),
        ("redis:7", "redis"),
        ("registry.example.com/api/orders:1.4", "registry.example.com/api/orders"),
        ("registry.example.com:5000/api/orders", "registry.example.com:5000/api/orders"),
        ("registry.example.com:5000/api/orders:1.4@sha256:0af", "registry.example.com:5000/api/orders"),
        ("", ""),
    ],
)
def test_a_repository_is_an_image_without_tag_and_digest(image: str, repository: str) -> None:
    assert repository_of(image) == repository


def test_traits_are_read_from_the_manifest() -> None:
    pod = make_pod(
        cpu=0.3,
        namespace="shop",
        images=("registry.example.com/api/orders:1.4", "sidecar"),
        labels={"app.kubernetes.io/component": "backend", "pod-template-hash": "7d4b9c6f5d"},
        owner=Owner("ReplicaSet", "orders-7d4b9c6f5d"),
    )
    orders = "registry.example.com/api/orders"
    assert dict(zip(TRAITS, kin_of(pod), strict=True)) == {
        "namespace": "shop",
        "image": orders,
        "family": "registry.example.com/api",
        "component": "backend",
        "controller": "Deployment",
        "size": "0.25",
    }


def test_what_is_not_told_is_empty() -> None:
    assert kin_of(make_pod(namespace="")) == (*UNKNOWN[:4], "Pod", "")


@pytest.mark.parametrize(("cores", "size"), [(0.1, "0.125"), (0.25, "0.25"), (1.0, "1"), (3.0, "4"), (24.0, "32")])
def test_sizes_are_powers_of_two(cores: float, size: str) -> None:
    assert kin_of(make_pod(cpu=cores))[-1] == size
