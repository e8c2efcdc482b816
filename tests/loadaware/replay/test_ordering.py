from pathlib import Path

from collectors.cluster import NodeSeen, PodSeen
from collectors.history import Answer, HistoryReader, HistoryWriter, Mark, Record, Request
from loadaware.recorded import Asked, pack_detail
from loadaware.recorder import request_of
from loadaware.replay.ordering import AskedRecord, Ordering
from tests.loadaware.recorded_runs import START, node, pod


def asked(number: int, heard: int) -> Asked:
    return Asked(number, START, "prioritize", "p", pod(f"web-{number}"), ("a", "b"), (1, 0), heard=heard)


def written(folder: Path, *contents: object) -> list[str]:
    """The order in which these come out: names of marks, and pods asked about."""
    with HistoryWriter(folder) as writer:
        for content in contents:
            if isinstance(content, Asked):
                number = writer.write(request_of(content), time=START)
                writer.write(Answer(number, priorities=content.priorities), time=START)
            else:
                writer.write(content, time=START)  # type: ignore[arg-type]
    return [_name(item) for item in Ordering(HistoryReader(folder))]


def _name(item: Record | AskedRecord) -> str:
    if isinstance(item, AskedRecord):
        return item.request.pod.name
    return getattr(item.content, "name", type(item.content).__name__)


def test_an_answer_written_late_is_put_behind_what_it_was_made_from(tmp_path: Path) -> None:
    marks = [Mark(f"m{number}") for number in range(1, 6)]
    order = written(tmp_path, *marks, asked(1, heard=2), asked(2, heard=2), asked(3, heard=4))
    assert order == ["m1", "m2", "web-1", "web-2", "m3", "m4", "web-3", "m5"]


def test_answers_written_before_their_turn_come_in_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    order = written(tmp_path, Mark("m1"), Mark("m2"), asked(3, 2), asked(1, 1), asked(2, 2))
    assert order == ["m1", "web-1", "m2", "web-2", "web-3"]


def test_what_is_no_decision_comes_behind_the_decision_of_its_number_whichever_was_written_first(
    tmp_path: Path,
) -> None:
    binding = Asked(1, START, "bind", "", pod("bound"), ("a",), verdicts=(None,), heard=1)
    assert written(tmp_path / "1", Mark("m1"), binding, asked(1, 1), asked(2, 1)) == ["m1", "web-1", "bound", "web-2"]
    assert written(tmp_path / "2", Mark("m1"), asked(2, 1), asked(1, 1), binding) == ["m1", "web-1", "bound", "web-2"]


def test_more_answers_than_are_read_ahead_keep_their_places(tmp_path: Path) -> None:
    marks = [Mark(f"m{number}") for number in range(1, 4)]
    order = written(tmp_path, *marks, *(asked(n, heard=1 + n // 100) for n in range(200)))
    assert order == ["m1", *(f"web-{n}" for n in range(100)), "m2", *(f"web-{n}" for n in range(100, 200)), "m3"]


def test_a_request_without_a_number_is_taken_where_it_stands(tmp_path: Path) -> None:
    bare = Request("prioritize", "p", pod("bare"), ("a",))
    assert written(tmp_path, Mark("m1"), bare, Mark("m2")) == ["m1", "bare", "m2"]


def test_a_request_comes_with_its_answer_and_the_node_that_its_pod_went_to(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path) as writer:
        writer.write(NodeSeen(node("a")), time=START)
        number = writer.write(request_of(asked(1, heard=1)), time=START)
        writer.write(Answer(number, priorities=(1, 0)), time=START)
        writer.write(PodSeen(pod("web-1", "b")), time=START + 2.0)
    (found,) = [item for item in Ordering(HistoryReader(tmp_path)) if isinstance(item, AskedRecord)]
    assert found.answer is not None
    assert (found.answer.priorities, found.bound_to) == ((1, 0), "b")


def test_an_answer_that_was_lost_leaves_its_request(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path) as writer:
        for number in (1, 2):
            writer.write(Request("prioritize", "p", pod("x"), ("a",), pack_detail(asked(number, 0))), time=START)
        writer.write(Mark("m"), time=START)
    found = [item.answer for item in Ordering(HistoryReader(tmp_path)) if isinstance(item, AskedRecord)]
    assert found == [None, None]
