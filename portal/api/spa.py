"""The portal's own pages: the built frontend.

Every path that is no API and no file gets index.html, for the application in it has routes of its
own. Files are listed once, at the start: no path of a request ever touches the disk.
"""

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response

from portal.api.deps import Anyone
from portal.errors import NotFound

IMMUTABLE = "public, max-age=31536000, immutable"
# Paths of others: a page that answered here would look like an API that works.
NOT_PAGES = ("api/", "internal/", "node/", "hub/", "user/", "tensorboard/", "content/")

router = APIRouter(include_in_schema=False)


def find_files(folder: Path | None) -> dict[str, Path]:
    """The frontend's files by their path in a URL."""
    if folder is None:
        return {}
    return {
        file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()
    }


@router.get("/{path:path}", dependencies=[Anyone])
@router.head("/{path:path}", dependencies=[Anyone])
async def page(path: str, request: Request) -> Response:
    """A file of the frontend, or the application itself."""
    if f"{path}/".startswith(NOT_PAGES):
        raise NotFound
    files: dict[str, Path] = request.app.state.pages
    file = files.get(path)
    if file is not None and path != "index.html":
        fixed = path.startswith("assets/")  # their names hold a hash of what is in them
        return FileResponse(file, headers={"Cache-Control": IMMUTABLE if fixed else "no-cache"})
    if path.startswith("assets/"):
        raise NotFound
    index = files.get("index.html")
    if index is None:
        return PlainTextResponse("The portal runs; its pages are not installed.", status_code=404)
    return FileResponse(index, headers={"Cache-Control": "no-cache"})
