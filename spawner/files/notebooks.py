"""Operation that lists the most recently changed notebooks in a home, and the kernels they name."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import deque

from spawner.files.context import FilesContext
from spawner.launcher.program import (
    Refused,
    Request,
    Result,
    open_home,
    opened,
    read_part,
    reporting_home_errors,
    timeout_of,
)

MAX_NOTEBOOKS = 40
MAX_WALK = 20_000
MAX_LEVELS = 6
END_BYTES = 16 << 10
RUNS = "portal/runs"  # The log folders of jobs, with executed copies of notebooks.
# This pattern can match only metadata: inside a cell's text the quotes would be escaped.
KERNEL = re.compile(rb'"kernelspec"\s*:\s*\{[^{}]*"name"\s*:\s*"([\w.-]{1,64})"')


def notebooks(context: FilesContext, request: Request) -> Result:
    """Return the most recently changed notebooks below the home, and the kernel that each names."""
    timeout_s, home = timeout_of(request), context.user.home
    deadline = time.monotonic() + timeout_s
    with reporting_home_errors():
        os.close(open_home(context.user))
    newest, complete = newest_notebooks(home, deadline - timeout_s / 3)
    items = [
        {"path": path, "changed": changed, "kernel": kernel_of(f"{home}/{path}", deadline)}
        for changed, path in newest
    ]
    return {"notebooks": items, "complete": complete}


def newest_notebooks(home: str, deadline: float) -> tuple[list[tuple[float, str]], bool]:
    """Return (mtime, path) of the newest notebooks, latest first, and whether all was scanned.

    The scan is breadth first and bounded in entries, depth and time. No link is followed.
    """
    candidates: list[tuple[float, str]] = []
    folders, scanned, complete = deque([""]), 0, True
    while folders and complete:
        folder = folders.popleft()
        with contextlib.suppress(OSError), os.scandir(f"{home}/{folder}") as entries:
            for entry in entries:
                scanned += 1
                if scanned > MAX_WALK or time.monotonic() > deadline:
                    complete = False
                    break
                path, hidden = folder + entry.name, entry.name.startswith(".")
                if entry.is_dir(follow_symlinks=False) and not hidden and path != RUNS:
                    if path.count("/") < MAX_LEVELS:
                        folders.append(f"{path}/")
                    else:
                        complete = False
                elif path.endswith(".ipynb") and entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        candidates.append((entry.stat(follow_symlinks=False).st_mtime, path))
    return sorted(candidates, reverse=True)[:MAX_NOTEBOOKS], complete


def kernel_of(path: str, deadline: float) -> str | None:
    """Return the kernel named by a notebook's metadata.

    The metadata usually is at the end of the file, else at its beginning.
    """
    if time.monotonic() > deadline:
        return None
    with contextlib.suppress(OSError, Refused):
        parent, _, name = path.rpartition("/")
        with opened(os.open(parent, os.O_PATH | os.O_CLOEXEC)) as folder:
            for offset in (-END_BYTES, 0):
                named = KERNEL.findall(read_part(folder, name, offset, END_BYTES)[0])
                if named:
                    return str(named[-1].decode(errors="replace"))
    return None
