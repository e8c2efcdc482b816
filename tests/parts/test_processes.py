"""The promises of processes.py, kept with the Python that runs the tests as the program."""

import signal
import socket
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest

from tests.parts.processes import NotYetError, Process, WaitError, free_port, ports_of, wait_for

FOREVER = "import sys, time; print('up', flush=True); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOREVER}"


def python(program: str, logs: Path, stop_seconds: float = 10.0) -> Process:
    return Process("program", [sys.executable, "-c", program], logs, stop_seconds=stop_seconds)


def is_up(process: Process) -> bool:
    return "up" in process.log_tail()


def test_a_process_runs_inside_its_block_and_is_gone_after_it(tmp_path: Path) -> None:
    with python(FOREVER, tmp_path) as process:
        assert process.running
    assert not process.running


def test_what_a_process_writes_stays_in_its_log(tmp_path: Path) -> None:
    with python("print('hello')", tmp_path) as process:
        wait_for(lambda: not process.running, "the end")
    assert process.log.read_text() == "hello\n"


def test_a_second_process_of_the_same_name_gets_its_own_log(tmp_path: Path) -> None:
    first, second = python("print(1)", tmp_path), python("print(2)", tmp_path)
    assert [first.log.name, second.log.name] == ["program.log", "program-2.log"]


def test_a_process_deaf_to_sigterm_is_killed_after_its_deadline(tmp_path: Path) -> None:
    process = python(DEAF, tmp_path, stop_seconds=0.2).start()
    wait_for(lambda: is_up(process), "the program", process)
    assert process.stop() == -signal.SIGKILL


def test_stopping_twice_does_no_harm(tmp_path: Path) -> None:
    process = python(FOREVER, tmp_path).start()
    process.stop()
    assert process.stop() is None


def test_free_ports_are_never_given_twice() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50


def test_a_port_that_is_taken_is_not_given() -> None:
    with socket.socket() as taken:
        port = free_port() + 1
        with suppress(OSError):  # somebody else has it: as good
            taken.bind(("127.0.0.1", port))
        assert free_port() != port


def test_no_two_workers_share_a_port_and_the_kernel_gives_none_of_them_away() -> None:
    workers = [set(islice(ports_of(f"gw{number}"), 5_000)) for number in range(5)]
    together = set().union(*workers)
    assert [len(ports) for ports in workers] == [4_000] * 5
    assert len(together) == 5 * 4_000
    assert max(together) < 32_768
    assert set(islice(ports_of(""), 5_000)) == workers[0]


def test_waiting_gives_what_the_condition_gave() -> None:
    answers = iter([None, "", "ready"])
    assert wait_for(lambda: next(answers), "an answer") == "ready"


def test_waiting_in_vain_tells_what_was_seen_last() -> None:
    def unready() -> bool:
        raise NotYetError("two of three replicas")

    with pytest.raises(WaitError, match=r"waited 0 s in vain for replicas\nlast seen: two of three replicas"):
        wait_for(unready, "replicas", deadline_seconds=0)


def test_a_refused_connection_counts_as_not_yet() -> None:
    answers = iter([ConnectionRefusedError("nobody listens"), None])

    def connect() -> bool:
        error = next(answers)
        if error is not None:
            raise error
        return True

    assert wait_for(connect, "a listener")


def test_a_mistake_in_the_condition_is_not_waited_out() -> None:
    with pytest.raises(ZeroDivisionError):
        wait_for(lambda: 1 // 0, "never")


def test_waiting_for_a_process_that_died_ends_at_once_with_its_last_words(tmp_path: Path) -> None:
    with (
        python("import sys; sys.exit('no such flag')", tmp_path) as process,
        pytest.raises(WaitError, match=r"program exited with 1\n(.|\n)*no such flag"),
    ):
        wait_for(lambda: False, "the impossible", process)
