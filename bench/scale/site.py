"""A portal for load tests, without a cluster: a real slapd, and a Slurm whose commands print files.

The portal runs from this checkout as a process of its own. `squeue` prints the lines that a
measurement writes, so that any number of jobs can be in any state. Everything lies in one folder,
which is removed afterwards.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cluster_access import Failed, connects, free_port, started, wait_until
from bench.load import Load, Target, hammer
from bench.many_nodes import NODES, render_nodes, render_partitions
from bench.rows import MARK, BenchLogins, Scene, fill
from cluster.config.paths import CHECKOUT
from portal.config.settings import Settings
from portal.db import Database
from tests.portal.command_line import write_config
from tests.portal.conftest import settings_in
from tests.servers import slapd

RECORDED = CHECKOUT / "tests/data/slurm/22.05.8"
FIRST_ANSWER_S = 90.0
CONNECTIONS, PAUSE_S, WARM_S = 4, 0.05, 1.0
SQUEUE = """#!/bin/sh
mark=${{SQUEUE_FORMAT%%\\%*}}
exec sed "s/{mark}/$mark/g" {lines}
"""
SCONTROL = """#!/bin/sh
case "$*" in
    *"show node"*) exec cat {folder}/nodes.txt ;;
    *"show partition"*) exec cat {folder}/partitions.txt ;;
    *"show config"*) exec cat {folder}/config.txt ;;
esac
"""
SDIAG = "#!/bin/sh\necho 'DBD Agent queue size: 0'\n"
SILENT = "#!/bin/sh\n"  # an accounting without jobs

Fill = Callable[[Database, "SlurmFiles"], Awaitable[BenchLogins]]


@dataclass(frozen=True)
class SlurmFiles:
    """Slurm's commands in `folder`, and the files that they print."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, nodes: int) -> SlurmFiles:
        folder.mkdir()
        (folder / "nodes.txt").write_text(_render(render_nodes, "nodes.txt", nodes))
        (folder / "partitions.txt").write_text(_render(render_partitions, "partitions.txt", nodes))
        shutil.copy(RECORDED / "config.txt", folder)
        scripts = {
            "squeue": SQUEUE.format(mark=MARK, lines=folder / "squeue.txt"),
            "scontrol": SCONTROL.format(folder=folder),
            "sdiag": SDIAG,
            **dict.fromkeys(("sacct", "sacctmgr", "scancel"), SILENT),
        }
        for name, text in scripts.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        files = cls(folder)
        files.show_jobs("")
        return files

    def show_jobs(self, lines: str) -> None:
        """Let squeue print these lines from now on."""
        fresh = self.folder / "squeue.new"
        fresh.write_text(lines)
        fresh.rename(self.folder / "squeue.txt")


def _render(render: Callable[[str, int], str], recorded: str, nodes: int) -> str:
    return render((RECORDED / recorded).read_text(), nodes)


@dataclass(frozen=True)
class Site:
    """A running portal; `slurm` are the files that it reads as Slurm's answers."""

    settings: Settings
    slurm: SlurmFiles
    logins: BenchLogins
    pid: int

    @property
    def url(self) -> str:
        return self.settings.public_url

    def target(
        self, path: str, token: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Target:
        """Return a request of the user with this login; by default of the first user, or of the
        administrator for an administrator's address.
        """
        own = self.logins.admin_token if "/admin/" in path else self.logins.user_token
        cookie = {"Cookie": f"portal_session={token or own}"}
        return Target.get(self.url + path, {**cookie, **(headers or {})})

    async def measure_calls(self, paths: Mapping[str, str], seconds: float) -> dict[str, Load]:
        """Measure these addresses one after another, by name, with the portal's processor time.

        Its loops are part of that, which counts where few requests are answered.
        """
        loads = {}
        for name, path in paths.items():
            target = self.target(path)
            await hammer(target, 1, WARM_S, PAUSE_S)
            before_s = self.processor_s()
            load = await hammer(target, CONNECTIONS, seconds, PAUSE_S)
            used_s = self.processor_s() - before_s
            load.processor_ms = used_s / len(load.latencies_ms) * 1000
            loads[name] = load
        return loads

    def processor_s(self) -> float:
        """Return the processor time that the portal has used, without its child processes."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _fill_users(database: Database, _slurm: SlurmFiles) -> BenchLogins:
    """Add two users without sessions or jobs."""
    logins, _ = await fill(database, Scene(users=2))
    return logins


@asynccontextmanager
async def running_site(
    folder: Path,
    *,
    fill_database: Fill = _fill_users,
    directory: slapd.Content = slapd.LOGINS,
    nodes: int = NODES,
    **changes: Any,
) -> AsyncIterator[Site]:
    """Run a portal in a new folder until the block ends, with a database that was filled before.

    `changes` replace single settings.
    """
    _remake(folder)
    try:
        slurm = SlurmFiles.create(folder / "slurm", nodes)
        with slapd.running(folder / "slapd", directory) as running:
            port = free_port()
            places = {"public_url": f"http://127.0.0.1:{port}", "listen_port": port}
            places["slurm_bin_dir"] = slurm.folder
            settings = settings_in(folder, running, **{**places, **changes})
            logins = await _prepare_database(settings, slurm, fill_database)
            with _run_portal(folder, settings) as pid:
                yield Site(settings, slurm, logins, pid)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remake(folder: Path) -> None:
    """Create an empty folder, in place of one that a killed run has left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


async def _prepare_database(
    settings: Settings, slurm: SlurmFiles, fill_database: Fill
) -> BenchLogins:
    database = Database(settings.database)
    try:
        await database.migrate()
        return await fill_database(database, slurm)
    finally:
        await database.close()


@contextmanager
def _run_portal(folder: Path, settings: Settings) -> Iterator[int]:
    log = folder / "portal.log"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PORTAL_")}
    env = {**kept, "PORTAL_CONFIG": str(write_config(settings, folder / "portal.toml"))}
    argv = [sys.executable, "-m", "portal", "serve"]
    with log.open("wb") as output, started(argv, output, env=env, cwd=CHECKOUT) as process:
        try:
            wait_until(lambda: connects(settings.listen_port), "the portal", FIRST_ANSWER_S)
            yield process.pid
        except Failed as error:
            raise Failed(f"{error}; its log ends: {log.read_text()[-1500:]}") from error
