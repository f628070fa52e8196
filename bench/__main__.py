"""Run the benchmarks, print a table and write bench.json. A missed budget is shown, not an
error. `load` stands for the measurements at scale, which need no cluster and run on request only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from bench import api, board, front, launcher, memory, pages, queries, start
from bench.cluster_access import BenchCluster, Failed
from bench.figure import Figure, Result, markdown, table
from bench.load import BadResponse
from bench.machine import describe_machine
from bench.scale import array, directory, files, history, logins, nodes, streams
from bench.stored import render_stored
from cluster.client import RequestRefused
from cluster.errors import ClusterError

MEASUREMENTS: dict[str, Callable[[BenchCluster], Awaitable[Result]]] = {
    "start": start.measure,
    "pages": pages.measure,
    "front": front.measure,
    "tensorboard": board.measure,
    "queries": queries.measure,
    "memory": memory.measure,
    "launcher": launcher.measure,
    "api": api.measure,
}
LOAD = "load"
LOADS: dict[str, Callable[[Path], Awaitable[Result]]] = {
    "logins": logins.measure,
    "streams": streams.measure,
    "history": history.measure_sqlite,
    "history-postgresql": history.measure_postgresql,
    "directory": directory.measure,
    "nodes": nodes.measure,
    "array": array.measure,
    "files": files.measure,
}
LOAD_S = 600.0  # for one of them, which takes up to 300 s on two free processors
LOAD_BYTES = 4 << 30  # of memory, for each process
FAILURES = (
    Failed,
    BadResponse,
    RequestRefused,
    ClusterError,
    TimeoutError,
    OSError,
    aiohttp.ClientError,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    choices = ", ".join([*MEASUREMENTS, LOAD, *LOADS])
    parser.add_argument("name", nargs="*", metavar="NAME", help=choices)
    parser.add_argument("--markdown", action="store_true", help="a table for a page")
    parser.add_argument(
        "--stored", action="store_true", help="only print stored results, for a page"
    )
    args = parser.parse_args()
    names = _expand(args.name)
    unknown = set(names) - set(MEASUREMENTS) - set(LOADS)
    if unknown:
        parser.error(f"no measurement is called {', '.join(sorted(unknown))}")
    root = _folder("PORTAL_STATE_ROOT")
    if args.stored:
        print(render_stored(_read(root / "bench.json"), names))
        return 0
    cluster = None
    if not set(names) <= set(LOADS):
        cluster = BenchCluster.load(_folder("PORTAL_TEST_CLUSTER"))
    results: dict[str, Result] = {}
    try:
        asyncio.run(_measure_all(root, cluster, names, results))
    except (KeyboardInterrupt, asyncio.CancelledError):
        _log("interrupted")
    figures = [figure for result in results.values() for figure in result.figures]
    print((markdown if args.markdown else table)(figures))
    return 0 if len(results) == len(names) else 1


def _expand(names: list[str]) -> list[str]:
    """Return the names of measurements, without duplicates; by default all that need a cluster."""
    parts = [[*LOADS] if name == LOAD else [name] for name in names or MEASUREMENTS]
    return list(dict.fromkeys(name for part in parts for name in part))


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        sys.exit(f"{variable} names no folder: run this by `make bench`")
    return Path(value)


async def _measure_all(
    root: Path, cluster: BenchCluster | None, names: list[str], results: dict[str, Result]
) -> None:
    """Run the benchmarks one after another. Log a failed one and leave it out of the results."""
    _end_on_term()
    for name in names:
        began = time.monotonic()
        try:
            if cluster is not None and name in MEASUREMENTS:
                results[name] = await MEASUREMENTS[name](cluster)
            else:
                results[name] = await _measure_load(root, name)
            _write(root / "bench.json", name, results[name])
        except FAILURES as error:
            _log(f"{name} could not be measured: {error!r}")
        _log(f"{name}: {time.monotonic() - began:.0f} s")


def _end_on_term() -> None:
    """Let SIGTERM cancel the measurements, as Ctrl-C does: they end what they have started."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - called by a coroutine
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


async def _measure_load(root: Path, name: str) -> Result:
    """Run one measurement at scale, with bounded time and memory."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (LOAD_BYTES, before[1]))
    try:
        async with asyncio.timeout(LOAD_S):
            return await LOADS[name](root / LOAD)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _write(file: Path, name: str, result: Result) -> None:
    """Write a benchmark's result. Keep the entries of the others."""
    document = {"measurements": {**_read(file), name: _entry(result.figures, result.detail)}}
    file.write_text(json.dumps(document, indent=1) + "\n")


def _read(file: Path) -> dict[str, Any]:
    """Return the stored entries by the benchmarks' names."""
    entries: dict[str, Any] = json.loads(file.read_text())["measurements"] if file.exists() else {}
    return entries


def _entry(figures: tuple[Figure, ...], detail: dict[str, Any]) -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        **describe_machine(),
        "figures": [figure.as_json() for figure in figures],
        "detail": detail,
    }


if __name__ == "__main__":
    sys.exit(main())
