from collectors.cluster import NodeGone
from loadaware.simulation.watch import Watch


def test_news_come_out_when_due_in_order_of_time_then_of_telling() -> None:
    watch = Watch()
    watch.tell(20.0, [NodeGone("late")])
    watch.tell(10.0, [NodeGone("first"), NodeGone("second")])
    watch.tell(10.0, [NodeGone("third")])
    assert list(watch.until(9.9)) == []
    assert list(watch.until(10.0)) == [NodeGone("first"), NodeGone("second"), NodeGone("third")]
    assert list(watch.until(10.0)) == []
    assert list(watch.until(99.0)) == [NodeGone("late")]
