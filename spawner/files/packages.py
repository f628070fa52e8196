"""Operation that lists the packages in an environment's folder, with versions."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator

from spawner.files.context import FilesContext
from spawner.files.paths import (
    READ_FLAGS,
    RootedPath,
    open_folder,
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

MAX_PACKAGES = 1000
MAX_SCANNED = 20_000
MAX_DESCRIPTION = 64 << 10
PYTHON = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info")
"""Names of a package's metadata folder or file, per Python's Core Metadata specifications."""
R_FIELD = re.compile(r"^(Package|Version):[ \t]*(\S+)[ \t]*$", re.MULTILINE)


def packages(context: FilesContext, request: Request) -> Result:
    """Return the packages in a folder sorted by name, and whether the list is complete.

    A missing folder counts as empty. `kind` selects what makes a package: `python` (a .dist-info
    folder beside it), `r` (a folder with a DESCRIPTION file) or `other` (any name).
    """
    path, kind = required_path_below_root(request), required_field(request, "kind", str)
    if kind not in ("python", "r", "other"):
        raise Refused("BadRequest", "kind is malformed")
    deadline = time.monotonic() + timeout_of(request)
    folder = open_folder_or_none(path)
    if folder is None:
        return {"packages": [], "complete": True}
    with opened(folder), translating_errors(path.name):
        installed, complete = list_packages(folder, kind, deadline)
    installed.sort(key=lambda package: str(package["name"]).casefold())
    return {"packages": installed, "complete": complete}


def open_folder_or_none(path: RootedPath) -> int | None:
    try:
        return open_folder(path)
    except Refused as refused:
        if refused.more.get("code") == "not-there":
            return None
        raise


def list_packages(folder: int, kind: str, deadline: float) -> tuple[list[Result], bool]:
    """Return the packages in an open folder in directory order, and whether all were read."""
    installed: list[Result] = []
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with opened(os.open(".", flags, dir_fd=folder)) as listed, os.scandir(listed) as entries:
        for number, entry in enumerate(entries):
            late = number >= MAX_SCANNED or time.monotonic() > deadline
            if late or len(installed) >= MAX_PACKAGES:
                return installed, False
            with contextlib.suppress(OSError):
                installed.extend(package_of(folder, entry, kind))
    return installed, True


def package_of(folder: int, entry: os.DirEntry[str], kind: str) -> Iterator[Result]:
    """Yield the package that a directory entry stands for, if any."""
    changed = entry.stat(follow_symlinks=False).st_mtime
    if kind == "python":
        match = PYTHON.fullmatch(entry.name)
        if match is not None:
            about: Result = {"name": text_of(match["name"]), "version": text_of(match["version"])}
            yield {**about, "changed": changed}
    elif kind == "r":
        fields = description_of(folder, entry)
        if "Package" in fields:
            about = {"name": fields["Package"], "version": fields.get("Version")}
            yield {**about, "changed": changed}
    elif not entry.name.startswith("."):
        yield {"name": text_of(entry.name), "version": None, "changed": changed}


def description_of(folder: int, entry: os.DirEntry[str]) -> dict[str, str]:
    """Return the name and version fields of an R package's DESCRIPTION; empty if it is none."""
    if not entry.is_dir(follow_symlinks=False):
        return {}
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened(os.open(entry.name, flags, dir_fd=folder)) as metadata_folder:
        if not stat.S_ISREG(os.lstat("DESCRIPTION", dir_fd=metadata_folder).st_mode):
            return {}
        with opened(
            os.open("DESCRIPTION", READ_FLAGS | os.O_NOFOLLOW, dir_fd=metadata_folder)
        ) as fd:
            text = os.read(fd, MAX_DESCRIPTION).decode(errors="replace")
    return {key: value[:100] for key, value in R_FIELD.findall(text)}
