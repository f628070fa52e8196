"""`python -m tests.compose --state-root DIR [COMMAND…]`: run a command with a separate Docker.

The Docker, all its containers, networks, firewall rules and mounts live in namespaces that end with
this program, however it ends; its data is in DIR/compose. Inside, 127.0.0.1 is not the machine's:
no port of the machine is taken, and several runs are possible in parallel. slirp4netns provides
outgoing connections, without a rule on the machine. The default command is pytest on these tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cluster.config.paths import CHECKOUT, Paths
from cluster.host.machine import folder as make_folder
from cluster.host.machine import locked, wait_for
from tests.compose.packages import provide

CGROUPS = Path("/sys/fs/cgroup")
CAGE = ("setpriv", "--pdeathsig", "KILL")
NAMESPACES = ("--mount", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
PATIENCE_S = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compose", description=__doc__)
    parser.add_argument("--state-root", type=Path, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything started here ends
    folder = make_folder(asked.state_root.resolve() / "compose")
    command = asked.command or [sys.executable, "-m", "pytest", str(Path(__file__).parent)]
    environment = {**os.environ, "PORTAL_STATE_ROOT": str(asked.state_root.resolve())}
    with locked(folder / "lock"):
        programs, base = provide(folder)
        cgroup = Paths(folder).token
        _clear(folder, cgroup)  # left by a killed run
        try:
            with _namespaces(
                folder, [str(programs), str(base), cgroup], command, environment
            ) as it:
                return it.wait()
        finally:
            _clear(folder, cgroup)


@contextmanager
def _namespaces(
    folder: Path, what: Sequence[str], command: Sequence[str], environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run tests.compose.inside with the command, in namespaces with outgoing connections.

    Leaving the block ends everything.
    """
    go, network_is_up = os.pipe()
    init = [str(Path(what[0]) / "usr/bin/tini-static"), "-s", "--"]
    inside = [sys.executable, "-m", "tests.compose.inside", str(go), str(folder), *what, "--"]
    process = subprocess.Popen(
        [*CAGE, "unshare", *NAMESPACES, "--propagation", "private", *init, *inside, *command],
        cwd=CHECKOUT,
        env=environment,
        pass_fds=[go],
    )
    os.close(go)
    try:
        with _way_out(process, network_is_up):
            yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _way_out(process: subprocess.Popen[bytes], network_is_up: int) -> Iterator[None]:
    """Give the namespaces a network, provided by a user-mode program."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: bool(children.read_text().strip()), "the namespaces", PATIENCE_S)
    pid = children.read_text().split()[0]
    wait_for(lambda: _apart(pid), "a network namespace", PATIENCE_S)
    ready, ready_writer = os.pipe()
    options = ["--configure", "--mtu=1500", "--disable-host-loopback", f"--ready-fd={ready_writer}"]
    slirp = subprocess.Popen(
        [*CAGE, "slirp4netns", *options, pid, "tap0"],
        pass_fds=[ready_writer],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(ready_writer)
    try:
        if os.read(ready, 1) != b"1":
            raise RuntimeError("slirp4netns gives no network")
        os.write(network_is_up, b"1")
        os.close(network_is_up)
        yield
    finally:
        os.close(ready)
        slirp.kill()
        slirp.wait()


def _apart(pid: str) -> bool:
    return Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()


def _clear(folder: Path, cgroup: str) -> None:
    """Remove what lies outside the namespaces: the containers' cgroups, and the run folder."""
    wait_for(lambda: _try_remove(cgroup), "the containers' cgroups to empty", PATIENCE_S)
    shutil.rmtree(folder / "run", ignore_errors=True)


def _try_remove(cgroup: str) -> bool:
    """Remove cgroups, innermost first. Return False while a last process is still ending."""
    tops = [path / cgroup for path in (CGROUPS, *CGROUPS.iterdir()) if (path / cgroup).is_dir()]
    for top in tops:
        inner = sorted(top.rglob("*/"), key=lambda path: len(path.parts), reverse=True)
        for path in (*(path for path in inner if path.is_dir()), top):
            try:
                path.rmdir()
            except OSError:
                return False
    return True


if __name__ == "__main__":
    sys.exit(main())
