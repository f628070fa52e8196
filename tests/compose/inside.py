"""The program within the namespaces: dockerd, and the command. Started by tests.compose only.

    python -m tests.compose.inside FD FOLDER PROGRAMS BASE CGROUP -- COMMAND…

FD becomes readable once there is a network.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.host.machine import PATH, folder, run, succeeds, wait_for, write
from tests.compose.packages import BASE_IMAGE, PLUGINS

CGROUPS = Path("/sys/fs/cgroup")
FUSE = Path("/dev/fuse")
PATIENCE_S = 120.0
KEPT_CACHE = "6GB"


def main() -> int:
    go, own, programs, base, cgroup, _, *command = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if os.read(int(go), 1) != b"1":
        return 1
    state = Path(own)
    _mount(state)
    environment = _environment(state, Path(programs))
    os.environ.update(environment)
    with _engine(state, Path(programs), cgroup):
        _tidy(Path(base))
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
            try:
                return process.wait()
            except BaseException:
                process.terminate()  # it stops its containers; then everything ends
                raise


def _mount(state: Path) -> None:
    """Mount a private /run and a view of the own network, and open a device to all users."""
    run(["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"])
    kept = folder(state / "run" / "cgroups")
    run(["mount", "--rbind", str(CGROUPS), str(kept)])
    run(["mount", "-t", "sysfs", "sysfs", "/sys"])
    run(["mount", "--rbind", str(kept), str(CGROUPS)])
    run(["umount", "--lazy", str(kept)])
    fuse = state / "run" / "fuse"
    if FUSE.exists():
        run(["mknod", "-m", "666", str(fuse), "c", "10", "229"])
        run(["mount", "--bind", str(fuse), str(FUSE)])


def _environment(state: Path, programs: Path) -> dict[str, str]:
    """Return the environment in which `docker` uses the tests' Docker."""
    config = {"cliPluginsExtraDirs": [str(programs / PLUGINS)]}
    write(state / "config" / "config.json", json.dumps(config))
    return {
        "PATH": f"{programs}/usr/bin:{programs}/usr/sbin:{PATH}",
        "DOCKER_HOST": f"unix://{state}/run/docker.sock",
        "DOCKER_CONFIG": str(state / "config"),
    }


@contextmanager
def _engine(state: Path, programs: Path, cgroup: str) -> Iterator[None]:
    """Run dockerd until the block ends; yields once it answers."""
    places = [f"--data-root={state}/docker", f"--exec-root={state}/run/exec"]
    places += [f"--pidfile={state}/run/docker.pid", f"--host=unix://{state}/run/docker.sock"]
    how = ["--storage-driver=overlay2", "--mtu=1400", f"--cgroup-parent=/{cgroup}"]
    with (state / "dockerd.log").open("wb") as log:
        process = subprocess.Popen(
            [str(programs / "usr/sbin/dockerd"), *places, *how],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(
            lambda: process.poll() is not None or succeeds(["docker", "version"], os.environ),
            "dockerd", PATIENCE_S, state / "dockerd.log",
        )  # fmt: skip
        if process.poll() is not None:
            raise RuntimeError(f"dockerd ended; see {state}/dockerd.log")
        yield
    finally:
        process.terminate()
        process.wait()


def _tidy(base: Path) -> None:
    """Remove an earlier run's containers and volumes, but not its layers; load the base image."""
    if containers := _docker("ps", "--all", "--quiet").split():
        _docker("rm", "--force", *containers)
    _docker("volume", "prune", "--all", "--force")
    _docker("network", "prune", "--force")
    _docker("image", "prune", "--force")  # an earlier build's images with the names of this build's
    _docker("builder", "prune", "--force", "--keep-storage", KEPT_CACHE)
    label = f"base={base.name}"
    if not _docker("images", "--quiet", "--filter", f"label={label}", BASE_IMAGE).strip():
        changes = ["--change", 'CMD ["bash"]', "--change", f"LABEL {label}"]
        _docker("import", *changes, str(base), BASE_IMAGE)


def _docker(*arguments: str) -> str:
    return run(["docker", *arguments], env=os.environ, timeout_s=PATIENCE_S)


if __name__ == "__main__":
    sys.exit(main())
