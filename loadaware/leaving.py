"""Going away without a failed call. After SIGTERM, for a while:

    unready                     whoever balances sends new connections elsewhere, as soon as it looks
    new connections are taken   from whoever has not looked yet
    Connection: close           in every answer, so that a client leaves by itself and not while it asks

Only then is the port closed. (Closing an idle connection at once would race with a request that is on its way, and a
POST on a kept connection is not tried again by Go's client.) If nobody is connected there is nobody to wait for, and
after Ctrl-C somebody waits for us.
"""

import asyncio
from collections.abc import Callable

from uvicorn.server import ServerState

LOOK_SECONDS = 0.1


async def leave(state: ServerState, seconds: float, hurry: Callable[[], bool]) -> None:
    """Ask every client to leave, for so long, or until told to hurry."""
    if not state.connections:
        return
    state.default_headers = [*state.default_headers, (b"connection", b"close")]
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end and not hurry():
        await asyncio.sleep(LOOK_SECONDS)
