"""What a launcher says of files, as the answer to the request that asked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from portal import errors, errors_files
from portal.errors import FieldError, PortalError
from spawner.errors import (
    BadRequest,
    FileProblem,
    HomeUnavailable,
    LauncherUnavailable,
    PathRefused,
    SpawnerError,
)

KINDS: Mapping[str, type[PortalError]] = {
    "not-there": errors_files.FileNotThere,
    "denied": errors_files.FileDenied,
    "exists": errors_files.FileExists,
    "changed": errors_files.FileChanged,
    "busy": errors_files.FileBusy,
    "link": errors_files.FileLink,
    "no-trash": errors_files.NoTrash,
    "other-filesystem": errors_files.OtherFilesystem,
    "offset": errors_files.WrongOffset,
    "checksum": errors_files.ChecksumDiffers,
    "no-file": errors_files.NotAFile,
    "no-folder": errors_files.NotAFolder,
    "bad-name": errors_files.BadName,
    "too-much": errors.TooLarge,
    "too-many": errors_files.TooManyStreams,
    "no-answer": errors_files.FilesAway,
    "no-space": errors_files.NoSpace,
    "quota": errors_files.QuotaExceeded,
}
LATEST_S = 1e11
AWAY = (
    "Your files could not be reached; the file system may not answer. Please try again in a "
    "minute; if it happens twice, tell the admins."
)


def explained(error: SpawnerError) -> PortalError:
    """The answer to a request whose files' launcher failed or refused."""
    match error:
        case FileProblem():
            kind = KINDS.get(error.code, errors_files.FileFailed)
            fields = (
                [FieldError("path", error.message)] if issubclass(kind, errors.InvalidInput) else []
            )
            return kind(error.message, errors=fields, extension=_more(error.more))
        case HomeUnavailable():
            return errors.HomeProblem(error.message)
        case PathRefused() | BadRequest():
            return errors.InvalidInput(error.message)
        case LauncherUnavailable():
            return errors_files.FilesAway(AWAY)
    return errors.LauncherProblem(error.message)


def _more(found: Mapping[str, Any]) -> dict[str, Any]:
    """What a page can do something with, of the right type."""
    kept: dict[str, Any] = {}
    for key, kind in (("offset", int), ("version", str), ("sha256", str), ("replaceable", bool)):
        value = found.get(key)
        if type(value) is kind:
            kept[key] = value[:100] if isinstance(value, str) else value
    changed = found.get("modified_at")
    if isinstance(changed, float) and 0 <= changed < LATEST_S:
        kept["modified_at"] = datetime.fromtimestamp(changed, UTC).isoformat()
    return kept
