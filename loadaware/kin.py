"""What a pod's manifest tells of its kind before anything was measured of it: the names that alike workloads share.

Each trait is a word with its own vocabulary; an empty one says nothing.

    namespace     shop
    image         registry.example.com/api/orders, without tag and digest
    family        registry.example.com/api, the folder of the image
    component     the label app.kubernetes.io/component
    controller    Deployment, StatefulSet, CronJob ...
    size          the CPU request, to the nearest power of two: 0.25
"""

import math
from functools import lru_cache

from collectors.manifests import Pod, Shape
from collectors.reading import CPU
from loadaware.workload import top_owner

Kin = tuple[str, ...]
"""One word per trait."""

TRAITS = ("namespace", "image", "family", "component", "controller", "size")
COMPONENT_LABEL = "app.kubernetes.io/component"
UNKNOWN: Kin = ("",) * len(TRAITS)


def kin_of(pod: Pod) -> Kin:
    """The traits of a pod, in the order of TRAITS."""
    image, family = _image(pod.images[0]) if pod.images else ("", "")
    component = pod.labels.get(COMPONENT_LABEL, "")
    return pod.namespace, image, family, component, top_owner(pod)[0], _size(pod.shape)


@lru_cache(maxsize=4096)
def _image(image: str) -> tuple[str, str]:
    """Image and family; many pods share them."""
    name = repository_of(image)
    return name, name.rpartition("/")[0]


@lru_cache(maxsize=4096)
def _size(shape: Shape) -> str:
    request = shape.request(CPU)
    return f"{2.0 ** round(math.log2(request)):g}" if request > 0 else ""


def repository_of(image: str) -> str:
    """An image's name without tag and digest."""
    name = image.partition("@")[0]
    head, slash, tail = name.rpartition("/")
    return head + slash + tail.partition(":")[0]
