import threading

from loadaware.asked_aside import MOST_WAITING, AskedAside
from loadaware.decisions import Decisions
from loadaware.recorded import Asked, AskedBatch, Configured, Recorded
from tests.loadaware.decided import ask, learned_service, noted
from tests.parts.processes import PATIENCE_SECONDS

NODES = ("a", "b", "c")


class Sent:
    """Keeps what is sent; refuses while `away`."""

    def __init__(self) -> None:
        self.told: list[AskedBatch | Configured] = []
        self.away = False
        self.waiting = threading.Event()
        self.waiting.set()

    def __call__(self, told: AskedBatch | Configured) -> bool:
        self.waiting.wait(PATIENCE_SECONDS)
        if not self.away:
            self.told.append(told)
        return not self.away

    @property
    def asked(self) -> list[Asked]:
        return [asked for batch in self.told if isinstance(batch, AskedBatch) for asked in batch.asked]


def test_each_answer_carries_the_publication_that_was_in_force_when_it_was_made() -> None:
    service, sent = learned_service(), Sent()
    decisions = service.hindsight.decisions
    aside = AskedAside(decisions, sent)
    aside.start()
    ask(service, "prioritize", *NODES, pod="web-0")
    aside.heard(Recorded(10))
    ask(service, "prioritize", *NODES, pod="web-1")
    ask(service, "filter", *NODES, pod="web-2")
    aside.heard(Recorded(11))
    aside.heard(Recorded(12))
    ask(service, "prioritize", *NODES, pod="web-3")
    decisions.settle_all()
    aside.close()
    assert [(a.pod.name, a.heard) for a in sent.asked] == [("web-0", 0), ("web-1", 10), ("web-2", 10), ("web-3", 12)]
    assert sent.asked[0].node_names == NODES
    assert len(sent.asked[0].priorities) == 3
    assert sent.asked[2].verdicts == (None, None, None)


def test_the_whole_pod_is_told_before_it_is_reduced() -> None:
    service, sent = learned_service(), Sent()
    aside = AskedAside(service.hindsight.decisions, sent)
    aside.start()
    ask(service, "prioritize", *NODES)
    (decision,) = service.hindsight.decisions
    whole = decision.pod
    service.hindsight.decisions.settle_all()
    aside.close()
    assert sent.asked[0].pod == whole


def test_decisions_that_are_dropped_early_are_told_all_the_same() -> None:
    service, sent = learned_service(), Sent()
    decisions = Decisions(kept=2)
    aside = AskedAside(decisions, sent)
    aside.start()
    for _ in range(10):
        noted(decisions, service, NODES)
    decisions.settle_all()
    aside.close()
    assert [asked.number for asked in sent.asked] == list(range(1, 11))


def test_what_comes_faster_than_it_can_be_sent_is_dropped_and_counted() -> None:
    service, sent = learned_service(), Sent()
    sent.waiting.clear()
    decisions = Decisions(kept=1)
    aside = AskedAside(decisions, sent)
    many = 2 * MOST_WAITING
    for _ in range(many):
        noted(decisions, service, NODES)
        decisions.settle_all()
    aside.start()
    sent.waiting.set()
    decisions.settle_all()
    aside.close()
    lost = sum(batch.lost for batch in sent.told if isinstance(batch, AskedBatch))
    assert lost > 0
    assert len(sent.asked) + lost <= many


def test_decisions_that_were_lost_before_they_could_be_taken_are_counted() -> None:
    service, sent = learned_service(), Sent()
    decisions = Decisions(kept=1, memory_bytes=20_000)
    aside = AskedAside(decisions, sent)
    aside.start()
    for _ in range(20):
        noted(decisions, service, NODES)
    decisions.settle_all()
    aside.close()
    assert decisions.lost > 0
    lost = sum(batch.lost for batch in sent.told if isinstance(batch, AskedBatch))
    assert (lost, len(sent.asked)) == (decisions.lost, 20 - decisions.lost)


def test_a_configuration_is_told_with_the_publication_in_force() -> None:
    sent = Sent()
    aside = AskedAside(Decisions(), sent)
    aside.start()
    aside.heard(Recorded(7))
    aside.configured("{}", 5.0)
    aside.close()
    assert sent.told == [Configured(5.0, "{}", 7)]
