"""The page's own files, from loadaware/page: what is there is served, and nothing else. They hold no data.

Read anew for each request, so that a change shows with the next reload: there is nothing to build.
"""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

FOLDER = Path(__file__).parents[1] / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
    "vary": "accept",
}


class PageFiles:
    """The handlers of / and of the files that it names."""

    def __init__(self, front_page: str) -> None:
        self._front_page = front_page
        self._files = {path.name: path for path in FOLDER.iterdir() if path.suffix in KINDS}

    async def index(self, request: Request) -> Response:
        """The page for a browser; for others, the list of what there is."""
        if "text/html" in request.headers.get("accept", ""):
            return self._file("index.html")
        return PlainTextResponse(self._front_page, headers={"vary": "accept"})

    async def file(self, request: Request) -> Response:
        """One of its files."""
        return self._file(request.path_params["file"])

    def _file(self, name: str) -> Response:
        path = self._files.get(name)
        if path is None:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(path.read_bytes(), headers=HEADERS, media_type=KINDS[path.suffix])
