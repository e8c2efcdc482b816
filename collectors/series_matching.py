"""Which node does a series speak of? The border between a metric source's names and the cluster's.

A series knows its node by a name, an address, host:port or a host name, in a label whose name depends on who set
the source up. The rules, in order:

1. `value` is reduced to a host: scheme, port, path, brackets, a trailing dot and case do not count.
2. A host that is a node's name is that node; else an IP or a fully qualified name that is exactly one node's
   address is that node.
3. Else host names are compared label by label: one must be the beginning of the other ("node-1" and
   "node-1.example.internal"). A node that knows a fully qualified name of its own is compared by that one alone
   when the host is fully qualified too: "node-1.east" is never "node-1.west".
4. What fits two nodes fits none: no value is better than another node's.

The label is the one whose values name the most nodes; of equals, the first in NODE_LABELS. Several series of one
node in one answer are several views of one thing (two jobs, a restarted exporter): the highest value counts, for a
sum would count the same load twice. A query meant to be summed should sum.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from ipaddress import IPv6Address, ip_address

from collectors.reading import NodeIdentity

NODE_LABELS = (
    "node", "kubernetes_node", "nodename", "node_name", "kubernetes_node_name", "k8s_node_name", "exported_node",
    "instance", "host", "hostname", "kubernetes_io_hostname", "host_name", "exported_instance",
)  # fmt: skip
"""Where to look first. If none of these names a node, every other label is tried, in alphabetical order."""

NODE_GROUP = "node"
EXAMPLES = 3

Labels = Mapping[str, str]

_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:\[([^\]]+)\]|([^:/\s]+))(?::\d+)?(?:/.*)?\Z", re.IGNORECASE)


class NodeMatcher:
    """Finds the node that a label's value means, by the rules above."""

    def __init__(self, nodes: Iterable[NodeIdentity]) -> None:
        self._names: dict[str, set[str]] = {}
        self._addresses: dict[str, set[str]] = {}
        self._first_labels: dict[str, set[str]] = {}
        self._hosts: dict[str, set[str]] = {}
        self._known: dict[str, str | None] = {}
        for node in nodes:
            self._add(node)

    def _add(self, node: NodeIdentity) -> None:
        self._names.setdefault(node.name.lower(), set()).add(node.name)
        for text in (node.name, *node.addresses):
            host = host_of(text)
            if host is None:
                continue
            self._addresses.setdefault(host, set()).add(node.name)
            if not _is_address(host):
                self._first_labels.setdefault(_first_label(host), set()).add(node.name)
                self._hosts.setdefault(node.name, set()).add(host)

    def node_of(self, value: str) -> str | None:
        """The one node that the value means, or None."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: str) -> str | None:
        host = host_of(value)
        if host is None:
            return None
        if host in self._names:
            return _only(self._names[host])
        if _is_address(host) or ("." in host and host in self._addresses):
            return _only(self._addresses.get(host, set()))
        candidates = self._first_labels.get(_first_label(host), ())
        return _only({node for node in candidates if self._may_be(host, node)})

    def _may_be(self, host: str, node: str) -> bool:
        qualified = {known for known in self._hosts[node] if "." in known}
        known_hosts = qualified if "." in host and qualified else self._hosts[node]
        return any(_begins(host, known) or _begins(known, host) for known in known_hosts)


@dataclass(frozen=True)
class Matching:
    """What matched what in one answer. `owners` is parallel to the series: the node's (or pod's) name, or None."""

    label: str | None
    """The label that named the nodes; None if no label did."""
    owners: tuple[str | None, ...]
    unmatched_examples: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> Counter[str]:
        """Series per matched owner."""
        return Counter(owner for owner in self.owners if owner is not None)

    @property
    def unmatched(self) -> int:
        """How many series have no owner."""
        return sum(owner is None for owner in self.owners)

    @property
    def repeated(self) -> tuple[str, ...]:
        """Owners of more than one series."""
        return tuple(sorted(owner for owner, count in self.counts.items() if count > 1))


@dataclass(frozen=True)
class NodeRule:
    """How series name their node, if not to be found by itself."""

    label: str | None = None
    """Look at this label alone."""
    pattern: str | None = None
    """A regular expression searched in the value: its group `node`, or its first group, or all it finds."""

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern or "")
        except re.error as error:
            raise ValueError(f"{self.pattern!r} is no regular expression: {error}") from None

    def extractor(self) -> Callable[[str], str | None]:
        """From a label's value to the part that names the node."""
        if self.pattern is None:
            return _all_of_it
        expression = re.compile(self.pattern)
        group = NODE_GROUP if NODE_GROUP in expression.groupindex else min(expression.groups, 1)

        def part(value: str) -> str | None:
            found = expression.search(value)
            return found[group] if found else None

        return part


def match_nodes(series: Sequence[Labels], matcher: NodeMatcher, rule: NodeRule | None = None) -> Matching:
    """Which series speaks of which node."""
    rule = rule or NodeRule()
    extract = rule.extractor()
    best = Matching(None, (None,) * len(series))
    for labels in _candidates(series, rule):
        for label in labels:
            owners = tuple(_owner(one.get(label), matcher, extract) for one in series)
            found = Matching(label, owners)
            if len(found.counts) > len(best.counts):
                best = found
        if best.label is not None:
            break
    return replace(best, unmatched_examples=_examples(series, best.owners, best.label or rule.label))


def match_pods(series: Sequence[Labels], namespace_label: str = "namespace", pod_label: str = "pod") -> Matching:
    """Which series speaks of which pod, as "namespace/name": the labels are taken at their word."""
    owners = tuple(_pod(labels.get(namespace_label), labels.get(pod_label)) for labels in series)
    return Matching(pod_label, owners, _examples(series, owners, None))


@lru_cache(maxsize=65_536)
def host_of(value: str) -> str | None:
    """The host in a name, address, host:port or URL, in the form in which hosts are compared."""
    value = value.strip()
    address = _address(value)
    if address is not None:
        return address
    found = _HOST.match(value)
    if found is None:
        return None
    if found[1] is not None:
        return _address(found[1])
    return _address(found[2]) or found[2].rstrip(".").lower() or None


def _address(text: str) -> str | None:
    if ":" not in text and not text.replace(".", "").isdecimal():
        return None  # a name: not worth an exception, of which thousands would come
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)


def _is_address(host: str) -> bool:
    return _address(host) is not None


def _first_label(host: str) -> str:
    return host.partition(".")[0]


def _begins(shorter: str, longer: str) -> bool:
    return longer == shorter or longer.startswith(shorter + ".")


def _only(nodes: set[str]) -> str | None:
    return next(iter(nodes)) if len(nodes) == 1 else None


def _all_of_it(value: str) -> str:
    return value


def _candidates(series: Sequence[Labels], rule: NodeRule) -> Iterator[Sequence[str]]:
    """Groups of labels; a later group is looked at only if no label of the earlier ones names a node."""
    if rule.label is not None:
        yield [rule.label]
        return
    present = set[str]().union(*series)
    yield [label for label in NODE_LABELS if label in present]
    yield sorted(present.difference(NODE_LABELS))


def _owner(value: str | None, matcher: NodeMatcher, extract: Callable[[str], str | None]) -> str | None:
    part = extract(value) if value else None
    return matcher.node_of(part) if part else None


def _pod(namespace: str | None, pod: str | None) -> str | None:
    return f"{namespace}/{pod}" if namespace and pod else None


def _examples(series: Sequence[Labels], owners: Sequence[str | None], label: str | None) -> tuple[str, ...]:
    """A few series without an owner, by the label that names the others if they have it."""
    found = [labels for labels, owner in zip(series, owners, strict=True) if owner is None][:EXAMPLES]
    return tuple(_described(labels, label) for labels in found)


def _described(labels: Labels, label: str | None) -> str:
    shown = {label: labels[label]} if label is not None and label in labels else labels
    return "{" + ", ".join(f"{name}={value!r}" for name, value in sorted(shown.items())) + "}"
