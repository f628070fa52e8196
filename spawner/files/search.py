"""Operation that finds entries below a folder by their names, limited in time, number and depth."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from spawner.files.context import FilesContext
from spawner.files.paths import open_folder, required_path, text_of, translating_errors
from spawner.launcher.program import (
    Refused,
    Request,
    Result,
    opened,
    required_field,
    timeout_of,
)

MAX_SCANNED = 100_000
MAX_FOUND = 50
MAX_LEVELS = 64
MAX_FOLDERS = 20_000
"""Folders that wait to be scanned, which bounds the memory."""
MAX_WORDS = 10
CHECK_CLOCK_EVERY = 256
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass
class Search:
    """A search in progress.

    `stopped` is the limit that ended it: `time`, `entries` or `found`; None if all was searched.
    `unreadable` counts the folders that could not be read.
    """

    words: tuple[str, ...]
    deadline: float
    found: list[Result] = field(default_factory=list)
    scanned: int = 0
    unreadable: int = 0
    stopped: str | None = None
    folders: deque[str] = field(default_factory=lambda: deque([""]))


def search(context: FilesContext, request: Request) -> Result:
    """Return entries below a folder whose names contain all words, those nearest to it first.

    Hidden entries are left out, and no link is followed.
    """
    path = required_path(request)
    state = Search(read_words(request), time.monotonic() + timeout_of(request))
    with opened(open_folder(path)) as folder, translating_errors(path.name):
        os.close(os.open(".", FLAGS, dir_fd=folder))  # unreadable: an error, not counted as below
        while state.folders and state.stopped is None:
            scan_folder(state, folder, state.folders.popleft())
    return {"found": state.found, "stopped": state.stopped, "unreadable": state.unreadable}


def read_words(request: Request) -> tuple[str, ...]:
    words = tuple(required_field(request, "text", str).casefold().split())
    if not 0 < len(words) <= MAX_WORDS:
        raise Refused("BadRequest", "text is malformed")
    return words


def scan_folder(state: Search, root: int, relative: str) -> None:
    """Examine the entries of one folder, and queue the folders in it."""
    if time.monotonic() > state.deadline:
        state.stopped = "time"
        return
    try:
        below = os.open(relative or ".", FLAGS, dir_fd=root)
    except OSError:
        state.unreadable += 1
        return
    with opened(below), contextlib.suppress(OSError), os.scandir(below) as entries:
        for entry in visible(entries):
            state.scanned += 1
            state.stopped = reached_limit(state)
            if state.stopped is not None:
                return
            examine(state, entry, f"{relative}/{entry.name}" if relative else entry.name)


def visible(entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    return (entry for entry in entries if not entry.name.startswith("."))


def reached_limit(state: Search) -> str | None:
    if len(state.found) >= MAX_FOUND:
        return "found"
    if state.scanned > MAX_SCANNED or len(state.folders) > MAX_FOLDERS:
        return "entries"
    if state.scanned % CHECK_CLOCK_EVERY == 1 and time.monotonic() > state.deadline:
        return "time"
    return None


def examine(state: Search, entry: os.DirEntry[str], path: str) -> None:
    kind = kind_of_entry(entry)
    if kind == "folder" and path.count("/") < MAX_LEVELS:
        state.folders.append(path)
    name = text_of(entry.name).casefold()
    if all(word in name for word in state.words):
        state.found.append({"path": text_of(path), "kind": kind})


def kind_of_entry(entry: os.DirEntry[str]) -> str:
    """Return an entry's kind without following a link."""
    with contextlib.suppress(OSError):  # The entry may have been deleted since the scan.
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        if entry.is_file(follow_symlinks=False):
            return "file"
    return "other"
