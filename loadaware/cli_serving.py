"""The command that answers kube-scheduler: serve. Added to the others by `cli.py`."""

import contextlib
import signal
import sys
from typing import Any

import click

from loadaware.cli_options import check_source, cluster_options, config_option, load_config
from loadaware.cli_output import EXIT_FAILED, remark


@click.command()
@config_option
@cluster_options
@click.option("--port", type=click.IntRange(0, 65535),
              help="Overrides the configuration's; people are served there, too, without --people-port.")  # fmt: skip
@click.option("--people-port", type=click.IntRange(0, 65535), help="Overrides the configuration's.")
@click.option("--address", help="Overrides the configuration's.")
@click.option("--state", "state_file", type=click.Path(dir_okay=False), help="Serve this state, frozen: no cluster.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="Overrides the config's.")
@click.option("--log-format", type=click.Choice(["text", "json"]), help="Overrides the configuration's.")
def serve(  # noqa: PLR0917 - click passes options by name
    config_file: str | None,
    kubeconfig: str | None,
    context: str | None,
    port: int | None,
    people_port: int | None,
    address: str | None,
    state_file: str | None,
    log_level: str | None,
    log_format: str | None,
) -> None:
    """Answer kube-scheduler: the extender.

    Reads the cluster's nodes, pods and usage, and answers POST /filter and /prioritize on the configured port
    (8090). The live page, explanations and metrics are on another (8091), or with --port alone on that one. Stops
    cleanly on SIGTERM and Ctrl-C.
    """
    from loadaware.observer_process import Order
    from loadaware.serving import run_server

    config = load_config(config_file)
    config = _override(config, "server", port=port, address=address)
    config = _people_port(config, port, people_port)
    config = _override(config, "log", level=log_level, format=log_format)
    if state_file is None:
        check_source(config, config_file)
    order = None if state_file else Order(config, kubeconfig, context)
    _check_address(config.server.address, config.server.port)
    if config.people.port not in (None, config.server.port):
        _check_address(config.people.address or config.server.address, config.people.port)
    signal.signal(signal.SIGTERM, _stopped)
    with contextlib.suppress(KeyboardInterrupt):
        run_server(config, order, config_file, state_file)


def _people_port(config: Any, port: int | None, people_port: int | None) -> Any:
    """--port alone is one port for everything."""
    import msgspec

    if port is None and people_port is None:
        return config
    return msgspec.structs.replace(config, people=msgspec.structs.replace(config.people, port=people_port))


def _override(config: Any, section: str, **values: Any) -> Any:
    import msgspec

    given = {name: value for name, value in values.items() if value is not None}
    return msgspec.structs.replace(config, **{section: msgspec.structs.replace(getattr(config, section), **given)})


def _check_address(address: str, port: int) -> None:
    """End with one line if nobody could listen there; it is bound and let go again."""
    import socket

    try:
        places = socket.getaddrinfo(address or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in places:
            with socket.socket(family, kind, protocol) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(place)
    except (OSError, UnicodeError) as error:
        remark(f"cannot serve on {address}:{port}: {getattr(error, 'strerror', None) or error}")
        sys.exit(EXIT_FAILED)


def _stopped(*_: object) -> None:
    """uvicorn drains on SIGTERM, then raises it again: having stopped when asked is success."""
    sys.exit(0)
