"""Logs to standard error: lines for people, or JSON lines for machines."""

import logging
import sys
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
        return msgspec.json.encode(line).decode()


def configure_logs(section: LogSection) -> None:
    """Send everything of the given level and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    if section.format == "json":
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    logging.basicConfig(handlers=[handler], level=section.level.upper(), force=True)
    for chatty in ("urllib3", "kubernetes", "prometheus_api_client"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
