"""What a launcher says of files, checked: it is the user's word, and may be of any shape. Pure."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from spawner.channel import nonsense, typed
from spawner.filenames import shown

KINDS = frozenset({"file", "folder", "link", "other"})
MAX_TEXT = 16 << 10
MAX_ITEMS = 1000
MAX_NAME = 200
_LATEST_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Entry:
    """One name in a folder. Size (bytes), time, mode, owner and rights are those of what a link
    leads to; `version` differs once it was changed."""

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
class Page:
    """Some entries of a folder; `after` asks for the next. `complete` is false when there wasn't
    the time to look at all of them. `real_path` is where the folder lies, without links."""

    entries: list[Entry]
    after: list[Any] | None
    total: int
    complete: bool
    writable: bool
    real_path: str


@dataclass(frozen=True)
class Piece:
    """A part of a file, and how large the file is."""

    data: bytes
    size_bytes: int
    version: str
    modified_at: datetime


@dataclass(frozen=True)
class Opened:
    """A file that is open to be sent."""

    size_bytes: int
    version: str
    modified_at: datetime


@dataclass(frozen=True)
class Room:
    """Space on a root's file system; `quota_text` is what the system's own `quota` printed."""

    real_path: str
    writable: bool
    total_bytes: int
    free_bytes: int
    quota_text: str | None


@dataclass(frozen=True)
class Package:
    """Something that was installed; `version` None: its folder doesn't say."""

    name: str
    version: str | None
    changed_at: datetime


@dataclass(frozen=True)
class Deleted:
    """Something in the trash."""

    id: str
    path: str
    kind: str
    size_bytes: int | None
    deleted_at: datetime


@dataclass(frozen=True)
class Upload:
    """An upload on its way; `root` is a whole path, `offset` null where it can't be told."""

    id: str
    root: str
    path: str
    size_bytes: int
    offset: int | None
    overwrite: bool
    created_at: datetime


def entry(found: object) -> Entry:
    fields = _object(found)
    target = fields.get("target_kind")
    return Entry(
        name=_text(fields, "name"),
        kind=_kind(fields.get("kind")),
        is_link=typed(fields, "is_link", bool),
        target_kind=None if target is None else _kind(target),
        size_bytes=_size(fields.get("size_bytes")),
        modified_at=_time(fields.get("modified_at")),
        mode=typed(fields, "mode", int) & 0o7777,
        owner=_text(fields, "owner")[:100],
        readable=typed(fields, "readable", bool),
        writable=typed(fields, "writable", bool),
        version=typed(fields, "version", str)[:100],
    )


def page(found: Mapping[str, Any]) -> Page:
    after = found.get("next")
    if after is not None and not (isinstance(after, list) and len(after) == 3):
        raise nonsense()
    return Page(
        entries=[entry(one) for one in _list(found, "entries")],
        after=after,
        total=typed(found, "total", int),
        complete=typed(found, "complete", bool),
        writable=typed(found, "writable", bool),
        real_path=_text(found, "real_path"),
    )


def piece(found: Mapping[str, Any], limit: int) -> Piece:
    opened_ = opened(found)
    try:
        data = base64.b64decode(typed(found, "data_b64", str), validate=True)
    except binascii.Error as error:
        raise nonsense() from error
    return Piece(data[:limit], opened_.size_bytes, opened_.version, opened_.modified_at)


def opened(found: Mapping[str, Any]) -> Opened:
    size = _size(found.get("size_bytes"))
    if size is None:
        raise nonsense()
    return Opened(size, typed(found, "version", str)[:100], _time(found.get("modified_at")))


def room(found: Mapping[str, Any]) -> Room:
    quota = found.get("quota_text")
    return Room(
        real_path=_text(found, "real_path"),
        writable=typed(found, "writable", bool),
        total_bytes=max(0, typed(found, "total_bytes", int)),
        free_bytes=max(0, typed(found, "free_bytes", int)),
        quota_text=quota[:MAX_TEXT] if isinstance(quota, str) else None,
    )


def trash(found: Mapping[str, Any]) -> tuple[list[Deleted], bool]:
    """What lies in the trash, and whether that is all of it."""
    items = [
        Deleted(
            id=typed(one, "id", str),
            path=_text(one, "path"),
            kind=_kind(one.get("kind")),
            size_bytes=_size(one.get("size_bytes")),
            deleted_at=_time(one.get("deleted_at")),
        )
        for one in map(_object, _list(found, "items"))
    ]
    return items, typed(found, "complete", bool)


def packages(found: Mapping[str, Any]) -> tuple[list[Package], bool]:
    """What is installed, and whether that is all of it."""
    items = [
        Package(
            name=_text(one, "name")[:MAX_NAME],
            version=None if one.get("version") is None else _text(one, "version")[:MAX_NAME],
            changed_at=_time(one.get("changed")),
        )
        for one in map(_object, _list(found, "packages"))
    ]
    return items, typed(found, "complete", bool)


def upload(found: object) -> Upload:
    fields = _object(found)
    size = _size(fields.get("size_bytes"))
    if size is None:
        raise nonsense()
    return Upload(
        id=typed(fields, "id", str),
        root=_text(fields, "root"),
        path=_text(fields, "path"),
        size_bytes=size,
        offset=_size(fields.get("offset")),
        overwrite=typed(fields, "overwrite", bool),
        created_at=_time(fields.get("created_at")),
    )


def uploads(found: Mapping[str, Any]) -> list[Upload]:
    return [upload(one) for one in _list(found, "uploads")]


def _object(found: object) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise nonsense()
    return found


def _list(fields: Mapping[str, Any], key: str) -> list[Any]:
    return typed(fields, key, list)[:MAX_ITEMS]


def _text(fields: Mapping[str, Any], key: str) -> str:
    """A name or a path, as it can be shown."""
    text = shown(typed(fields, key, str)[:MAX_TEXT])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise nonsense() from error
    return text


def _kind(value: object) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise nonsense()
    return value


def _size(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise nonsense()
    return value


def _time(value: object) -> datetime:
    """A file's time, which its owner may have set to anything."""
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise nonsense()
    seconds = float(value)  # type: ignore[arg-type]
    return datetime.fromtimestamp(min(max(seconds, 0.0), _LATEST_S), UTC)
