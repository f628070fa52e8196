"""Operation that reads a job's measured usage, which samplers wrote on its nodes."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from spawner.files.context import FilesContext
from spawner.files.paths import READ_FLAGS
from spawner.launcher.program import (
    JOBS,
    UUID,
    Request,
    Result,
    descend,
    opened,
    required_field,
    timeout_of,
)
from spawner.usage_file import (
    FOLDER,
    MAX_BYTES,
    NAME,
    Header,
    Point,
    parse_file,
    point_row,
    thin_points,
)

MAX_NODES = 32
MAX_RESTARTS = 8
"""The last runs of a job that was restarted."""
MAX_ENTRIES = 20_000
MAX_VALUES = 60_000
"""Numbers in one answer, which limits the number of points of each node."""


@dataclass(frozen=True, order=True)
class _File:
    node: str
    restart: int
    name: str


def usage(context: FilesContext, request: Request) -> Result:
    """Return what was measured for one task of a job: by node a header and points.

    `left_out` is the number of nodes beyond MAX_NODES. Nodes that could not be read before the
    deadline are missing. With `since`, in seconds since 1970, earlier points are left out.
    """
    uuid, task = required_field(request, "uuid", str, UUID), required_field(request, "task", int)
    deadline = time.monotonic() + timeout_of(request)
    since = required_field(request, "since", float) if request.get("since") is not None else 0.0
    try:
        folder = descend(context.user, (*JOBS, uuid, FOLDER), make=False)
    except (FileNotFoundError, NotADirectoryError):
        return {"nodes": [], "left_out": 0}
    with opened(folder):
        by_node = _list_files(folder, task)
        shown = sorted(by_node)[:MAX_NODES]
        series = [
            (node, *_read_node(folder, by_node[node], deadline, since))
            for node in shown
            if time.monotonic() < deadline
        ]
    nodes = _within_budget([(node, header, points) for node, header, points in series if points])
    return {"nodes": nodes, "left_out": len(by_node) - len(shown)}


def _list_files(folder: int, task: int) -> dict[str, list[_File]]:
    """Return by node the files of a task, the first run first."""
    by_node: dict[str, list[_File]] = {}
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, MAX_ENTRIES):
            match = NAME.fullmatch(entry.name)
            if match and int(match[1]) == task:
                file = _File(match[3], int(match[2]), entry.name)
                by_node.setdefault(file.node, []).append(file)
    return {node: sorted(files)[-MAX_RESTARTS:] for node, files in by_node.items()}


def _read_node(
    folder: int, files: list[_File], deadline: float, since: float
) -> tuple[Header, list[Point]]:
    """Return the header of the last run, and the points of all runs in ascending order."""
    header, points = Header(1.0), list[Point]()
    for file in files:
        if time.monotonic() > deadline:
            break
        with contextlib.suppress(OSError):
            last, more = parse_file(_read(folder, file.name))
            header = last or header
            after = points[-1].start if points else -1.0
            points += [point for point in more if point.start > after]
    return header, [point for point in points if point.start >= since]


def _read(folder: int, name: str) -> str:
    """Return the beginning of a regular file; empty for anything else. No link is followed."""
    with opened(os.open(name, READ_FLAGS | os.O_NOFOLLOW, dir_fd=folder)) as fd:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        with open(fd, "rb", closefd=False) as file:
            return file.read(MAX_BYTES).decode(errors="replace")


def _within_budget(series: list[tuple[str, Header, list[Point]]]) -> list[Result]:
    return list(_to_results(series, MAX_VALUES // max(1, len(series))))


def _to_results(series: list[tuple[str, Header, list[Point]]], budget: int) -> Iterator[Result]:
    for node, header, points in series:
        width = 2 + max(len(point.values) for point in points)
        thinned = thin_points(points, budget // width)
        merged = len(points) / len(thinned)
        yield {
            "node": node,
            "header": asdict(header) | {"step_s": header.step_s * max(1, round(merged))},
            "points": [point_row(point) for point in thinned],
        }
