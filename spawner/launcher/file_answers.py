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
from itertools import pairwise
from typing import Any, Literal, get_args

from spawner.launcher.connection import invalid_response, typed
from spawner.launcher.file_names import to_text
from spawner.usage_file import MAX_POINTS, NodeSeries, parse_header, parse_point

KINDS = frozenset({"file", "folder", "link", "other"})
StopReason = Literal["time", "entries", "found"]
MAX_TEXT = 16 << 10
MAX_ITEMS = 1000
MAX_FOUND = 50
MAX_NAME = 200
MAX_TAGS = 32
MAX_TAG = 300
MAX_CURVES = 32
MAX_CURVE_POINTS = 2000
MAX_SERIES = 32
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
class FileMatch:
    """An entry that a search found; `path` is relative to the searched folder."""

    path: str
    kind: str


@dataclass(frozen=True)
class FileMatches:
    """Result of a search by name.

    `stopped` is the limit that ended it, None if all was searched; `unreadable` counts the folders
    that could not be read.
    """

    found: list[FileMatch]
    stopped: StopReason | None
    unreadable: int


@dataclass(frozen=True)
class Piece:
    """Part of a file, and the file's size."""

    data: bytes
    size_bytes: int
    version: str
    modified_at: datetime


@dataclass(frozen=True)
class OpenedFile:
    """File that is open for sending."""

    size_bytes: int
    version: str
    modified_at: datetime


@dataclass(frozen=True)
class DiskSpace:
    """Space on the file system that a path lies on.

    `quota_text` is the output of the system's `quota` command.
    """

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
class DeletedItem:
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


@dataclass(frozen=True)
class CurveColumns:
    """Values of one tag in one run (a folder with event files), as columns; gaps are None.

    `count` is the number of logged values, of which `not_finite` were NaN or infinite.
    """

    run: str
    tag: str
    count: int
    not_finite: int
    steps: list[int]
    at: list[float]
    values: list[float | None]


@dataclass(frozen=True)
class FolderCurves:
    """Curves below a folder; `left_out` is the number of further ones. `complete` is false if the
    event files are too large to be read in time.
    """

    curves: list[CurveColumns]
    left_out: int
    complete: bool


def entry(value: object) -> Entry:
    fields = _require_object(value)
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


def page(answer: Mapping[str, Any]) -> FolderListing:
    after = answer.get("next")
    if after is not None and not (isinstance(after, list) and len(after) == 3):
        raise invalid_response()
    return FolderListing(
        entries=[entry(item) for item in _require_list(answer, "entries")],
        after=after,
        total=typed(answer, "total", int),
        complete=typed(answer, "complete", bool),
        writable=typed(answer, "writable", bool),
        real_path=_parse_text(answer, "real_path"),
    )


def matches(answer: Mapping[str, Any]) -> FileMatches:
    stopped = answer.get("stopped")
    if stopped is not None and stopped not in get_args(StopReason):
        raise invalid_response()
    found = map(_require_object, _require_list(answer, "found")[:MAX_FOUND])
    return FileMatches(
        found=[
            FileMatch(_parse_text(item, "path"), _parse_kind(item.get("kind"))) for item in found
        ],
        stopped=stopped,
        unreadable=max(0, typed(answer, "unreadable", int)),
    )


def piece(answer: Mapping[str, Any], limit: int) -> Piece:
    opened_ = opened(answer)
    try:
        data = base64.b64decode(typed(answer, "data_b64", str), validate=True)
    except binascii.Error as error:
        raise invalid_response() from error
    return Piece(data[:limit], opened_.size_bytes, opened_.version, opened_.modified_at)


def opened(answer: Mapping[str, Any]) -> OpenedFile:
    size = _parse_size(answer.get("size_bytes"))
    if size is None:
        raise invalid_response()
    return OpenedFile(
        size, typed(answer, "version", str)[:100], _parse_time(answer.get("modified_at"))
    )


def disk_space(answer: Mapping[str, Any]) -> DiskSpace:
    quota = answer.get("quota_text")
    return DiskSpace(
        real_path=_parse_text(answer, "real_path"),
        writable=typed(answer, "writable", bool),
        total_bytes=max(0, typed(answer, "total_bytes", int)),
        free_bytes=max(0, typed(answer, "free_bytes", int)),
        quota_text=quota[:MAX_TEXT] if isinstance(quota, str) else None,
    )


def trash(answer: Mapping[str, Any]) -> tuple[list[DeletedItem], bool]:
    """Parse the items in the trash, and whether the list is complete."""
    items = [
        DeletedItem(
            id=typed(item, "id", str),
            path=_parse_text(item, "path"),
            kind=_parse_kind(item.get("kind")),
            size_bytes=_parse_size(item.get("size_bytes")),
            deleted_at=_parse_time(item.get("deleted_at")),
        )
        for item in map(_require_object, _require_list(answer, "items"))
    ]
    return items, typed(answer, "complete", bool)


def packages(answer: Mapping[str, Any]) -> tuple[list[Package], bool]:
    """Parse the installed packages, and whether the list is complete."""
    items = [
        Package(
            name=_parse_text(item, "name")[:MAX_NAME],
            version=None
            if item.get("version") is None
            else _parse_text(item, "version")[:MAX_NAME],
            changed_at=_parse_time(item.get("changed")),
        )
        for item in map(_require_object, _require_list(answer, "packages"))
    ]
    return items, typed(answer, "complete", bool)


def upload(value: object) -> UploadInfo:
    fields = _require_object(value)
    size = _parse_size(fields.get("size_bytes"))
    if size is None:
        raise invalid_response()
    return UploadInfo(
        id=typed(fields, "id", str),
        root=_parse_text(fields, "root"),
        path=_parse_text(fields, "path"),
        size_bytes=size,
        offset=_parse_size(fields.get("offset")),
        overwrite=typed(fields, "overwrite", bool),
        created_at=_parse_time(fields.get("created_at")),
    )


def uploads(answer: Mapping[str, Any]) -> list[UploadInfo]:
    return [upload(item) for item in _require_list(answer, "uploads")]


def scalars(answer: object) -> dict[str, float | None]:
    """Return the values by tag; None for one that is not finite."""
    return {
        _storable(str(tag))[:100]: _finite(value)
        for tag, value in list(_require_object(answer).items())[:MAX_TAGS]
    }


def curves(answer: Mapping[str, Any]) -> FolderCurves:
    rows = _require_list(answer, "curves")[:MAX_CURVES]
    return FolderCurves(
        curves=[_parse_curve(_require_object(row)) for row in rows],
        left_out=max(0, typed(answer, "left_out", int)),
        complete=typed(answer, "complete", bool),
    )


def _parse_curve(fields: Mapping[str, Any]) -> CurveColumns:
    steps, at, values = (
        typed(fields, name, list)[:MAX_CURVE_POINTS] for name in ("steps", "at", "values")
    )
    if not len(steps) == len(at) == len(values) or any(type(step) is not int for step in steps):
        raise invalid_response()
    times = [_finite(time) for time in at]
    if any(time is None for time in times):
        raise invalid_response()
    return CurveColumns(
        run=_storable(_parse_text(fields, "run"))[:MAX_TAG],
        tag=_storable(_parse_text(fields, "tag"))[:MAX_TAG],
        count=max(0, typed(fields, "count", int)),
        not_finite=max(0, typed(fields, "not_finite", int)),
        steps=steps,
        at=[time or 0.0 for time in times],
        values=[_finite(value) for value in values],
    )


def _finite(value: object) -> float | None:
    """Return a number; None for anything else."""
    if type(value) not in {int, float}:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _storable(text: str) -> str:
    """Replace what PostgreSQL and JSON cannot hold."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def usage(answer: Mapping[str, Any]) -> tuple[list[NodeSeries], int]:
    """Parse the series by node, and the number of nodes that were left out."""
    series = [_parse_series(_require_object(item)) for item in _require_list(answer, "nodes")]
    return series[:MAX_SERIES], max(0, typed(answer, "left_out", int))


def _parse_series(fields: Mapping[str, Any]) -> NodeSeries:
    header = parse_header(fields.get("header"))
    if header is None:
        raise invalid_response()
    points = [parse_point(row) for row in typed(fields, "points", list)[: 2 * MAX_POINTS]]
    valid = [point for point in points if point is not None]
    if len(valid) != len(points) or any(a.start >= b.start for a, b in pairwise(valid)):
        raise invalid_response()
    return NodeSeries(_parse_text(fields, "node")[:MAX_NAME], header, tuple(valid))


def _require_object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise invalid_response()
    return value


def _require_list(fields: Mapping[str, Any], key: str) -> list[Any]:
    return typed(fields, key, list)[:MAX_ITEMS]


def _parse_text(fields: Mapping[str, Any], key: str) -> str:
    """Return a name or path in its displayable form."""
    text = to_text(typed(fields, key, str)[:MAX_TEXT])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise invalid_response() from error
    return text


def _parse_kind(value: object) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise invalid_response()
    return value


def _parse_size(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise invalid_response()
    return value


def _parse_time(value: object) -> datetime:
    """Return a file's time, bounded, because its owner can set it to anything."""
    seconds = _finite(value)
    if seconds is None:
        raise invalid_response()
    return datetime.fromtimestamp(min(max(seconds, 0.0), _LATEST_S), UTC)
