"""Routes of uploads: begin, send chunks, query the offset, finish, cancel."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.requests import ClientDisconnect

from portal.api.file_schemas import (
    FinishedOut,
    FinishUploadIn,
    OffsetOut,
    UploadIn,
    UploadOut,
    UploadsOut,
    entry_out,
    upload_out,
)
from portal.api.files import folder_of
from portal.services.files import uploads
from portal.services.files.uploads import CHUNK_BYTES
from portal.web.dependencies import ContextDep, FilesUser
from spawner.launcher.file_answers import UploadInfo

router = APIRouter(tags=["files"])


@router.post("/files/uploads", status_code=201)
async def begin_upload(body: UploadIn, user: FilesUser, context: ContextDep) -> UploadOut:
    """Begin an upload.

    An existing file of that name (409 `file-exists`; `replaceable` is whether `overwrite` would
    help) or missing space (507) is reported before a byte is sent.
    """
    location = await context.files.resolve(user.username, body.root, body.path)
    begun = await uploads.start_upload(
        context.files, user.username, location, body.size_bytes, overwrite=body.overwrite
    )
    return upload_out(begun, body.root, CHUNK_BYTES)


@router.get("/files/uploads")
async def list_uploads(user: FilesUser, context: ContextDep) -> UploadsOut:
    """Return the caller's unfinished uploads: each of them can be resumed."""
    uploads_of_user = await uploads.list_uploads(context.files, user.username)
    return UploadsOut(
        items=[await _to_out(context, user.username, upload) for upload in uploads_of_user]
    )


@router.get("/files/uploads/{upload_id}")
async def get_upload(upload_id: str, user: FilesUser, context: ContextDep) -> UploadOut:
    """Return an upload with the offset at which to resume."""
    return await _to_out(
        context,
        user.username,
        await uploads.load_upload(context.files, user.username, upload_id),
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
    context: ContextDep,
    offset: Annotated[int, Query(ge=0, le=1 << 50)],
) -> OffsetOut | Response:
    """Receive the next chunk, at most `chunk_bytes` long.

    A chunk at another offset gets 409 `wrong-offset` with the expected `offset`. The received part
    of an interrupted chunk counts.
    """
    try:
        next_offset = await uploads.receive(
            context.files, user.username, upload_id, offset, request.stream()
        )
    except ClientDisconnect:
        return Response(status_code=400)
    return OffsetOut(offset=next_offset)


@router.post("/files/uploads/{upload_id}/complete")
async def finish_upload(
    upload_id: str, body: FinishUploadIn, user: FilesUser, context: ContextDep, response: Response
) -> FinishedOut:
    """Give the complete file its name, and return its checksum.

    202 with `done` false while the checksum of a very large file is still being computed: repeat
    the request.
    """
    upload = await uploads.load_upload(context.files, user.username, upload_id)
    finished = await uploads.finish(context.files, user.username, upload_id, body.sha256)
    if finished.entry is None:
        response.status_code = 202
    return FinishedOut(
        done=finished.entry is not None,
        hashed_bytes=finished.hashed_bytes,
        sha256=finished.sha256,
        entry=entry_out(finished.entry, folder_of(upload.path)) if finished.entry else None,
    )


@router.delete("/files/uploads/{upload_id}", status_code=204)
async def drop_upload(upload_id: str, user: FilesUser, context: ContextDep) -> Response:
    """Cancel an upload; its received data are deleted."""
    await uploads.drop(context.files, user.username, upload_id)
    return Response(status_code=204)


async def _to_out(context: ContextDep, username: str, upload: UploadInfo) -> UploadOut:
    for root in context.settings.file_roots:
        if await context.files.root_path_of(username, root) == upload.root:
            return upload_out(upload, root.name, CHUNK_BYTES)
    return upload_out(upload, None, CHUNK_BYTES)
