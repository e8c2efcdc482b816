"""The child of isolation: `python -m loadaware.isolated DESCRIPTOR`, with one plugin in it. Not for people."""

import pickle
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from loadaware.isolation import READY


def main(descriptor: int) -> None:
    """Receive the plugin, then answer calls until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(descriptor)
    try:
        plugin = pickle.loads(connection.recv_bytes())  # noqa: S301 - from our own parent
        connection.send_bytes(pickle.dumps(READY))
        while True:
            method, arguments = pickle.loads(connection.recv_bytes())  # noqa: S301 - from our own parent
            connection.send_bytes(pickle.dumps(_answer(plugin, method, arguments), protocol=5))
    except (EOFError, OSError):
        return


def _answer(plugin: Any, method: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        if method == "normalized_score":
            return True, plugin.normalize(plugin.score(*arguments))
        return True, getattr(plugin, method)(*arguments)
    except Exception as error:  # noqa: BLE001 - others' code may fail in any way; the caller is told
        return False, f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(int(sys.argv[1]))
