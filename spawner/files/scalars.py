"""Operation that reads the last scalar values from TensorBoard event files, without TensorBoard."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import stat
import struct
import time
from collections import deque
from collections.abc import Iterator

from spawner.files.context import FilesContext
from spawner.launcher.program import (
    Refused,
    Request,
    Result,
    want,
    want_timeout,
)

MAX_FOLDERS = 64
MAX_TAGS = 32
MAX_EVENT_FILES = 16
MAX_EVENT_BYTES = 64 << 20
MAX_RECORD = 64 << 10
MAX_ENTRIES = 2000
MAX_DEPTH = 4


def scalars(context: FilesContext, request: Request) -> Result:
    """Return the last value of each scalar in the event files of several folders."""
    folders = want(request, "folders", list)
    if len(folders) > MAX_FOLDERS or not all(type(f) is str for f in folders):
        raise Refused("BadRequest", "folders is malformed")
    deadline = time.monotonic() + want_timeout(request)
    return {"scalars": [last_scalars(folder, deadline) for folder in folders]}


def last_scalars(folder: str, deadline: float) -> dict[str, float | None]:
    """Return tag → last value below a folder, with null for values that are not finite.

    The work is bounded in files, bytes and time.
    """
    found: dict[str, tuple[int, float]] = {}
    left = MAX_EVENT_BYTES
    for path in event_files(folder, deadline):
        with contextlib.suppress(OSError):
            for step, tag, value in read_events(path, left, deadline):
                if (tag in found or len(found) < MAX_TAGS) and step >= found.get(tag, (-1, 0.0))[0]:
                    found[tag] = (step, value)
                if time.monotonic() > deadline:
                    break
            left -= os.lstat(path).st_size
        if left <= 0 or time.monotonic() > deadline:
            break
    return {tag: value if math.isfinite(value) else None for tag, (_, value) in found.items()}


def event_files(folder: str, deadline: float) -> list[str]:
    """Return the newest event files below a folder, sorted from oldest to newest.

    At most MAX_ENTRIES entries are read, MAX_DEPTH folders deep, and no folder after the deadline.
    """
    found: list[tuple[float, str]] = []
    left = MAX_ENTRIES
    folders = deque([(folder, 0)])
    while folders and left > 0 and time.monotonic() < deadline:
        at, depth = folders.popleft()
        with contextlib.suppress(OSError), os.scandir(at) as entries:
            for entry in itertools.islice(entries, left):
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    folders.extend([(entry.path, depth + 1)] if depth < MAX_DEPTH else [])
                elif "tfevents" in entry.name:
                    with contextlib.suppress(OSError):
                        found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return [path for _, path in sorted(found)[-MAX_EVENT_FILES:]]


def read_events(path: str, most: int, deadline: float) -> Iterator[tuple[int, str, float]]:
    """Yield step, tag and value of the scalars in one event file.

    A record consists of its length (8 bytes), the length's checksum (4), data, and the data's
    checksum (4). A truncated record is still being written.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return
        while file.tell() < most and len(head := file.read(12)) == 12:
            if time.monotonic() > deadline:
                return
            length = int.from_bytes(head[:8], "little")
            if length > MAX_EVENT_BYTES:
                return  # Not an event file, or a damaged one.
            if length > MAX_RECORD:  # An image or a graph.
                file.seek(length + 4, os.SEEK_CUR)
                continue
            record = file.read(length + 4)
            if len(record) < length + 4:
                return
            with contextlib.suppress(ValueError, IndexError, struct.error):
                yield from scalars_of(record[:length])


def scalars_of(event: bytes) -> Iterator[tuple[int, str, float]]:
    """Yield step, tag and value of the scalars in a serialized tensorflow.Event.

    Field numbers: Event step = 2, summary = 5; Summary value = 1; Value tag = 1, simple_value = 2,
    tensor = 8.
    """
    step = 0
    summaries = []
    for number, value in fields_of(event):
        if number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for _, item in fields_of(summary):
            parts = dict(fields_of(item)) if isinstance(item, bytes) else {}
            tag = parts.get(1)
            number_ = scalar_of(parts.get(2), parts.get(8))
            if isinstance(tag, bytes) and number_ is not None:
                yield step, tag.decode(errors="replace")[:100], number_


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
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind, size = key & 7, {1: 8, 5: 4}.get(key & 7)
        if kind == 0:
            value, at = varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError("not a message")
        yield key >> 3, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("not a number")
