"""Operations that read scalars from TensorBoard event files, without TensorBoard: the last value of
each, or whole curves.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import stat
import struct
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from spawner.files.context import FilesContext
from spawner.files.jobs.curves import MAX_CURVES, Curve, fit_points
from spawner.launcher.program import (
    Refused,
    Request,
    Result,
    required_field,
    timeout_of,
)

Scalar = tuple[float, int, str, float]
"""Time in seconds since 1970, step, tag and value."""

MAX_FOLDERS = 64
MAX_TAGS = 32
MAX_NAME = 100  # of a tag among last values
MAX_TAG = 300
MAX_LEFT_OUT = 1000  # curves beyond the limit that are counted
MAX_EVENT_FILES = 16
MAX_EVENT_BYTES = 64 << 20
MAX_RECORD = 64 << 10
MAX_ENTRIES = 2000
MAX_POINTS = 1000  # of one curve
MAX_DEPTH = 4


def scalars(context: FilesContext, request: Request) -> Result:
    """Return the last value of each scalar in the event files of several folders."""
    folders = required_field(request, "folders", list)
    if len(folders) > MAX_FOLDERS or not all(type(f) is str for f in folders):
        raise Refused("BadRequest", "folders is malformed")
    deadline = time.monotonic() + timeout_of(request)
    return {"scalars": [last_scalars(folder, deadline) for folder in folders]}


def last_scalars(folder: str, deadline: float) -> dict[str, float | None]:
    """Return tag → last value below a folder, with null for values that are not finite.

    The work is bounded in files, bytes and time.
    """
    latest: dict[str, tuple[int, float]] = {}
    bytes_left = MAX_EVENT_BYTES
    for path in event_files(folder, deadline):
        with contextlib.suppress(OSError):
            for _, step, long_tag, value in read_events(path, bytes_left, deadline):
                tag = long_tag[:MAX_NAME]
                before = latest.get(tag)
                if step >= before[0] if before else len(latest) < MAX_TAGS:
                    latest[tag] = (step, value)
            bytes_left -= os.lstat(path).st_size
        if bytes_left <= 0 or time.monotonic() > deadline:
            break
    return {tag: value if math.isfinite(value) else None for tag, (_, value) in latest.items()}


def curves(context: FilesContext, request: Request) -> Result:
    """Return the curves in the event files of one folder, each with at most `points` points.

    `left_out` is the number of further curves. `complete` is false if the bytes or the time did not
    suffice.
    """
    folder = required_field(request, "folder", str)
    points = required_field(request, "points", int)
    if not 2 <= points <= MAX_POINTS:
        raise Refused("BadRequest", "points is malformed")
    found = CurveReader(folder, points, time.monotonic() + timeout_of(request))
    found.read()
    rows = [curve.to_row() for curve in fit_points(list(found.curves.values()))]
    return {"curves": rows, "left_out": len(found.left_out), "complete": found.complete}


class CurveReader:
    """Curves below a folder, by run (the event file's folder, relative) and tag."""

    def __init__(self, folder: str, points: int, deadline: float) -> None:
        self.curves: dict[tuple[str, str], Curve] = {}
        self.left_out: set[tuple[str, str]] = set()
        self.complete = True
        self._folder, self._points, self._deadline = folder, points, deadline

    def read(self) -> None:
        bytes_left = MAX_EVENT_BYTES
        for path in event_files(self._folder, self._deadline):
            with contextlib.suppress(OSError):
                self._read_file(path, bytes_left)
                bytes_left -= os.lstat(path).st_size
            if bytes_left < 0:
                break
        self.complete = bytes_left >= 0 and time.monotonic() <= self._deadline

    def _read_file(self, path: str, most: int) -> None:
        parent = Path(path).relative_to(self._folder).parent
        run = "" if parent == Path() else str(parent)[:MAX_TAG]
        begun: set[str] = set()
        for wall, step, tag, value in read_events(path, most, self._deadline):
            curve = self._find(run, tag)
            if curve is None:
                continue
            if tag not in begun:
                begun.add(tag)
                curve.restart(step)
            curve.add(step, wall, value)

    def _find(self, run: str, tag: str) -> Curve | None:
        curve = self.curves.get((run, tag))
        if curve is None and len(self.curves) < MAX_CURVES:
            curve = self.curves[run, tag] = Curve(run, tag, self._points)
        if curve is None and len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.add((run, tag))
        return curve


def event_files(folder: str, deadline: float) -> list[str]:
    """Return the newest event files below a folder, sorted from oldest to newest.

    At most MAX_ENTRIES entries are read, MAX_DEPTH folders deep, and no folder after the deadline.
    """
    files: list[tuple[float, str]] = []
    entries_left = MAX_ENTRIES
    folders = deque([(folder, 0)])
    while folders and entries_left > 0 and time.monotonic() < deadline:
        current, depth = folders.popleft()
        with contextlib.suppress(OSError), os.scandir(current) as entries:
            for entry in itertools.islice(entries, entries_left):
                entries_left -= 1
                if entry.is_dir(follow_symlinks=False):
                    folders.extend([(entry.path, depth + 1)] if depth < MAX_DEPTH else [])
                elif "tfevents" in entry.name:
                    with contextlib.suppress(OSError):
                        files.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return [path for _, path in sorted(files)[-MAX_EVENT_FILES:]]


def read_events(path: str, most: int, deadline: float) -> Iterator[Scalar]:
    """Yield the scalars in one event file.

    A record consists of its length (8 bytes), the length's checksum (4), data, and the data's
    checksum (4). A truncated record is still being written.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return
        offset = 0
        for count in itertools.count():
            head = file.read(12) if offset < most else b""
            if len(head) < 12 or (count % 64 == 0 and time.monotonic() > deadline):
                return
            length = int.from_bytes(head[:8], "little")
            offset += length + 16
            if length > MAX_EVENT_BYTES:
                return  # Not an event file, or a damaged one.
            if length > MAX_RECORD:  # An image or a graph.
                file.seek(length + 4, os.SEEK_CUR)
                continue
            record = file.read(length + 4)
            if len(record) < length + 4:
                return
            usual = usual_scalar(record[:length])
            if usual is not None:
                yield usual
                continue
            with contextlib.suppress(ValueError, IndexError, struct.error):
                yield from scalars_of(record[:length])


def scalars_of(event: bytes) -> Iterator[Scalar]:
    """Yield the scalars in a serialized tensorflow.Event.

    Field numbers: Event wall_time = 1, step = 2, summary = 5; Summary value = 1; Value tag = 1,
    simple_value = 2, tensor = 8.
    """
    wall, step = 0.0, 0
    summaries = []
    for number, value in fields_of(event):
        if number == 1 and isinstance(value, bytes) and len(value) == 8:
            (wall,) = struct.unpack("<d", value)
        elif number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for _, item in fields_of(summary):
            parts = dict(fields_of(item)) if isinstance(item, bytes) else {}
            tag = parts.get(1)
            scalar = scalar_of(parts.get(2), parts.get(8))
            if isinstance(tag, bytes) and scalar is not None:
                yield wall, step, tag.decode(errors="replace")[:MAX_TAG], scalar


# wall_time, step, summary { value { tag, simple_value } }, with lengths below 128
_USUAL = re.compile(
    rb"\x09(.{8})\x10([\x80-\xff]{0,9}[\x00-\x7f])\x2a(.)\x0a(.)\x0a(.)(.{1,119})\x15(.{4})",
    re.DOTALL,
)


def usual_scalar(event: bytes) -> Scalar | None:
    """Return the only scalar of an event with the layout that SummaryWriter writes, else None.

    A shortcut: files can have a million such events.
    """
    match = _USUAL.fullmatch(event)
    if match is None:
        return None
    wall, step, summary, value, length, tag, number = match.groups()
    size = len(tag)
    if length[0] != size or value[0] != size + 7 or summary[0] != size + 9:
        return None
    return (
        struct.unpack("<d", wall)[0],
        step[0] if len(step) == 1 else varint(step, 0)[0],
        tag.decode(errors="replace"),
        struct.unpack("<f", number)[0],
    )


def scalar_of(simple: int | bytes | None, tensor: int | bytes | None) -> float | None:
    """Return the number in a float32 field or in a TensorProto with one element, else None.

    Field numbers of TensorProto: dtype = 1 (float 1, double 2), tensor_content = 4, float_val = 5,
    double_val = 6.
    """
    if isinstance(simple, bytes) and len(simple) == 4:
        return float(struct.unpack("<f", simple)[0])
    if not isinstance(tensor, bytes):
        return None
    parts = dict(fields_of(tensor))
    kind = {1: "<f", 2: "<d"}.get(int(parts.get(1) or 0))
    data = parts.get(4) or parts.get(5) or parts.get(6)
    if kind is None or not isinstance(data, bytes) or len(data) != struct.calcsize(kind):
        return None
    return float(struct.unpack(kind, data)[0])


def fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of a protobuf message's fields: varints as int, the rest as bytes."""
    offset = 0
    while offset < len(message):
        key, offset = varint(message, offset)
        kind, size = key & 7, {1: 8, 5: 4}.get(key & 7)
        if kind == 0:
            value, offset = varint(message, offset)
            yield key >> 3, value
            continue
        if kind == 2:
            size, offset = varint(message, offset)
        if size is None or offset + size > len(message):
            raise ValueError("not a message")
        yield key >> 3, message[offset : offset + size]
        offset += size


def varint(message: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return value, offset
        if shift > 63:
            raise ValueError("not a number")
