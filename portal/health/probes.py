"""Probes of the system status and the interpretation of their results. status.py runs them.

Slurm's controller is not probed separately: the watcher polls it all the time. The probe of nginx
is in status_nginx.py.
"""

import asyncio
import contextlib
import getpass
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from portal.config.origin_check import check_content_origins
from portal.context import AppContext
from portal.db import Database, sqlite_file, utcnow
from portal.directory.contract import Directory
from portal.health import status_clocks, status_nginx
from portal.health.check import OPERATOR_ADVICE, OPERATORS, directory_advice, launcher
from portal.health.status import (
    Answer,
    Component,
    ComponentState,
    Probe,
    ProbeResult,
    SystemStatus,
    ago,
    sentence,
)
from portal.hub.client import HubNotReady, HubRefused
from portal.services.cluster.node_table import TableProblem
from portal.services.mail.smtp import STEP_S
from spawner.errors import SlurmError, Unreachable
from spawner.slurm.model import NodeInfo

log = structlog.get_logger(__name__)

GIB = 1024**3
LITTLE_SHARE, LITTLE_BYTES = 0.05, GIB
MOST_NAMES = 10
MOST_PROBLEMS = 5
DOWN = ("DOWN", "FAIL", "ERROR", "UNKNOWN")
MAIN = ""
"""Name of the instance of a component that has only one."""


def open_status(context: AppContext, directory: Directory) -> SystemStatus:
    """Create the value of `app.state.status`."""
    probes = Probes(context, directory)
    status = SystemStatus(
        [
            Probe(Component.DATABASE, [MAIN], probes.database, advice=ADVICE[Component.DATABASE]),
            Probe(
                Component.DIRECTORY,
                context.settings.ldap_urls,
                probes.servers,
                every_s=30.0,
                timeout_s=25.0,
                advice=directory_advice("no response"),
            ),
            Probe(Component.SLURM, [MAIN], probes.slurm, every_s=5.0),
            Probe(
                Component.SLURMDBD,
                [MAIN],
                probes.slurmdbd,
                every_s=60.0,
                timeout_s=context.settings.slurm_timeout_s + 5,
                advice=ADVICE[Component.SLURMDBD],
            ),
            Probe(Component.NODES, [MAIN], probes.nodes, every_s=5.0),
            Probe(Component.HUB, [MAIN], probes.hub, advice=ADVICE[Component.HUB]),
            Probe(
                Component.NGINX,
                [MAIN],
                probes.nginx,
                timeout_s=status_nginx.TIMEOUT_S,
                advice=status_nginx.ADVICE,
            ),
            Probe(Component.LAUNCHER, [MAIN], probes.launcher, every_s=30.0),
            Probe(Component.CATALOG, [MAIN], probes.catalog),
            Probe(Component.DISK, [MAIN], probes.disk, every_s=60.0, advice=ADVICE[Component.DISK]),
            Probe(Component.ORIGINS, [MAIN], probes.origins, every_s=60.0),
            *_build_node_table_probes(context, probes),
            *_build_mail_probes(context, probes),
        ]
    )
    probes.status = status
    return status


def _build_node_table_probes(context: AppContext, probes: "Probes") -> list[Probe]:
    """Return the probe of the operator's table of nodes, if there is one."""
    advice = ADVICE[Component.NODE_TABLE]
    probe = Probe(Component.NODE_TABLE, [MAIN], probes.node_table, advice=advice)
    return [probe] if context.node_table.file else []


def _build_mail_probes(context: AppContext, probes: "Probes") -> list[Probe]:
    """Return the probe of the mail server, if there is one."""
    advice = ADVICE[Component.MAIL]
    every_s, timeout_s = 300.0, 5 * STEP_S
    probe = Probe(Component.MAIL, [MAIN], probes.mail, every_s, timeout_s, advice)
    return [probe] if context.smtp is not None else []


ADVICE = {
    Component.DATABASE: "Check database_url and state_dir, and that the database server runs.",
    Component.SLURM: (
        "Check that slurmctld is running (`scontrol ping`), that munged is running on this "
        "machine, and that the clocks are synchronized. Jobs continue, and the portal shows the "
        "last known state until Slurm responds again."
    ),
    Component.SLURMDBD: (
        "Check that slurmdbd and its database are running (`sacctmgr show cluster`). Until then, "
        "the portal can't see how jobs ended, and limits aren't applied in Slurm."
    ),
    Component.NODES: (
        "`sinfo -R` shows the reasons; `scontrol update NodeName=… State=RESUME` resumes a node. "
        "If a node does not respond, slurmd or munged may not be running on it, or its clock or "
        "munge.key may differ: check with `munge -n | ssh NODE unmunge`."
    ),
    Component.HUB: (
        "Check that JupyterHub is running, and check hub_url and hub_token_file. Open notebooks "
        "continue; new sessions wait."
    ),
    Component.LAUNCHER: (
        "Check launcher_path and the portal's line in sudoers. Until this works, users can't "
        "start anything or read logs."
    ),
    Component.CATALOG: "The Catalog page lists the files and their problems.",
    Component.NODE_TABLE: (
        "Correct the file in node_table_file; it is reloaded automatically. `portal check` and "
        "the portal's log show the problem in each line."
    ),
    Component.DISK: "Free space on the disk of state_dir: when it is full, nothing can be saved.",
    Component.MAIL: (
        "Check the smtp_ settings and that the server is running; `portal check` tests them. "
        "E-mails wait for up to a day."
    ),
}


HOMES_ADVICE = (
    "Check that the file system with the home directories is mounted and responding on the "
    "portal's host: `ls -ld ~NAME`."
)
MOST_HOMELESS = 1
"""If more users than this have unusable homes, and no user has a usable one, the homes are
unavailable.
"""
DENIED_ADVICE = (
    "Check slurmdbd's log, and check that the account exists on its machine (`id {account}`); "
    "then restart slurmdbd. The portal retries every minute."
)


@dataclass
class Probes:
    """Probes of all components. An exception means that the component is failing; its text is the
    message.
    """

    context: AppContext
    directory: Directory
    status: SystemStatus | None = None
    slurm_clock: status_clocks.SlurmClock = field(default_factory=status_clocks.SlurmClock)

    async def database(self) -> Answer:
        await self.context.db.answers()
        if (differs := await status_clocks.probe_database_clock(self.context.db)) is not None:
            return {MAIN: differs}
        return {
            MAIN: ProbeResult(
                ComponentState.OK, await asyncio.to_thread(_describe_database, self.context.db)
            )
        }

    async def servers(self) -> Answer:
        """Probe each of the directory's servers, by its address."""
        found = {}
        for server in await self.directory.health():
            if server.cause is None:
                good = ProbeResult(
                    ComponentState.OK, "Responding.", latency_ms=server.took_ms, timed=False
                )
                found[server.url] = good
            else:
                advice = directory_advice(server.cause)
                found[server.url] = ProbeResult(
                    ComponentState.FAILING, sentence(server.cause), advice
                )
        return found

    async def slurm(self) -> Answer:
        """Report the watcher's last result."""
        if self.status is not None and self.status.slurm_version is None:
            # Missing commands are reported below.
            with contextlib.suppress(SlurmError):
                self.status.slurm_version = await self.context.slurm.version()
        watcher = self.context.watcher
        if watcher.stale_since is None:
            if (differs := await self.slurm_clock.differs(self.context.settings)) is not None:
                return {MAIN: replace(differs, answered_at=watcher.at)}
            took_ms = round(watcher.took_s * 1000) if watcher.took_s is not None else None
            text = f"Responding; {_format_count(len(watcher.jobs), 'job')} known."
            found = ProbeResult(
                ComponentState.OK, text, answered_at=watcher.at, latency_ms=took_ms, timed=False
            )
            return {MAIN: found}
        if watcher.trouble is None:
            return {MAIN: ProbeResult(ComponentState.UNKNOWN, "Not checked yet.")}
        for_long = ago(watcher.stale_since, utcnow())
        text = f"No response for {for_long}: {sentence(watcher.trouble)}"
        advice = ADVICE[Component.SLURM]
        return {MAIN: ProbeResult(ComponentState.FAILING, text, advice, answered_at=watcher.at)}

    async def slurmdbd(self) -> Answer:
        """Probe whether it answers, lets the portal write, and accepted the last changes."""
        account = getpass.getuser()
        try:
            await self.context.slurm.accounting_answers()
            level = await self.context.slurm.admin_level(account)
        except SlurmError as error:
            reply = error.stderr.strip().partition("\n")[0] or error.message
            text = (
                f"No response: {reply[:300]}" if isinstance(error, Unreachable) else error.message
            )
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.SLURMDBD])}
        if level not in OPERATORS:
            text = f"Responding, but the portal's account {account} is not a Slurm operator:"
            text += " limits can't be applied in Slurm, and jobs can't be ended."
            return {
                MAIN: ProbeResult(
                    ComponentState.FAILING, text, OPERATOR_ADVICE.format(account=account)
                )
            }
        if self.context.accounting.denied:
            text = f"{account} is a Slurm operator, but slurmdbd refuses the portal's changes."
            return {
                MAIN: ProbeResult(
                    ComponentState.FAILING, text, DENIED_ADVICE.format(account=account)
                )
            }
        return {MAIN: ProbeResult(ComponentState.OK, "Responding.")}

    async def nodes(self) -> Answer:
        watcher = self.context.watcher
        if watcher.cluster is None:
            return {
                MAIN: ProbeResult(ComponentState.UNKNOWN, "The node list is not available yet.")
            }
        nodes, at = watcher.cluster.nodes, watcher.cluster.at
        if watcher.stale_since is not None:
            text = "Slurm is not responding: the state of the nodes is unknown."
            return {MAIN: ProbeResult(ComponentState.UNKNOWN, text, answered_at=at)}
        down = [node.name for node in nodes if is_down(node)]
        if not down:
            drained = sum("DRAIN" in node.state.upper() for node in nodes)
            more = f", {drained} of them drained by an administrator" if drained else ""
            return {
                MAIN: ProbeResult(
                    ComponentState.OK,
                    f"{_format_count(len(nodes), 'node')}, none down{more}.",
                    answered_at=at,
                    timed=False,
                )
            }
        text = f"{len(down)} of {_format_count(len(nodes), 'node')} down: {_format_names(down)}."
        return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.NODES])}

    async def hub(self) -> Answer:
        try:
            version = await self.context.hub.version()
        except HubRefused as error:
            text = f"JupyterHub refuses the portal: {sentence(str(error))}"
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.HUB])}
        except HubNotReady as error:
            log.warning("no response from the hub", cause=str(error)[:300])
            text = f"No response from {self.context.settings.hub_url}."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.HUB])}
        if self.status is not None:
            self.status.hub_version = version or None
        return {MAIN: ProbeResult(ComponentState.OK, "Responding.")}

    async def nginx(self) -> Answer:
        return {MAIN: await status_nginx.probe_nginx(self.context)}

    async def origins(self) -> Answer:
        """Check in the settings whether user content is on origins separate from the portal's."""
        problem = check_content_origins(self.context.settings)
        if problem is None:
            text = "Notebooks and TensorBoards use separate origins."
            return {MAIN: ProbeResult(ComponentState.OK, text, timed=False)}
        return {MAIN: ProbeResult(ComponentState.FAILING, problem.text, problem.advice)}

    async def launcher(self) -> Answer:
        """Check its installation, and report the result of its last use."""
        agents, result = (
            self.context.launchers,
            await asyncio.to_thread(launcher, self.context.settings),
        )
        at, advice = agents.answered_at, ADVICE[Component.LAUNCHER]
        if result.problem is not None:
            text = sentence(result.problem)
            return {MAIN: ProbeResult(ComponentState.FAILING, text, result.advice, answered_at=at)}
        if agents.trouble is not None and (at is None or at < agents.trouble[0]):
            since = ago(agents.trouble[0], utcnow())
            text = f"{sentence(agents.trouble[1])} It was last used {since} ago."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, advice, answered_at=at)}
        if len(agents.homeless) > MOST_HOMELESS:
            why = next(reversed(agents.homeless.values()))
            names = _format_names(list(agents.homeless))
            text = f"No home directory could be used recently: {names}."
            return {
                MAIN: ProbeResult(
                    ComponentState.FAILING, f"{text} {why}", HOMES_ADVICE, answered_at=at
                )
            }
        if at is None:
            text = "Installed. It has not been used since the portal started."
            return {MAIN: ProbeResult(ComponentState.UNKNOWN, text)}
        return {
            MAIN: ProbeResult(
                ComponentState.OK, "It worked when it was last used.", answered_at=at, timed=False
            )
        }

    async def catalog(self) -> Answer:
        problems = len(self.context.catalog.problems)
        if problems:
            text = f"{_format_count(problems, 'problem')} in the environment and template files."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.CATALOG])}
        return {MAIN: ProbeResult(ComponentState.OK, "All files are valid.", timed=False)}

    async def node_table(self) -> Answer:
        """Report which lines of the file with the nodes' addresses are invalid. Their contents may
        be confidential to some viewers of this page, so only the log has the details.
        """
        table, cluster = self.context.node_table, self.context.watcher.cluster
        if table.problems:
            mistakes = _format_count(len(table.problems), "mistake")
            text = f"{mistakes} in {table.file}: {_describe_lines(table.problems)}."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.NODE_TABLE])}
        text = f"It has the addresses of {_format_count(len(table.nodes), 'node')}."
        known = {node.name for node in cluster.nodes} if cluster else None
        strange = table.nodes.keys() - known if known is not None else set()
        if strange:
            text += f" Slurm has no node called {_format_names(strange)}."
        return {MAIN: ProbeResult(ComponentState.OK, text, timed=False)}

    async def disk(self) -> Answer:
        folder = self.context.settings.state_dir
        use = await asyncio.to_thread(shutil.disk_usage, folder)
        text = (
            f"{use.free / GIB:.1f} of {use.total / GIB:.1f} GiB are free on the disk of {folder}."
        )
        if use.free < LITTLE_BYTES or use.free < use.total * LITTLE_SHARE:
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.DISK])}
        return {MAIN: ProbeResult(ComponentState.OK, text, timed=False)}

    async def mail(self) -> Answer:
        """Probe whether the server answers, and report the result of the last delivery."""
        smtp = self.context.smtp
        if smtp is None:
            return {}
        await smtp.greets()
        at, advice = smtp.answered_at, ADVICE[Component.MAIL]
        if smtp.trouble is not None and (at is None or at < smtp.trouble[0]):
            since = ago(smtp.trouble[0], utcnow())
            text = f"{sentence(smtp.trouble[1])} The last attempt to send was {since} ago."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, advice, answered_at=at)}
        if at is None:
            return {
                MAIN: ProbeResult(
                    ComponentState.OK,
                    "Responding. No e-mail has been sent since the portal started.",
                )
            }
        return {MAIN: ProbeResult(ComponentState.OK, "Responding; the last e-mail was accepted.")}


def is_down(node: NodeInfo) -> bool:
    """Return whether Slurm has lost a node unintentionally: a drained one is not down."""
    flags = node.state.upper().rstrip("~#!%$@^-").rstrip("*").split("+")
    return node.state.endswith("*") or any(flag.startswith(DOWN) for flag in flags)


def _describe_database(db: Database) -> str:
    file = sqlite_file(db.url)
    if file is None:
        return "PostgreSQL is responding." if db.url.startswith("postgresql") else "Responding."
    bytes_ = sum(_file_size(Path(f"{file}{end}")) for end in ("", "-wal"))
    return f"SQLite is responding; its file is {bytes_ / 1024**2:.0f} MiB."


def _file_size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _describe_lines(problems: Iterable[TableProblem]) -> str:
    """Return problems of the file itself, but of its lines only their numbers."""
    whole = [one.text for one in problems if one.line is None]
    texts = whole + [f"line {line}" for line in sorted({one.line for one in problems if one.line})]
    more = len(texts) - MOST_PROBLEMS
    return ", ".join(texts[:MOST_PROBLEMS]) + (f" and {more} more" if more > 0 else "")


def _format_count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _format_names(names: Iterable[str]) -> str:
    first = sorted(names)
    more = len(first) - MOST_NAMES
    return ", ".join(first[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
