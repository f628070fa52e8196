"""Validation of the launcher's answers about files.

Pure.

The launcher runs as the user, so its answers are untrusted and may have any shape.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from spawner.launcher.connection import nonsense, typed
from spawner.launcher.file_names import to_text

KINDS = frozenset({"file", "folder", "link", "other"})
MAX_TEXT = 16 << 10
MAX_ITEMS = 1000
MAX_NAME = 200
MAX_TAGS = 32
_LATEST_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Entry:
    """One name in a folder.

    For a link, size (bytes), time, mode, owner and rights are its target's; `version` differs after
    a change.
    """

    name: str
    kind: str
    is_link: bool
    target_kind: str | None
    size_bytes: int | None
    modified_at: datetime
    mode: int
    owner: str
    readable: bool
    writable: bool
    version: str


@dataclass(frozen=True)
class FolderListing:
    """Some entries of a folder.

    `after` requests the next page. `complete` is false if the time did not suffice to scan the
    folder. `real_path` is the folder's path without links.
    """

    entries: list[Entry]
    after: list[Any] | None
    total: int
    complete: bool
    writable: bool
    real_path: str


@dataclass(frozen=True)
class Piece:
    """Part of a file, and the file's size."""

    data: bytes
    size_bytes: int
    version: str
    modified_at: datetime


@dataclass(frozen=True)
class Opened:
    """File that is open for sending."""

    size_bytes: int
    version: str
    modified_at: datetime


@dataclass(frozen=True)
class Room:
    """Space on a root's file system; `quota_text` is the output of the system's `quota` command."""

    real_path: str
    writable: bool
    total_bytes: int
    free_bytes: int
    quota_text: str | None


@dataclass(frozen=True)
class Package:
    """Installed package; `version` is None if its folder does not contain it."""

    name: str
    version: str | None
    changed_at: datetime


@dataclass(frozen=True)
class Deleted:
    """Item in the trash."""

    id: str
    path: str
    kind: str
    size_bytes: int | None
    deleted_at: datetime


@dataclass(frozen=True)
class UploadInfo:
    """Unfinished upload; `root` is an absolute path, `offset` is None if it is unknown."""

    id: str
    root: str
    path: str
    size_bytes: int
    offset: int | None
    overwrite: bool
    created_at: datetime


def entry(found: object) -> Entry:
    fields = _require_object(found)
    target = fields.get("target_kind")
    return Entry(
        name=_parse_text(fields, "name"),
        kind=_parse_kind(fields.get("kind")),
        is_link=typed(fields, "is_link", bool),
        target_kind=None if target is None else _parse_kind(target),
        size_bytes=_parse_size(fields.get("size_bytes")),
        modified_at=_parse_time(fields.get("modified_at")),
        mode=typed(fields, "mode", int) & 0o7777,
        owner=_parse_text(fields, "owner")[:100],
        readable=typed(fields, "readable", bool),
        writable=typed(fields, "writable", bool),
        version=typed(fields, "version", str)[:100],
    )


def page(found: Mapping[str, Any]) -> FolderListing:
    after = found.get("next")
    if after is not None and not (isinstance(after, list) and len(after) == 3):
        raise nonsense()
    return FolderListing(
        entries=[entry(one) for one in _require_list(found, "entries")],
        after=after,
        total=typed(found, "total", int),
        complete=typed(found, "complete", bool),
        writable=typed(found, "writable", bool),
        real_path=_parse_text(found, "real_path"),
    )


def piece(found: Mapping[str, Any], limit: int) -> Piece:
    opened_ = opened(found)
    try:
        data = base64.b64decode(typed(found, "data_b64", str), validate=True)
    except binascii.Error as error:
        raise nonsense() from error
    return Piece(data[:limit], opened_.size_bytes, opened_.version, opened_.modified_at)


def opened(found: Mapping[str, Any]) -> Opened:
    size = _parse_size(found.get("size_bytes"))
    if size is None:
        raise nonsense()
    return Opened(size, typed(found, "version", str)[:100], _parse_time(found.get("modified_at")))


def room(found: Mapping[str, Any]) -> Room:
    quota = found.get("quota_text")
    return Room(
        real_path=_parse_text(found, "real_path"),
        writable=typed(found, "writable", bool),
        total_bytes=max(0, typed(found, "total_bytes", int)),
        free_bytes=max(0, typed(found, "free_bytes", int)),
        quota_text=quota[:MAX_TEXT] if isinstance(quota, str) else None,
    )


def trash(found: Mapping[str, Any]) -> tuple[list[Deleted], bool]:
    """Parse the items in the trash, and whether the list is complete."""
    items = [
        Deleted(
            id=typed(one, "id", str),
            path=_parse_text(one, "path"),
            kind=_parse_kind(one.get("kind")),
            size_bytes=_parse_size(one.get("size_bytes")),
            deleted_at=_parse_time(one.get("deleted_at")),
        )
        for one in map(_require_object, _require_list(found, "items"))
    ]
    return items, typed(found, "complete", bool)


def packages(found: Mapping[str, Any]) -> tuple[list[Package], bool]:
    """Parse the installed packages, and whether the list is complete."""
    items = [
        Package(
            name=_parse_text(one, "name")[:MAX_NAME],
            version=None if one.get("version") is None else _parse_text(one, "version")[:MAX_NAME],
            changed_at=_parse_time(one.get("changed")),
        )
        for one in map(_require_object, _require_list(found, "packages"))
    ]
    return items, typed(found, "complete", bool)


def upload(found: object) -> UploadInfo:
    fields = _require_object(found)
    size = _parse_size(fields.get("size_bytes"))
    if size is None:
        raise nonsense()
    return UploadInfo(
        id=typed(fields, "id", str),
        root=_parse_text(fields, "root"),
        path=_parse_text(fields, "path"),
        size_bytes=size,
        offset=_parse_size(fields.get("offset")),
        overwrite=typed(fields, "overwrite", bool),
        created_at=_parse_time(fields.get("created_at")),
    )


def uploads(found: Mapping[str, Any]) -> list[UploadInfo]:
    return [upload(one) for one in _require_list(found, "uploads")]


def scalars(found: object) -> dict[str, float | None]:
    """Return the values by tag; None for one that is not finite."""
    return {
        str(tag)[:100]: float(value)
        if type(value) in {int, float} and math.isfinite(value)
        else None
        for tag, value in list(_require_object(found).items())[:MAX_TAGS]
    }


def _require_object(found: object) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise nonsense()
    return found


def _require_list(fields: Mapping[str, Any], key: str) -> list[Any]:
    return typed(fields, key, list)[:MAX_ITEMS]


def _parse_text(fields: Mapping[str, Any], key: str) -> str:
    """Return a name or path in its displayable form."""
    text = to_text(typed(fields, key, str)[:MAX_TEXT])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise nonsense() from error
    return text


def _parse_kind(value: object) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise nonsense()
    return value


def _parse_size(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise nonsense()
    return value


def _parse_time(value: object) -> datetime:
    """Return a file's time, bounded, because its owner can set it to anything."""
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise nonsense()
    seconds = float(value)  # type: ignore[arg-type]
    return datetime.fromtimestamp(min(max(seconds, 0.0), _LATEST_S), UTC)
