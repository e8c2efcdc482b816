"""Lines for people, JSON lines for machines, and quiet libraries."""

import ast
import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import loadaware
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


# -- Without the names of pods ------------------------------------------------------------------------------------


POD = "shop/web-1"


def fail_for(pod: str) -> None:
    raise ValueError(f"{pod} is too large")


@pytest.mark.parametrize("section", [LogSection(pod_names=False), LogSection(pod_names=False, format="json")])
def test_names_of_pods_can_be_left_out(capsys: pytest.CaptureFixture[str], section: LogSection) -> None:
    configure_logs(section)
    logger.warning("100 %% sure: %s failed for pod %s: %d nodes", "filter", "shop/web-1", 3)
    logger.warning("bind failed for pod %s/%s", "shop", "web-1")
    logger.warning("%d pods of %s", 7, "node-1")
    logger.warning("no arguments, and the pod stays a word")
    try:
        fail_for(POD)
    except ValueError:
        logger.exception("preempt failed for pod %s", "shop/web-1")
    text = capsys.readouterr().err
    assert "web-1" not in text
    assert "100 % sure: filter failed for pod (name left out): 3 nodes" in text
    assert "bind failed for pod (name left out)" in text
    assert "7 pods of node-1" in text
    assert "in fail_for" in text
    assert "ValueError" in text


def test_they_are_there_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSection())
    logger.warning("bind failed for pod %s/%s", "shop", "web-1")
    assert "shop/web-1" in capsys.readouterr().err


def messages() -> Iterator[tuple[str, str]]:
    """Each message that the source logs with something of a pod's, and where."""
    for path in sorted(Path(loadaware.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text())
        constants = {
            node.targets[0].id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }  # fmt: skip
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and ast.unparse(call.func).startswith("logger.") and call.args):
                continue
            told = " ".join(ast.unparse(each) for each in call.args[1:])
            if re.search(r"pod\.key|pod\.name|pod_name|\bidentity\b", told):
                first = call.args[0]
                name = first.id if isinstance(first, ast.Name) else ""
                yield str(first.value if isinstance(first, ast.Constant) else constants.get(name, "")), path.name


def test_every_message_of_ours_that_names_a_pod_can_do_without() -> None:
    found = list(messages())
    assert len(found) >= 4
    assert not [(message, file) for message, file in found if "pod %s" not in message]
