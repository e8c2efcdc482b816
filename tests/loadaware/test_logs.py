"""Lines for people, JSON lines for machines, and quiet libraries."""

import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from loadaware.config import LogSection
from loadaware.logs import configure_logs

logger = logging.getLogger("loadaware.test")
CHATTY = ("urllib3", "kubernetes", "prometheus_api_client")


@pytest.fixture(autouse=True)
def restored_logs() -> Iterator[None]:
    """Logging as it was before."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in CHATTY}
    yield
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def test_text_lines_have_time_level_and_message_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSection())
    logger.info("%d nodes", 3)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO    3 nodes\n", captured.err)


def test_each_json_line_is_one_object_even_if_the_message_has_many_lines(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSection(format="json"))
    logger.warning('two\nlines and a "quote" for %s', "node-ä")
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert told["level"] == "warning"
    assert told["logger"] == "loadaware.test"
    assert told["message"] == 'two\nlines and a "quote" for node-ä'
    assert abs((datetime.now(UTC) - datetime.fromisoformat(told["time"])).total_seconds()) < 60
    assert "exception" not in told


def test_an_exception_stays_inside_its_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSection(format="json"))
    try:
        raise KeyError("node-1")
    except KeyError:
        logger.exception("lost")
    (line,) = capsys.readouterr().err.splitlines()
    assert "KeyError: 'node-1'" in json.loads(line)["exception"]


def test_what_is_less_severe_than_the_level_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSection(level="error"))
    logger.warning("nobody hears this")
    logger.error("everybody hears this")
    printed = capsys.readouterr().err
    assert "nobody" not in printed
    assert "ERROR   everybody hears this" in printed


@pytest.mark.parametrize("library", CHATTY)
def test_libraries_that_chat_are_heard_only_when_they_warn(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSection(level="debug"))
    logging.getLogger(f"{library}.inside").info("chatter")
    logging.getLogger(f"{library}.inside").warning("trouble")
    printed = capsys.readouterr().err
    assert "chatter" not in printed
    assert "trouble" in printed


def test_configuring_twice_does_not_say_everything_twice(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSection())
    configure_logs(LogSection(format="json"))
    logger.info("once")
    assert len(capsys.readouterr().err.splitlines()) == 1
