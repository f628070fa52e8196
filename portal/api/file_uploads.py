"""Routes of uploads: begin, send chunks, query the offset, finish, cancel."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.requests import ClientDisconnect

from portal.api.file_schemas import (
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
from portal.services.files.roots import FileAccess
from portal.services.files.uploads import CHUNK_BYTES
from portal.web.dependencies import FilesDep, FilesUser
from spawner.launcher.file_answers import UploadInfo

router = APIRouter(tags=["files"])


@router.post("/files/uploads", status_code=201)
async def begin_upload(body: UploadIn, user: FilesUser, files: FilesDep) -> UploadOut:
    """Begin an upload.

    An existing file of that name (409 `file-exists`; `replaceable` is whether `overwrite` would
    help) or missing space (507) is reported before a byte is sent.
    """
    place = await files.place(user.username, body.root, body.path)
    begun = await uploads.start_upload(
        files, user.username, place, body.size_bytes, overwrite=body.overwrite
    )
    return upload_out(begun, body.root, CHUNK_BYTES)


@router.get("/files/uploads")
async def list_uploads(user: FilesUser, files: FilesDep) -> UploadsOut:
    """Return the caller's unfinished uploads: each of them can be resumed."""
    found = await uploads.every(files, user.username)
    return UploadsOut(items=[await _to_out(files, user.username, upload) for upload in found])


@router.get("/files/uploads/{upload_id}")
async def get_upload(upload_id: str, user: FilesUser, files: FilesDep) -> UploadOut:
    """Return an upload with the offset at which to resume."""
    return await _to_out(
        files, user.username, await uploads.load_upload(files, user.username, upload_id)
    )


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
    """Receive the next chunk, at most `chunk_bytes` long.

    A chunk at another offset gets 409 `wrong-offset` with the expected `offset`. The received part
    of an interrupted chunk counts.
    """
    try:
        following = await uploads.receive(files, user.username, upload_id, offset, request.stream())
    except ClientDisconnect:
        return Response(status_code=400)  # the client has disconnected
    return OffsetOut(offset=following)


@router.post("/files/uploads/{upload_id}/complete")
async def finish_upload(
    upload_id: str, body: FinishIn, user: FilesUser, files: FilesDep, response: Response
) -> FinishedOut:
    """Give the complete file its name, and return its checksum.

    202 with `done` false while the checksum of a very large file is still being computed: repeat
    the request.
    """
    upload = await uploads.load_upload(files, user.username, upload_id)
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
    """Cancel an upload; its received data are deleted."""
    await uploads.drop(files, user.username, upload_id)
    return Response(status_code=204)


async def _to_out(files: FileAccess, username: str, upload: UploadInfo) -> UploadOut:
    for root in files.settings.file_roots:
        if await files.whole(username, root) == upload.root:
            return upload_out(upload, root.name, CHUNK_BYTES)
    return upload_out(upload, None, CHUNK_BYTES)
