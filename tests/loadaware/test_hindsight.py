import asyncio
import json
import logging
from pathlib import Path

import pytest

from loadaware.announcements import Announcements
from loadaware.errors import UnknownProfileError
from loadaware.extender.answers import Answers
from loadaware.hindsight_settings import HindsightSettings
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.service import Service
from loadaware.shadow import KUBE_SCHEDULER
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.builders import Clock, make_pod, make_profile, make_settings
from tests.loadaware.decided import ask, bind, explained
from tests.loadaware.running_server import arguments, counted, frozen_service


@pytest.fixture
def quiet() -> Service:
    """A service in shadow mode."""
    service = frozen_service()
    service.hindsight.configure(HindsightSettings(mode="shadow"))
    return service


def test_in_shadow_mode_all_nodes_are_equal_and_all_pass(quiet: Service) -> None:
    answers = Answers(quiet, 2**20)
    ranked = json.loads(answers.answer("prioritize", arguments("idle", "near", "busy"), None).content)
    assert ranked == [{"Host": name, "Score": 0} for name in ("idle", "near", "busy")]
    passed = json.loads(answers.answer("filter", arguments("idle", "near", "busy"), None).content)
    assert (passed["NodeNames"], passed["FailedNodes"]) == (["idle", "near", "busy"], {})
    assert counted(quiet, "loadaware_requests_total", verb="prioritize", profile="default-scheduler") == 1.0


def test_in_shadow_mode_readiness_says_so(quiet: Service) -> None:
    assert quiet.readiness()[1]["mode"] == "shadow"
    assert frozen_service().readiness()[1]["mode"] == "active"


def test_in_shadow_mode_nothing_is_booked_and_an_unknown_profile_is_still_refused(quiet: Service) -> None:
    before = quiet.adviser.in_flight.requested.tolist()
    ask(quiet, "prioritize", "idle", "near")
    ask(quiet, "filter", "idle")
    quiet.hindsight.shadow._aside.finish()
    assert quiet.adviser.in_flight.requested.tolist() == before
    assert Answers(quiet, 2**20).answer("prioritize", arguments("idle"), "nobody").status == 404
    with pytest.raises(UnknownProfileError):
        quiet.adviser.profile_for(make_pod(), "nobody")


def test_in_shadow_mode_decisions_are_kept_and_said_to_be_told_to_nobody(quiet: Service) -> None:
    ask(quiet, "filter", "idle", "near", "busy")
    ask(quiet, "prioritize", "idle", "near", "busy")
    assert len(quiet.hindsight.decisions) == 0
    quiet.hindsight.shadow._aside.finish()
    bind(quiet, "busy")
    told = explained(quiet)
    assert told["answered"] is False
    assert told["sentence"] == (
        "idle would have won with 68: predicted cpu 19 % after this pod (TargetLoadPacking 68); "
        "near would have gone to 54 %, with 31; busy was rejected: mean cpu usage 90 % > 65 %; "
        "shadow mode: kube-scheduler was told nothing of this; it went to busy (our 3rd, 68 points behind)"
    )


def test_in_shadow_mode_each_profile_is_compared_with_kube_scheduler(quiet: Service) -> None:
    ask(quiet, "prioritize", "idle", "near")
    quiet.hindsight.shadow._aside.finish()
    bind(quiet, "near")
    assert list(quiet.hindsight.shadow.comparisons) == [("default-scheduler", KUBE_SCHEDULER)]


def test_thinking_that_fails_harms_nobody(quiet: Service, caplog: pytest.LogCaptureFixture) -> None:
    ask(quiet, "prioritize", "idle", "near")
    quiet.adviser.configure(make_settings(make_profile(LowestUsage(), "another")))
    quiet.adviser.rank = None  # type: ignore[method-assign, assignment]
    quiet.hindsight.shadow._aside.finish()
    assert "put aside failed" in caplog.text
    assert len(quiet.hindsight.decisions) == 0


def test_a_change_of_mode_is_logged_and_comparisons_begin_anew(
    quiet: Service, caplog: pytest.LogCaptureFixture
) -> None:
    ask(quiet, "prioritize", "idle", "near")
    quiet.hindsight.shadow._aside.finish()
    bind(quiet, "near")
    with caplog.at_level(logging.WARNING):
        quiet.hindsight.configure(HindsightSettings())
    assert "answers count again" in caplog.text
    assert quiet.hindsight.shadow.comparisons == {}
    assert len(quiet.hindsight.decisions) == 1
    assert json.loads(Answers(quiet, 2**20).answer("prioritize", arguments("idle"), None).content)[0]["Score"] > 0


def test_switched_off_nothing_is_kept() -> None:
    service = frozen_service()
    service.hindsight.configure(HindsightSettings(kept=0))
    ask(service, "prioritize", "idle", "near")
    bind(service, "near")
    assert len(service.hindsight.decisions) == 0


def test_the_explanation_is_an_event_on_the_pod_if_that_is_wished(tmp_path: Path) -> None:
    events = "/api/v1/namespaces/shop/events"
    with FakeApiServer() as server, server.api(tmp_path) as api:
        server.answer(events, {}, 201)
        service = frozen_service()
        service.hindsight._announcements = Announcements(api, Clock())
        service.hindsight.configure(HindsightSettings(events=True))

        async def two_pods() -> None:
            for pod in ("web-1", "web-2"):
                ask(service, "prioritize", "idle", "near", pod=pod)
                bind(service, "idle", pod)
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

        asyncio.run(two_pods())
        (written,) = [json.loads(asked.body) for asked in server.asked(events)]
    assert (written["type"], written["reason"], written["involvedObject"]["name"]) == ("Normal", "Placed", "web-1")
    assert written["message"].startswith("idle won with 68: predicted cpu 19 %")


def test_what_is_left_out_of_file_and_shadows_is_counted(tmp_path: Path) -> None:
    spread = make_profile(LowestUsage(), "spread")
    service = frozen_service(make_settings(make_profile(LowestUsage()), shadows={"spread": spread}))
    file = tmp_path / "decisions.jsonl"
    service.hindsight.configure(HindsightSettings(kept=1, memory_bytes=20_000, file=str(file)))
    for number in range(20):
        ask(service, "prioritize", "idle", "near", pod=f"web-{number}")
    lost = service.hindsight.decisions.lost
    assert 0 < lost < 20
    service.hindsight.close()
    service.update_gauges()
    assert len(file.read_text().splitlines()) == 20 - lost
    assert counted(service, "loadaware_decisions_unwritten_total") == lost
    assert counted(service, "loadaware_shadow_dropped_total") == 19
    service.update_gauges()
    assert counted(service, "loadaware_decisions_unwritten_total") == lost
