"""Run the benchmarks, print a table and write bench.json. A missed budget is shown, not an
error."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
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
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--markdown", action="store_true", help="a table for a page")
    args = parser.parse_args()
    unknown = set(args.name) - set(MEASUREMENTS)
    if unknown:
        parser.error(f"no measurement is called {', '.join(sorted(unknown))}")
    cluster = BenchCluster.load(_folder("PORTAL_TEST_CLUSTER"))
    results = asyncio.run(_measure_all(cluster, args.name or list(MEASUREMENTS)))
    figures = [figure for result in results.values() for figure in result.figures]
    print((markdown if args.markdown else table)(figures))
    _write(_folder("PORTAL_STATE_ROOT") / "bench.json", results)
    return 0 if len(results) == len(args.name or MEASUREMENTS) else 1


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        sys.exit(f"{variable} names no folder: run this by `make bench`")
    return Path(value)


async def _measure_all(cluster: BenchCluster, names: list[str]) -> dict[str, Result]:
    """Run the benchmarks one after another. Log a failed one and leave it out of the result."""
    results: dict[str, Result] = {}
    for name in names:
        began = time.monotonic()
        try:
            results[name] = await MEASUREMENTS[name](cluster)
        except FAILURES as error:
            _log(f"{name} could not be measured: {error!r}")
        _log(f"{name}: {time.monotonic() - began:.0f} s")
    return results


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _write(file: Path, results: dict[str, Result]) -> None:
    """Write this run's results. Keep the entries of benchmarks that did not run now."""
    before: dict[str, Any] = json.loads(file.read_text())["measurements"] if file.exists() else {}
    now = {name: _entry(result.figures, result.detail) for name, result in results.items()}
    machine = {"cpus": os.cpu_count(), "load": os.getloadavg()}
    document = {"machine": machine, "measurements": {**before, **now}}
    file.write_text(json.dumps(document, indent=1) + "\n")


def _entry(figures: tuple[Figure, ...], detail: dict[str, Any]) -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "figures": [figure.as_json() for figure in figures],
        "detail": detail,
    }


if __name__ == "__main__":
    sys.exit(main())
