"""What somebody has installed into an environment: the names in its folder, and their versions."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator

from spawner.filer.places import (
    LOOK,
    Place,
    look_into,
    operation,
    telling,
    text_of,
    want_below,
)
from spawner.launcher import Launcher, Refused, Request, Result, opened, want, want_timeout

MOST_PACKAGES = 1000
MOST_LOOKED_AT = 20_000
MAX_DESCRIPTION = 64 << 10
PYTHON = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info")
"""How installers name a package's own folder, or file (the Core Metadata's specifications)."""
R_FIELD = re.compile(r"^(Package|Version):[ \t]*(\S+)[ \t]*$", re.MULTILINE)


@operation
def packages(launcher: Launcher, request: Request) -> Result:
    """The packages in a folder, by name, and whether that is all of them; none where there is no
    such folder. `kind` says what makes a package: `python` (a .dist-info beside it), `r` (a folder
    with a DESCRIPTION), or `other` (each name)."""
    place, kind = want_below(request), want(request, "kind", str)
    if kind not in ("python", "r", "other"):
        raise Refused("BadRequest", "kind is malformed")
    deadline = time.monotonic() + want_timeout(request)
    walked = walked_or_none(place)
    if walked is None:
        return {"packages": [], "complete": True}
    with opened(walked), telling(place.name):
        found, complete = found_in(walked, kind, deadline)
    found.sort(key=lambda one: str(one["name"]).casefold())
    return {"packages": found, "complete": complete}


def walked_or_none(place: Place) -> int | None:
    try:
        return look_into(place)
    except Refused as refused:
        if refused.more.get("code") == "not-there":
            return None
        raise


def found_in(walked: int, kind: str, deadline: float) -> tuple[list[Result], bool]:
    """Those in an open folder, as the system lists them."""
    found: list[Result] = []
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with opened(os.open(".", flags, dir_fd=walked)) as folder, os.scandir(folder) as entries:
        for seen, entry in enumerate(entries):
            late = seen >= MOST_LOOKED_AT or time.monotonic() > deadline
            if late or len(found) >= MOST_PACKAGES:
                return found, False
            with contextlib.suppress(OSError):
                found.extend(package_of(folder, entry, kind))
    return found, True


def package_of(folder: int, entry: os.DirEntry[str], kind: str) -> Iterator[Result]:
    """The package that a name belongs to, if it is one's own."""
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
    """The fields of an R package's DESCRIPTION that count here; empty for what is none."""
    if not entry.is_dir(follow_symlinks=False):
        return {}
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened(os.open(entry.name, flags, dir_fd=folder)) as own:
        if not stat.S_ISREG(os.lstat("DESCRIPTION", dir_fd=own).st_mode):
            return {}
        with opened(os.open("DESCRIPTION", LOOK | os.O_NOFOLLOW, dir_fd=own)) as fd:
            text = os.read(fd, MAX_DESCRIPTION).decode(errors="replace")
    return {key: value[:100] for key, value in R_FIELD.findall(text)}
