"""Read operations: list a folder of any size in pages, describe an entry, read part of a file."""

from __future__ import annotations

import base64
import contextlib
import heapq
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from spawner.files.context import FilesContext
from spawner.files.paths import (
    entry_of,
    open_file,
    open_folder,
    path_of,
    required_int,
    required_path,
    system_name,
    text_of,
    translating_errors,
    version_of,
)
from spawner.launcher.program import (
    MAX_READ,
    Refused,
    Request,
    Result,
    opened,
    required_field,
    timeout_of,
)

MAX_ENTRIES = 500  # Even with the longest names, this many fit into one frame.
ENTRIES_PER_CLOCK_CHECK = 512
NUMBERS = re.compile("[0-9]+")

Key = tuple[int, int | str, str]
"""Sort position of an entry: folder group, sort value, name."""


class ListingQuery(NamedTuple):
    """Selection and order of the entries to list.

    Only entries whose names contain `text` (or begin with it, if `prefix`) are listed.
    """

    sort: str
    descending: bool
    folders_first: bool
    hidden: bool
    text: str
    prefix: bool


def list_folder(context: FilesContext, request: Request) -> Result:
    """Return one page of a folder's entries: those after the key `after`.

    Memory is bounded by the page size, however many entries the folder has.
    """
    path, query = required_path(request), read_query(request)
    limit = required_int(request, "limit", MAX_ENTRIES, 1)
    after = optional_key(request)
    deadline = time.monotonic() + timeout_of(request)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with (
        opened(open_folder(path)) as folder,
        translating_errors(path.name),
        opened(os.open(".", flags, dir_fd=folder)) as listed,
    ):
        counts = ScanCounts()
        keys = keys_of(listed, query, deadline, counts)
        page = first_after(keys, after, query.descending, limit + 1)
        shown = page[:limit]
        return {
            "entries": [entry for key in shown if (entry := entry_or_none(folder, key[2]))],
            "next": encode_key(shown[-1]) if len(page) > limit else None,
            "total": counts.count,
            "complete": counts.complete,
            "writable": os.access(".", os.W_OK | os.X_OK, dir_fd=folder),
            "real_path": text_of(path_of(folder)),
            "modified_at": os.fstat(folder).st_mtime,
        }


class ScanCounts:
    """Counters filled while a folder is scanned."""

    def __init__(self) -> None:
        self.count, self.complete = 0, True


def read_query(request: Request) -> ListingQuery:
    sort = required_field(request, "sort", str)
    if sort not in ("name", "size", "modified"):
        raise Refused("BadRequest", "sort is malformed")
    return ListingQuery(
        sort,
        required_field(request, "descending", bool),
        required_field(request, "folders_first", bool),
        required_field(request, "hidden", bool),
        required_field(request, "filter", str).casefold(),
        required_field(request, "prefix", bool),
    )


def optional_key(request: Request) -> Key | None:
    after = request.get("after")
    if after is None:
        return None
    if (
        type(after) is not list
        or [type(part) for part in after] not in ([int, int, str], [int, str, str])
        or (request["sort"] == "name") != (type(after[1]) is str)
    ):
        raise Refused("BadRequest", "after is malformed")
    return (after[0], after[1], system_name(after[2]))


def encode_key(key: Key) -> list[int | str]:
    return [key[0], key[1], text_of(key[2])]


def keys_of(folder: int, query: ListingQuery, deadline: float, counts: ScanCounts) -> Iterator[Key]:
    """Yield the sort keys of a folder's matching entries, in directory order."""
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number % ENTRIES_PER_CLOCK_CHECK == 0 and time.monotonic() > deadline:
                counts.complete = False
                return
            name = text_of(entry.name)
            if (name.startswith(".") and not query.hidden) or not matches(name, query):
                continue
            with contextlib.suppress(OSError):  # The entry may have been deleted since the scan.
                key = sort_key(entry, name, query.sort)
                group = 0
                if query.folders_first:
                    group = 0 if is_folder(entry) else 1
                counts.count += 1
                yield (-group if query.descending else group, key, entry.name)


def matches(name: str, query: ListingQuery) -> bool:
    if not query.text:
        return True
    folded = name.casefold()
    return folded.startswith(query.text) if query.prefix else query.text in folded


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether the entry is a folder or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def sort_key(entry: os.DirEntry[str], name: str, sort: str) -> int | str:
    """Return an entry's sort value; names sort naturally (run2 before run10), ignoring case."""
    if sort == "name":
        return NUMBERS.sub(pad_number, name.casefold())
    state = entry.stat(follow_symlinks=False)
    if stat.S_ISLNK(state.st_mode):
        with contextlib.suppress(OSError):
            state = entry.stat()
    return state.st_size if sort == "size" else state.st_mtime_ns


def pad_number(match: re.Match[str]) -> str:
    digits = match[0].lstrip("0")
    return f"{len(digits):03}{digits}"


def first_after(keys: Iterator[Key], after: Key | None, descending: bool, count: int) -> list[Any]:
    """Return the first `count` keys after `after`, in order; hold no more than these in memory."""
    best: Callable[[int, Iterator[Key]], list[Key]]
    best = heapq.nlargest if descending else heapq.nsmallest
    if after is None:
        return best(count, keys)
    if descending:
        return best(count, (key for key in keys if key < after))
    return best(count, (key for key in keys if key > after))


def entry_or_none(folder: int, name: str) -> Result | None:
    try:
        return entry_of(folder, name)
    except OSError:
        return None


def describe(context: FilesContext, request: Request) -> Result:
    """Return one entry, and the real path of its folder."""
    path = required_path(request)
    with opened(open_folder(path.parent)) as folder, translating_errors(path.name):
        name = path.name if path.parts else "."
        entry = entry_of(folder, name)
        return {"entry": entry, "real_folder": text_of(path_of(folder))}


def peek(context: FilesContext, request: Request) -> Result:
    """Return part of a file, following links."""
    path = required_path(request)
    offset = required_int(request, "offset", 1 << 62)
    limit = required_int(request, "limit", MAX_READ, 1)
    with opened(open_file(path)) as fd, translating_errors(path.name):
        state = os.fstat(fd)
        data = os.pread(fd, limit, offset)
        return {
            "data_b64": base64.b64encode(data).decode(),
            "size_bytes": state.st_size,
            "version": version_of(state),
            "modified_at": state.st_mtime,
        }
