"""Uploads: begin, send chunks, ask where to go on, finish, drop."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.requests import ClientDisconnect

from portal.api.deps import FilesDep, FilesUser
from portal.api.file_views import (
    FinishedOut,
    FinishIn,
    OffsetOut,
    UploadIn,
    UploadOut,
    UploadsOut,
    entry_out,
    upload_out,
)
from portal.api.files import folder_of
from portal.services.files import uploads
from portal.services.files.roots import Files
from portal.services.files.uploads import CHUNK_BYTES
from spawner.filedata import Upload

router = APIRouter(tags=["files"])


@router.post("/files/uploads", status_code=201)
async def begin_upload(body: UploadIn, user: FilesUser, files: FilesDep) -> UploadOut:
    """Begin an upload. That something of that name is there (409 `file-exists`, `replaceable` says
    whether `overwrite` would help) or that there is no room (507) is told before a byte is sent."""
    place = await files.place(user.username, body.root, body.path)
    begun = await uploads.begin(
        files, user.username, place, body.size_bytes, overwrite=body.overwrite
    )
    return upload_out(begun, body.root, CHUNK_BYTES)


@router.get("/files/uploads")
async def list_uploads(user: FilesUser, files: FilesDep) -> UploadsOut:
    """One's own uploads that aren't finished: any of them can be gone on with."""
    found = await uploads.every(files, user.username)
    return UploadsOut(items=[await _out(files, user.username, upload) for upload in found])


@router.get("/files/uploads/{upload_id}")
async def get_upload(upload_id: str, user: FilesUser, files: FilesDep) -> UploadOut:
    """Where to go on after a broken connection."""
    return await _out(files, user.username, await uploads.look(files, user.username, upload_id))


@router.put(
    "/files/uploads/{upload_id}",
    response_model=OffsetOut,
    openapi_extra={
        "requestBody": {
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            }
        }
    },
)
async def send_chunk(
    upload_id: str,
    request: Request,
    user: FilesUser,
    files: FilesDep,
    offset: Annotated[int, Query(ge=0, le=1 << 50)],
) -> OffsetOut | Response:
    """The next chunk, at most `chunk_bytes` long. If it isn't the next: 409 `wrong-offset` with the
    `offset` that is. Of a chunk that breaks off, what has come counts."""
    try:
        following = await uploads.receive(files, user.username, upload_id, offset, request.stream())
    except ClientDisconnect:
        return Response(status_code=400)  # to nobody
    return OffsetOut(offset=following)


@router.post("/files/uploads/{upload_id}/complete")
async def finish_upload(
    upload_id: str, body: FinishIn, user: FilesUser, files: FilesDep, response: Response
) -> FinishedOut:
    """Give the whole file its name, and say its checksum. 202 with `done` false while the checksum
    of a very large file is still read: ask again."""
    upload = await uploads.look(files, user.username, upload_id)
    found = await uploads.finish(files, user.username, upload_id, body.sha256)
    if found.entry is None:
        response.status_code = 202
    return FinishedOut(
        done=found.entry is not None,
        hashed_bytes=found.hashed_bytes,
        sha256=found.sha256,
        entry=entry_out(found.entry, folder_of(upload.path)) if found.entry else None,
    )


@router.delete("/files/uploads/{upload_id}", status_code=204)
async def drop_upload(upload_id: str, user: FilesUser, files: FilesDep) -> Response:
    """Give an upload up; what has come of it is deleted."""
    await uploads.drop(files, user.username, upload_id)
    return Response(status_code=204)


async def _out(files: Files, username: str, upload: Upload) -> UploadOut:
    for root in files.settings.file_roots:
        if await files.whole(username, root) == upload.root:
            return upload_out(upload, root.name, CHUNK_BYTES)
    return upload_out(upload, None, CHUNK_BYTES)
