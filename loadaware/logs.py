"""Logs to standard error: lines for people, or JSON lines for machines.

A pod's name in a message follows the word `pod` (`... for pod %s`), and nothing else does. So it can be left out.
"""

import logging
import re
import sys
import traceback
from datetime import UTC, datetime

import msgspec

from loadaware.config import LogSection


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, and the exception if there is one."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        elif record.exc_text:
            line["exception"] = record.exc_text
        return msgspec.json.encode(line).decode()


_POD = re.compile(r"\bpod (%s(?:/%s)?)")
LEFT_OUT = "(name left out)"


def leave_out_pod_names(record: logging.LogRecord) -> bool:
    """Make a record name no pod. Of its exception only the kind and the place stay: its words may name one."""
    if isinstance(record.args, tuple) and isinstance(record.msg, str):
        message, args = record.msg, list(record.args)
        for match in reversed(list(_POD.finditer(message))):
            first = message.count("%", 0, match.start(1)) - 2 * message.count("%%", 0, match.start(1))
            del args[first : first + match[1].count("%s")]
            record.msg = record.msg[: match.start(1)] + LEFT_OUT + record.msg[match.end(1) :]
        record.args = tuple(args)
    if record.exc_info and record.exc_info[0] is not None:
        kind, _, trace = record.exc_info
        record.exc_info, record.exc_text = None, "".join([*traceback.format_tb(trace), kind.__name__])
    return True


def configure_logs(section: LogSection) -> None:
    """Send everything of the given level and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    if not section.pod_names:
        handler.addFilter(leave_out_pod_names)
    if section.format == "json":
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    logging.basicConfig(handlers=[handler], level=section.level.upper(), force=True)
    for chatty in ("urllib3", "kubernetes", "prometheus_api_client"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
