"""A played `systemctl`: it starts and stops the services as their units describe.

It runs as root in the head's namespaces (`host.py` puts it there), and knows only the commands of
docs/install.md and of `portal upgrade`. It restarts no service that ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from tests.install import units

UNITS = Path("/etc/systemd/system")
STATE = Path("/var/lib/played-systemd")
PATIENCE_S = 120.0


def main() -> int:
    command, *words = [word for word in sys.argv[1:] if word != "--now"]
    STATE.mkdir(exist_ok=True)
    names = [name for word in words for name in _expand(word)]
    actions = {
        "enable": _start,
        "start": _start,
        "stop": _stop,
        "restart": lambda name: _stop(name) or _start(name),
        "reload": _reload,
        "reload-or-restart": _reload,
    }
    if command == "is-active":
        print(*("active" if _find_process(name) else "inactive" for name in names), sep="\n")
    elif command in actions:
        return max(map(actions[command], names), default=0)
    elif command not in {"daemon-reload", "is-enabled"}:
        print(f"Unknown command {command}.", file=sys.stderr)
        return 1
    return 0


def _expand(name: str) -> list[str]:
    """Return the units of a target. Timers do nothing here."""
    if name.endswith(".timer"):
        return []
    if name.endswith(".target"):
        wanted = _read(name)["Wants"][-1].split()
        return [unit for word in wanted for unit in _expand(word)]
    return [name if "." in name else f"{name}.service"]


def _read(name: str) -> dict[str, list[str]]:
    return units.parse((UNITS / name).read_text(encoding="utf-8"))


def _start(name: str) -> int:
    if name.endswith(".socket") or _find_process(name):
        return 0
    unit = _read(name)
    if "ExecStartPre" in unit and _run_before(unit, name):
        return 1
    listen = _read("portal.socket")["ListenStream"][-1] if "Requires" in unit else None
    with (STATE / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            units.argv(unit, listen=listen),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (STATE / f"{name}.pid").write_text(str(process.pid))
    if listen is None or _is_notified(process, f"http://{listen}/healthz"):
        return 0
    print(f"Job for {name} failed.", file=sys.stderr)
    return 1


def _run_before(unit: dict[str, list[str]], name: str) -> int:
    done = subprocess.run(
        units.argv(unit, "ExecStartPre"), check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        print(f"{name}: {done.stderr}", file=sys.stderr)
    return done.returncode


def _is_notified(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait for the portal's answer, which stands for its notification, or its end."""
    end = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
        time.sleep(0.1)
    return False


def _stop(name: str) -> int:
    """Signal only the main process."""
    process = _find_process(name)
    if name.endswith(".socket") or process is None:
        return 0
    kill = _read(name).get("KillSignal", ["SIGTERM"])[-1]
    os.kill(process, signal.Signals[kill])
    end = time.monotonic() + PATIENCE_S
    while _find_process(name):
        if time.monotonic() > end:
            print(f"{name} doesn't stop.", file=sys.stderr)
            return 1
        time.sleep(0.05)
    return 0


def _reload(name: str) -> int:
    process = _find_process(name)
    if process is None:
        return _start(name)
    if _run_before(_read(name), name):
        return 1
    os.kill(process, signal.SIGHUP)
    return 0


def _find_process(name: str) -> int | None:
    """Return the process of a service, or of the one that a socket is for; None once it ended."""
    name = name.replace(".socket", ".service")
    file = STATE / f"{name}.pid"
    try:
        pid = int(file.read_text())
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else pid


if __name__ == "__main__":
    sys.exit(main())
