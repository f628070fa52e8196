"""Operation that removes one Python package which a user installed, using its RECORD file."""

from __future__ import annotations

import contextlib
import csv
import os
import stat
import time
from collections.abc import Iterator

from spawner.files.context import FilesContext
from spawner.files.packages import PYTHON
from spawner.files.paths import (
    READ_FLAGS,
    RootedPath,
    lstat_or_none,
    open_for_changes,
    problem,
    required_int,
    required_path_below_root,
    text_of,
    translating_errors,
)
from spawner.launcher.program import (
    Refused,
    Request,
    Result,
    opened,
    required_field,
    timeout_of,
)

MAX_RECORD_BYTES = 16 << 20
RECORD_NAME = "RECORD"
NO_RECORD = "This package does not list its files: remove all packages instead."


def remove_package(context: FilesContext, request: Request) -> Result:
    """Delete the files of the package `name` in a folder of packages.

    `above` is the number of levels up to the environment's top folder, which also holds scripts. If
    the time limit is reached, `done` is false and the request must be repeated; this works because
    RECORD is deleted last.
    """
    path, name = required_path_below_root(request), required_field(request, "name", str)
    top = path.parts[: len(path.parts) - required_int(request, "above", len(path.parts) - 1)]
    deadline = time.monotonic() + timeout_of(request)
    info_name = find_info_folder(path, name)
    info_path = RootedPath(path.root, (*path.parts, info_name))
    names_by_folder: dict[RootedPath, set[str]] = {info_path: set()}
    for file in files_of_package(info_path, path, top):
        names_by_folder.setdefault(file.parent, set()).add(file.name)
    for folder, names in names_by_folder.items():
        if time.monotonic() > deadline:
            return {"done": False}
        delete_files(folder, names)
    delete_files(info_path, {RECORD_NAME})
    for folder in sorted(names_by_folder, key=lambda folder_path: -len(folder_path.parts)):
        remove_empty(folder, top)
    return {"done": True}


def find_info_folder(path: RootedPath, name: str) -> str:
    """Return the name of the package's metadata folder (.dist-info or .egg-info)."""
    with opened(open_for_changes(path)) as folder:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        with opened(os.open(".", flags, dir_fd=folder)) as listed:
            for entry in os.listdir(listed):  # noqa: PTH208 - an open folder has no path
                match = PYTHON.fullmatch(entry)
                if match is not None and text_of(match["name"]) == name:
                    return entry
    raise problem("not-there", "This package is no longer installed.")


def files_of_package(
    info_path: RootedPath, package_folder: RootedPath, top: tuple[str, ...]
) -> Iterator[RootedPath]:
    """Yield the package's files except RECORD, restricted to those below `top`."""
    for row in rows_of(record_of(info_path)):
        parts = parts_of(row[0], package_folder.parts) if row else None
        inside = parts is not None and parts[: len(top)] == top and len(parts) > len(top)
        if parts is not None and inside and parts != (*info_path.parts, RECORD_NAME):
            yield RootedPath(info_path.root, parts)


def rows_of(record: str) -> list[list[str]]:
    try:
        return list(csv.reader(record.splitlines()))
    except csv.Error as error:
        raise problem("failed", NO_RECORD) from error


def record_of(info_path: RootedPath) -> str:
    """Return the text of a package's RECORD."""
    try:
        with opened(open_for_changes(info_path)) as folder:
            state = os.lstat(RECORD_NAME, dir_fd=folder)
            if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_RECORD_BYTES:
                raise problem("failed", NO_RECORD)
            flags = READ_FLAGS | os.O_NOFOLLOW
            with opened(os.open(RECORD_NAME, flags, dir_fd=folder)) as fd:
                return os.fsdecode(os.read(fd, MAX_RECORD_BYTES))
    except OSError as error:
        raise problem("failed", NO_RECORD) from error


def parts_of(path: str, base: tuple[str, ...]) -> tuple[str, ...] | None:
    """Resolve a RECORD path to parts below the root; None if it leads outside."""
    parts = list(base)
    if path.startswith("/") or "\0" in path:
        return None
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part == "..":
            return None
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


def delete_files(path: RootedPath, names: set[str]) -> None:
    """Delete files of one folder, and their compiled versions in `__pycache__`."""
    try:
        folder = open_for_changes(path)
    except Refused as refused:
        if refused.more.get("code") == "not-there":
            return
        raise
    with opened(folder):
        for name in names:
            state = lstat_or_none(folder, name)
            if state is not None and not stat.S_ISDIR(state.st_mode):
                with translating_errors(name):
                    os.unlink(name, dir_fd=folder)
        delete_compiled(folder, {name[:-3] for name in names if name.endswith(".py")})


def delete_compiled(folder: int, stems: set[str]) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    # If __pycache__ has other files, rmdir fails, and the folder stays.
    with contextlib.suppress(OSError):
        with opened(os.open("__pycache__", flags, dir_fd=folder)) as cache:
            for name in os.listdir(cache):  # noqa: PTH208
                if name.partition(".")[0] in stems and name.endswith(".pyc"):
                    os.unlink(name, dir_fd=cache)
        os.rmdir("__pycache__", dir_fd=folder)


def remove_empty(path: RootedPath, top: tuple[str, ...]) -> None:
    """Remove a folder and its parents below `top`, as far as they are empty."""
    while len(path.parts) > len(top):
        try:
            with opened(open_for_changes(path.parent)) as folder:
                os.rmdir(path.name, dir_fd=folder)
        except (OSError, Refused):
            return
        path = path.parent
