"""Route of the portal's own pages: the built frontend.

Every path that is neither API nor file gets index.html, because the application has routes of its
own. Files are listed once, at startup: no path of a request ever reaches the file system.
"""

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response

from portal.errors import MethodNotAllowed, NotFound
from portal.web.dependencies import Anyone
from portal.web.methods import allowed_methods, is_page

IMMUTABLE = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


def find_files(folder: Path | None) -> dict[str, Path]:
    """Return the frontend's files by their path in a URL."""
    if folder is None:
        return {}
    return {
        file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()
    }


@router.get("/{path:path}", dependencies=[Anyone])
@router.head("/{path:path}", dependencies=[Anyone])
async def page(path: str, request: Request) -> Response:
    """Return a file of the frontend, or the application itself."""
    if not is_page(path):
        methods = allowed_methods(request.app, request.url.path)
        if methods:
            raise MethodNotAllowed(headers={"Allow": ", ".join(methods)})
        raise NotFound
    files: dict[str, Path] = request.app.state.pages
    file = files.get(path)
    if file is not None and path != "index.html":
        fixed = path.startswith("assets/")  # their names contain a hash of the content
        return FileResponse(file, headers={"Cache-Control": IMMUTABLE if fixed else "no-cache"})
    if path.startswith("assets/"):
        raise NotFound
    index = files.get("index.html")
    if index is None:
        return PlainTextResponse("The portal runs; its pages are not installed.", status_code=404)
    return FileResponse(index, headers={"Cache-Control": "no-cache"})
