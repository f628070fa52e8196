"""Mapping of launchers' errors about files to errors of the API. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from portal import errors
from portal.errors import FieldError, PortalError
from portal.errors import files as file_errors
from spawner.errors import (
    BadRequest,
    FileProblem,
    HomeUnavailable,
    LauncherUnavailable,
    NoFilesProgram,
    PathRefused,
    SpawnerError,
)

KINDS: Mapping[str, type[PortalError]] = {
    "not-there": file_errors.FileNotThere,
    "denied": file_errors.FileDenied,
    "exists": file_errors.FileExists,
    "changed": file_errors.FileChanged,
    "busy": file_errors.FileBusy,
    "link": file_errors.FileLink,
    "no-trash": file_errors.NoTrash,
    "other-filesystem": file_errors.OtherFilesystem,
    "offset": file_errors.WrongOffset,
    "checksum": file_errors.ChecksumDiffers,
    "no-file": file_errors.NotAFile,
    "no-folder": file_errors.NotAFolder,
    "bad-name": file_errors.BadName,
    "too-much": errors.TooLarge,
    "too-many": file_errors.TooManyStreams,
    "no-answer": file_errors.FilesAway,
    "no-space": file_errors.NoSpace,
    "quota": file_errors.QuotaExceeded,
}
LATEST_S = 1e11
FILES_UNAVAILABLE = (
    "The file system with your files doesn't answer. Try again in "
    "a minute. If the problem persists, contact your administrators."
)


def to_file_error(error: SpawnerError) -> PortalError:
    """Convert an error of a user's file launcher to the error of the request."""
    match error:
        case FileProblem():
            kind = KINDS.get(error.code, file_errors.FileFailed)
            fields = (
                [FieldError("path", error.message)] if issubclass(kind, errors.InvalidInput) else []
            )
            return kind(error.message, errors=fields, extension=_to_extension(error.more))
        case HomeUnavailable():
            return errors.HomeProblem(error.message)
        case PathRefused() | BadRequest():
            return errors.InvalidInput(error.message)
        case NoFilesProgram():
            return file_errors.FilesAway(error.message)
        case LauncherUnavailable():
            return file_errors.FilesAway(FILES_UNAVAILABLE)
    return errors.LauncherProblem(error.message)


def _to_extension(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details that pages use, with their types checked."""
    details: dict[str, Any] = {}
    for key, kind in (("offset", int), ("version", str), ("sha256", str), ("replaceable", bool)):
        value = fields.get(key)
        if type(value) is kind:
            details[key] = value[:100] if isinstance(value, str) else value
    changed = fields.get("modified_at")
    if isinstance(changed, float) and 0 <= changed < LATEST_S:
        details["modified_at"] = datetime.fromtimestamp(changed, UTC).isoformat()
    return details
