"""Routes of container images that administrators import from registries into files."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from portal.models import ImageImport, ImportState, Wanted
from portal.services.catalog import image_imports
from portal.services.paging import cursor as cursor_of
from portal.web.dependencies import ClientIp, ContextDep, Reader, RecentPasswordAdmin
from portal.web.pages import Page

router = APIRouter(prefix="/admin/catalog/images", tags=["admin"])


class ImportImageIn(BaseModel):
    """An image to import: `docker://host/name:tag` into a file of the import folder."""

    model_config = ConfigDict(extra="forbid")

    reference: Annotated[str, Field(min_length=1, max_length=1000)]
    file: Annotated[str, Field(min_length=1, max_length=200)]
    replace: StrictBool = False


class ImportOut(BaseModel):
    """An image import.

    `stopping`: it runs, and its end was requested. `percent` is of the phase, null if unknown;
    `bytes_done` is the number of bytes fetched, and the total is known once all have arrived.
    `size_bytes` and `sha256` are of the file.
    """

    id: str
    reference: str
    file: str
    replace: bool
    state: ImportState
    stopping: bool
    phase: str | None
    percent: int | None
    bytes_done: int | None
    bytes_total: int | None
    reason: str | None
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    size_bytes: int | None
    sha256: str | None


class ImageOut(BaseModel):
    """An imported file; `environments` run from it.

    The reference and the import's fields are null for a file that the portal did not import.
    """

    file: str
    size_bytes: int
    modified_at: datetime
    environments: list[str]
    reference: str | None
    imported_at: datetime | None
    imported_by: str | None
    sha256: str | None


class Images(BaseModel):
    """All images by name. If importing is off, `off` is the reason and the remedy."""

    items: list[ImageOut]
    off: str | None


@router.get("")
async def list_images(_reader: Reader, context: ContextDep) -> Images:
    """Return the images in the import folder."""
    if context.settings.image_import_dir is None:
        return Images(items=[], off=image_imports.IMPORT_DISABLED)
    return Images(
        items=[_image_out(image) for image in await image_imports.list_images(context)], off=None
    )


@router.post("", status_code=202)
async def import_image(
    body: ImportImageIn, admin: RecentPasswordAdmin, context: ContextDep, ip: ClientIp
) -> ImportOut:
    """Import an image in the background; `GET imports` reports the progress."""
    row = await image_imports.create(
        context, admin, reference=body.reference, file=body.file, replace=body.replace, ip=ip
    )
    return import_out(row)


@router.get("/imports")
async def list_imports(
    _reader: Reader, context: ContextDep, cursor: str | None = None
) -> Page[ImportOut]:
    """Return queued, running and ended imports, newest first."""
    rows = await image_imports.list_imports(context, cursor)
    shown = rows[: image_imports.PAGE]
    last = shown[-1] if len(rows) > len(shown) else None
    return Page[ImportOut](
        items=[import_out(row) for row in shown],
        next_cursor=cursor_of(last.created_at, last.id) if last else None,
    )


@router.post("/imports/{import_id}/cancel", status_code=202)
async def cancel_import(
    import_id: str, admin: RecentPasswordAdmin, context: ContextDep, ip: ClientIp
) -> ImportOut:
    """Stop an import; nothing of it is kept."""
    return import_out(await image_imports.cancel(context, admin, import_id, ip=ip))


@router.delete("/{file}", status_code=204)
async def delete_image(
    file: str, admin: RecentPasswordAdmin, context: ContextDep, ip: ClientIp
) -> None:
    """Delete an imported image, unless a session or job runs from it."""
    await image_imports.delete(context, admin, file, ip=ip)


def import_out(row: ImageImport) -> ImportOut:
    return ImportOut(
        id=row.id,
        reference=row.reference,
        file=row.file,
        replace=row.replace,
        state=row.state,
        stopping=row.state is ImportState.RUNNING and row.wanted is Wanted.STOP,
        phase=row.phase,
        percent=row.percent,
        bytes_done=row.bytes_done,
        bytes_total=row.bytes_total,
        reason=row.reason,
        requested_by=row.requested_by,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        size_bytes=row.size_bytes,
        sha256=row.sha256,
    )


def _image_out(image: image_imports.Image) -> ImageOut:
    source = image.source
    return ImageOut(
        file=image.file,
        size_bytes=image.size_bytes,
        modified_at=image.modified_at,
        environments=image.environments,
        reference=source.reference if source else None,
        imported_at=source.ended_at if source else None,
        imported_by=source.requested_by if source else None,
        sha256=source.sha256 if source else None,
    )
