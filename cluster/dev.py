"""Development on the demo cluster: changes in the checkout take effect as they are saved.

    python3 -m cluster.dev --state-root DIR

After a change of Python files the cluster is brought up to date, which restarts the portal;
sessions continue. Vite serves the pages at an address of its own, reloads changed modules in the
browser, and forwards requests to the portal. Ctrl-C ends it; the cluster stays up. Standard library
only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cluster.config.paths import CHECKOUT, PYTHON

WATCHED = ("portal", "spawner", "deploy", "migrations")
SUFFIXES = {".py", ".yaml", ".json", ".jinja"}
POLL_S = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m cluster.dev", description=__doc__)
    parser.add_argument("--state-root", type=Path, required=True)
    root: Path = parser.parse_args().state_root
    cluster = [PYTHON, "-m", "cluster", "--state", str(root / "demo")]
    if subprocess.run([*cluster, "up"], cwd=CHECKOUT, check=False).returncode:
        return 1
    credentials = subprocess.run(
        [*cluster, "credentials"], cwd=CHECKOUT, check=True, capture_output=True
    )
    url = json.loads(credentials.stdout)["base_url"]
    vite = [PYTHON, "-m", "cluster.prepare", "--state-root", str(root), "npm", "run", "dev"]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pages = subprocess.Popen(
        vite, cwd=CHECKOUT, env={**os.environ, "PORTAL_URL": url}, start_new_session=True
    )
    try:
        for changed in changes(CHECKOUT):
            print(f"changed: {', '.join(changed)}", flush=True)
            subprocess.run([*cluster, "up"], cwd=CHECKOUT, check=False)
    except KeyboardInterrupt:
        return 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pages.pid, signal.SIGTERM)
        pages.wait()
    return 0


def changes(checkout: Path, poll_s: float = POLL_S) -> Iterator[list[str]]:
    """Yield the watched files that were changed, added or removed since the previous yield."""
    before = modification_times(checkout)
    while True:
        time.sleep(poll_s)
        now = modification_times(checkout)
        if changed := sorted(name for name, _ in before.items() ^ now.items()):
            yield list(dict.fromkeys(changed))
        before = now


def modification_times(checkout: Path) -> dict[str, int]:
    """Return the modification time, in nanoseconds, of each watched file."""
    times = {}
    for folder in WATCHED:
        for directory, folders, names in os.walk(checkout / folder):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in names:
                path = Path(directory, name)
                if path.suffix in SUFFIXES and path.exists():
                    times[str(path.relative_to(checkout))] = path.stat().st_mtime_ns
    return times


if __name__ == "__main__":
    sys.exit(main())
