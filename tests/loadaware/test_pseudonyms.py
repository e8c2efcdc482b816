from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.cluster import NamespaceSeen, PodSeen
from collectors.errors import HistoryError
from collectors.history import HistoryReader
from collectors.manifests import Namespace, Node, Owner, Pod
from loadaware.config import Config
from loadaware.pseudonyms import Pseudonyms, copy_with_pseudonyms
from loadaware.replay.outcome import ReplaySettings
from loadaware.replay.run import replay
from loadaware.snapshot import OPT_OUT_ANNOTATION
from loadaware.workload import workload_of
from tests.loadaware.recorded_runs import packed_history, pod

KEY = b"k" * 32
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,11}(-[a-z0-9]{1,10}){0,3}", fullmatch=True)


def replica(namespace: str, workload: str, tail: str) -> Pod:
    owner = Owner("ReplicaSet", f"{workload}-7d4b9c6f5d")
    labels = {"pod-template-hash": "7d4b9c6f5d"}
    return Pod(namespace=namespace, name=f"{owner.name}-{tail}", uid=f"u-{tail}", owner=owner, labels=labels)


@given(NAMES, NAMES)
def test_siblings_stay_siblings_and_strangers_strangers(first: str, second: str) -> None:
    names = Pseudonyms(KEY)
    ours, sibling, other = (
        names.pod(replica("shop", *told)) for told in ((first, "x7k2p"), (first, "b5c6d"), (second, "x7k2p"))
    )
    assert workload_of(ours) == workload_of(sibling)
    assert (workload_of(ours) == workload_of(other)) == (first == second)
    assert workload_of(ours).split("/")[1] == "Deployment"


def test_the_same_key_gives_the_same_names_and_another_key_others() -> None:
    assert (
        Pseudonyms(KEY).word("payments") == Pseudonyms(KEY).word("payments") != Pseudonyms(b"x" * 32).word("payments")
    )


def test_no_part_of_a_name_is_left_but_an_ordinal() -> None:
    names = Pseudonyms(KEY)
    told = names.word("payments-db-3")
    assert "payments" not in told
    assert "db" not in told.split("-")
    assert told.endswith("-3")
    assert "10" not in names.node("ip-10-0-3-17.eu-west-1.compute.internal").split("-")


def test_facts_of_a_node_and_a_pod_carry_no_name_no_address_and_no_annotation() -> None:
    names = Pseudonyms(KEY)
    node = names.node_facts(
        Node(
            name="acme-1",
            labels={"kubernetes.io/hostname": "acme-1", "acme.com/team": "secret", "topology.kubernetes.io/zone": "z"},
            annotations={"acme.com/mail": "a@acme.com"},
            addresses=("10.1.2.3",),
        )
    )
    assert node.labels["kubernetes.io/hostname"] == node.name
    assert node.addresses == ()
    told = names.pod(
        Pod(
            namespace="acme", name="acme-web-1", uid="u-1", node="acme-1", images=("registry.acme.com/web:1.2",),
            annotations={OPT_OUT_ANNOTATION: "true", "mail": "a@acme.com"}, labels={"acme": "secret"},
        )
    )  # fmt: skip
    assert told.node == node.name
    assert told.annotations == {OPT_OUT_ANNOTATION: "true"}
    assert not any(word in f"{node} {told}" for word in ("acme", "secret", "10.1.2.3", "registry"))


def test_a_static_pod_is_renamed_with_its_node_in_events_and_readings_alike() -> None:
    names = Pseudonyms(KEY)
    told = names.pod(Pod(namespace="kube-system", name="etcd-ip-10-1-2-3", owner=Owner("Node", "ip-10-1-2-3")))
    assert told.namespace == "kube-system"
    assert told.name.endswith(names.node("ip-10-1-2-3"))
    assert names.key("kube-system/etcd-ip-10-1-2-3") == told.key


def test_a_namespace_keeps_that_it_opted_out() -> None:
    told = Pseudonyms(KEY).event(NamespaceSeen(Namespace("acme", {OPT_OUT_ANNOTATION: "true", "x": "y"})))
    assert isinstance(told, NamespaceSeen)
    assert told.namespace.annotations == {OPT_OUT_ANNOTATION: "true"}


def test_a_copy_is_replayed_to_the_same_figures(tmp_path: Path) -> None:
    packed_history(tmp_path / "real")
    count = copy_with_pseudonyms(tmp_path / "real", tmp_path / "copy", KEY)
    assert count == len(list(HistoryReader(tmp_path / "real").records()))
    settings = ReplaySettings(warm_up_seconds=0.0)
    real, copy = (replay(tmp_path / name, Config(), settings) for name in ("real", "copy"))
    assert (real.recorded, real.counts.asked) == (copy.recorded, copy.counts.asked)
    assert copy.replayed.hot80 == real.replayed.hot80
    seen = [r.content.pod for r in HistoryReader(tmp_path / "copy").records() if isinstance(r.content, PodSeen)]
    assert seen
    assert pod("web-5").name not in {told.name for told in seen}


def test_a_folder_that_is_not_empty_is_not_written_to(tmp_path: Path) -> None:
    packed_history(tmp_path / "real", 5)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine.txt").write_text("mine")
    with pytest.raises(HistoryError, match="is not empty"):
        copy_with_pseudonyms(tmp_path / "real", tmp_path / "copy", KEY)
