import pytest

from loadaware.changes import PodLeft
from loadaware.explanation import explain
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.profile import Profile, WeightedScorer
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.snapshot import OPT_OUT_ANNOTATION
from tests.loadaware.builders import cpu_mean, make_pod, make_profile, make_settings, snapshot_of
from tests.loadaware.decided import ask, bind, explained, learned_service, noted, service_of
from tests.loadaware.running_server import frozen_service


def test_the_sentence_tells_who_won_by_what_load_who_came_next_and_who_was_rejected() -> None:
    service = frozen_service()
    ask(service, "filter", "idle", "near", "busy")
    ask(service, "prioritize", "idle", "near")
    bind(service, "idle")
    assert explained(service)["sentence"] == (
        "idle won with 68: predicted cpu 19 % after this pod (TargetLoadPacking 68); "
        "near would have gone to 54 %, with 31; busy was rejected: mean cpu usage 90 % > 65 %; it went to idle"
    )


def test_learned_demand_is_told_with_its_deviation() -> None:
    service = learned_service()
    ask(service, "prioritize", "a", "b")
    told = explained(service)
    predicted = {node["node"]: node["predicted"]["cpu"] for node in told["nodes"]}
    load, spread = predicted["a"]["utilization"], predicted["a"]["deviation"]
    assert f"a won with 100: predicted cpu {100 * load:.0f} % ± {100 * spread:.0f} after this pod" in told["sentence"]
    assert f"b would have gone to {100 * predicted['b']['utilization']:.0f} %" in told["sentence"]
    assert told["sentence"].endswith("it is not bound yet, as far as we know")
    assert told["dataAgeSeconds"] == pytest.approx(25.0)


def test_what_would_have_to_change_is_told_of_the_next_best_node() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    told = explained(service)["toWin"]
    assert told["node"] == "near"
    assert told["points"] == pytest.approx(68.125 - 30.833, abs=0.01)
    assert told["steps"] == 20 - 9
    assert told["words"] == (
        "near would have needed 37.3 points more (11 steps on the wire); cpu 54 % there, 19 % on the winner"
    )


def test_of_several_scorers_the_one_that_cost_most_is_named() -> None:
    scorers = (WeightedScorer("low", LowestUsage()), WeightedScorer("pack", TargetLoadPacking(), 0.1))
    service = frozen_service(make_settings(Profile("default-scheduler", scorers)))
    ask(service, "prioritize", "idle", "near")
    told = explained(service)
    assert "it lost most of them by low" in told["toWin"]["words"]
    assert told["weights"] == {"low": 1.0, "pack": 0.1}
    assert set(told["nodes"][0]["scorers"]) == {"low", "pack"}


def test_a_node_other_plugins_preferred_is_told_with_how_far_behind_it_was() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near", "busy")
    bind(service, "busy")
    told = explained(service)
    assert told["firstChoice"] is False
    assert (
        "it went to busy (our 3rd, 68 points behind): other plugins of kube-scheduler outweighed us"
        in (told["sentence"])
    )


def test_a_node_that_varies_more_is_said_to() -> None:
    usage = {"mean": "40%", "deviation": "5%"}
    service = service_of()
    service.take(
        snapshot_of({"calm": {"usage": {"cpu": usage}}, "wild": {"usage": {"cpu": usage | {"deviation": "20%"}}}})
    )
    ask(service, "prioritize", "calm", "wild")
    assert "cpu varies by ± 20 there, by ± 5 on the winner" in explained(service)["toWin"]["words"]


def test_a_node_can_be_asked_about() -> None:
    service = frozen_service()
    ask(service, "filter", "idle", "near", "busy", "unmeasured")
    ask(service, "prioritize", "idle", "near", "unmeasured")
    assert explained(service, node="near")["toWin"]["node"] == "near"
    rejected = explained(service, node="busy")
    assert "busy was rejected: mean cpu usage 90 % > 65 %" in rejected["sentence"]
    assert rejected["toWin"] is None
    assert "not measured" in explained(service, node="unmeasured")["sentence"]
    with pytest.raises(LookupError, match="did not ask about elsewhere for shop/web-1; it did about idle, near"):
        explained(service, node="elsewhere")


def test_the_chosen_node_and_the_one_asked_about_are_in_a_short_table_too() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near", "busy", "unmeasured")
    bind(service, "busy")
    told = explained(service, node="near", nodes=1)
    assert [node["node"] for node in told["nodes"]] == ["idle", "near", "busy"]


def test_nodes_equal_on_the_wire_are_said_to_be() -> None:
    service = service_of(make_settings(make_profile(TargetLoadPacking())))
    service.take(snapshot_of({"a": cpu_mean(0), "b": cpu_mean(0), "c": cpu_mean(60)}))
    ask(service, "prioritize", "a", "b", "c")
    assert "a won with 68 (as good on the wire as 1 other)" in explained(service)["sentence"]
    ask(service, "prioritize", "a", "b")
    told = explained(service)
    assert told["sentence"].startswith("all 2 nodes were equal to us, with 68")
    assert told["toWin"] is None


def test_one_node_alone_is_said_to_be_the_only_one() -> None:
    service = frozen_service()
    ask(service, "prioritize", "near")
    assert explained(service)["sentence"].startswith("near was the only node asked about: predicted cpu 54 %")


def test_a_pod_that_opted_out_is_said_to_have() -> None:
    service = frozen_service()
    noted(service.hindsight.decisions, service, ("idle", "near"), make_pod(annotations={OPT_OUT_ANNOTATION: "true"}))
    assert explained(service, "default/web-1")["sentence"].startswith("the pod or its namespace opted out")


def test_a_pod_that_left_is_said_to_have_left() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    service.take([PodLeft("uid-web-1")])
    assert explained(service)["sentence"].endswith("the pod left before it was bound")


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (("busy", "idle"), "only one node passed the filter, so kube-scheduler asked no further"),
        (("busy", "idle", "near"), "2 of 3 nodes passed the filter, and we were not asked to rank them"),
    ],
)
def test_a_filter_alone_is_explained(nodes: tuple[str, ...], words: str) -> None:
    service = frozen_service()
    ask(service, "filter", *nodes)
    told = explained(service)
    assert told["sentence"].startswith(f"{words}; busy was rejected: mean cpu usage 90 % > 65 %")
    assert explained(service, node="busy")["rejected"] == {"busy": "mean cpu usage 90 % > 65 %"}
    with pytest.raises(LookupError, match="idle was not rejected"):
        explained(service, node="idle")


def test_relaxed_load_rules_are_told() -> None:
    service = frozen_service(make_settings(make_profile(TargetLoadPacking(), "default-scheduler", UsageThreshold())))
    service.take(snapshot_of({"a": cpu_mean(90), "b": cpu_mean(95)}))
    ask(service, "filter", "a", "b")
    ask(service, "prioritize", "a", "b")
    assert "load rules would have rejected every node" in explained(service)["sentence"]


def test_no_nodes_at_all_are_no_failure() -> None:
    service = frozen_service()
    ask(service, "prioritize")
    assert explained(service)["sentence"].startswith("no node was asked about")
    with pytest.raises(LookupError):
        explain(None, None)
