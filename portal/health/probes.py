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


def open_status(parts: AppContext, directory: Directory) -> SystemStatus:
    """Create the value of `app.state.status`."""
    looks = Probes(parts, directory)
    status = SystemStatus(
        [
            Probe(Component.DATABASE, [MAIN], looks.database, advice=ADVICE[Component.DATABASE]),
            Probe(
                Component.DIRECTORY,
                parts.settings.ldap_urls,
                looks.servers,
                every_s=30.0,
                timeout_s=25.0,
                advice=directory_advice("no answer"),
            ),
            Probe(Component.SLURM, [MAIN], looks.slurm, every_s=5.0),
            Probe(
                Component.SLURMDBD,
                [MAIN],
                looks.slurmdbd,
                every_s=60.0,
                timeout_s=parts.settings.slurm_timeout_s + 5,
                advice=ADVICE[Component.SLURMDBD],
            ),
            Probe(Component.NODES, [MAIN], looks.nodes, every_s=5.0),
            Probe(Component.HUB, [MAIN], looks.hub, advice=ADVICE[Component.HUB]),
            Probe(
                Component.NGINX,
                [MAIN],
                looks.nginx,
                timeout_s=status_nginx.TIMEOUT_S,
                advice=status_nginx.ADVICE,
            ),
            Probe(Component.LAUNCHER, [MAIN], looks.launcher, every_s=30.0),
            Probe(Component.CATALOG, [MAIN], looks.catalog),
            Probe(Component.DISK, [MAIN], looks.disk, every_s=60.0, advice=ADVICE[Component.DISK]),
            Probe(Component.ORIGINS, [MAIN], looks.origins, every_s=60.0),
            *_build_node_table_probes(parts, looks),
            *_build_mail_probes(parts, looks),
        ]
    )
    looks.status = status
    return status


def _build_node_table_probes(parts: AppContext, looks: "Probes") -> list[Probe]:
    """Return the probe of the operator's table of nodes, if there is one."""
    advice = ADVICE[Component.NODE_TABLE]
    probe = Probe(Component.NODE_TABLE, [MAIN], looks.node_table, advice=advice)
    return [probe] if parts.node_table.file else []


def _build_mail_probes(parts: AppContext, looks: "Probes") -> list[Probe]:
    """Return the probe of the mail server, if there is one."""
    advice = ADVICE[Component.MAIL]
    every_s, timeout_s = 300.0, 5 * STEP_S
    probe = Probe(Component.MAIL, [MAIN], looks.mail, every_s, timeout_s, advice)
    return [probe] if parts.smtp is not None else []


ADVICE = {
    Component.DATABASE: "Look at database_url and state_dir, and whether its server runs.",
    Component.SLURM: (
        "Look whether slurmctld runs, with `scontrol ping`; whether munged runs here; and whether"
        " the clocks agree. Jobs go on, and the portal shows what it knew last until Slurm answers"
        " again."
    ),
    Component.SLURMDBD: (
        "Look whether slurmdbd and its database run, with `sacctmgr show cluster`. Until they do,"
        " the portal doesn't learn how jobs ended, and limits aren't written to Slurm."
    ),
    Component.NODES: (
        "`sinfo -R` says why; `scontrol update NodeName=… State=RESUME` brings one back. One that"
        " doesn't respond may have no slurmd or munged, or a clock or a munge.key of its own:"
        " `munge -n | ssh NODE unmunge` tells."
    ),
    Component.HUB: (
        "Look whether JupyterHub runs, and at hub_url and hub_token_file. Open notebooks go on; new"
        " sessions wait."
    ),
    Component.LAUNCHER: (
        "Look at launcher_path and at the portal's line in sudoers. Until it works nobody can start"
        " anything or read a log."
    ),
    Component.CATALOG: "The page Catalog says which files, and what is wrong with them.",
    Component.NODE_TABLE: (
        "Correct the file that node_table_file names; it is read again by itself. `portal check`"
        " and the portal's log say what is wrong in each line."
    ),
    Component.DISK: "Make room where state_dir lies: without any, nothing can be written down.",
    Component.MAIL: (
        "Look at the settings that begin with smtp_, and whether the server runs; `portal check`"
        " tries them. E-mails wait, for a day at most."
    ),
}


HOMES_ADVICE = (
    "Look whether the file system with the home directories is mounted on the portal's host and"
    " answers there, with `ls -ld ~NAME`."
)
MOST_HOMELESS = 1
"""If more users than this have unusable homes, and no user has a usable one, the homes are
unavailable.
"""
DENIED_ADVICE = (
    "Look into slurmdbd's log, and whether its machine knows the account, with `id {account}`; then"
    " restart slurmdbd. The portal tries again every minute."
)


@dataclass
class Probes:
    """Probes of all components. An exception means that the component is failing; its text is the
    message.
    """

    parts: AppContext
    directory: Directory
    status: SystemStatus | None = None
    slurm_clock: status_clocks.SlurmClock = field(default_factory=status_clocks.SlurmClock)

    async def database(self) -> Answer:
        await self.parts.db.answers()
        if (differs := await status_clocks.probe_database_clock(self.parts.db)) is not None:
            return {MAIN: differs}
        return {
            MAIN: ProbeResult(
                ComponentState.OK, await asyncio.to_thread(_describe_database, self.parts.db)
            )
        }

    async def servers(self) -> Answer:
        """Probe each of the directory's servers, by its address."""
        found = {}
        for server in await self.directory.health():
            if server.cause is None:
                good = ProbeResult(
                    ComponentState.OK, "It answers.", latency_ms=server.took_ms, timed=False
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
                self.status.slurm_version = await self.parts.slurm.version()
        watcher = self.parts.watcher
        if watcher.stale_since is None:
            if (differs := await self.slurm_clock.differs(self.parts.settings)) is not None:
                return {MAIN: replace(differs, answered_at=watcher.at)}
            took_ms = round(watcher.took_s * 1000) if watcher.took_s is not None else None
            text = f"It answers; {_format_count(len(watcher.jobs), 'job')} known."
            found = ProbeResult(
                ComponentState.OK, text, answered_at=watcher.at, latency_ms=took_ms, timed=False
            )
            return {MAIN: found}
        if watcher.trouble is None:
            return {MAIN: ProbeResult(ComponentState.UNKNOWN, "It hasn't been asked yet.")}
        for_long = ago(watcher.stale_since, utcnow())
        text = f"No answer for {for_long}: {sentence(watcher.trouble)}"
        advice = ADVICE[Component.SLURM]
        return {MAIN: ProbeResult(ComponentState.FAILING, text, advice, answered_at=watcher.at)}

    async def slurmdbd(self) -> Answer:
        """Probe whether it answers, lets the portal write, and accepted the last changes."""
        account = getpass.getuser()
        try:
            await self.parts.slurm.accounting_answers()
            level = await self.parts.slurm.admin_level(account)
        except SlurmError as error:
            reply = error.stderr.strip().partition("\n")[0] or error.message
            text = f"No answer: {reply[:300]}" if isinstance(error, Unreachable) else error.message
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.SLURMDBD])}
        if level not in OPERATORS:
            text = f"It answers, but the portal's account {account} is no operator there:"
            text += " limits aren't written to Slurm, and jobs can't be ended."
            return {
                MAIN: ProbeResult(
                    ComponentState.FAILING, text, OPERATOR_ADVICE.format(account=account)
                )
            }
        if self.parts.books.denied:
            text = f"It calls {account} an operator, and refuses what the portal writes."
            return {
                MAIN: ProbeResult(
                    ComponentState.FAILING, text, DENIED_ADVICE.format(account=account)
                )
            }
        return {MAIN: ProbeResult(ComponentState.OK, "It answers.")}

    async def nodes(self) -> Answer:
        watcher = self.parts.watcher
        if watcher.cluster is None:
            return {
                MAIN: ProbeResult(
                    ComponentState.UNKNOWN, "Slurm hasn't said yet which nodes there are."
                )
            }
        nodes, at = watcher.cluster.nodes, watcher.cluster.at
        if watcher.stale_since is not None:
            text = "Slurm doesn't answer: how the nodes are isn't known."
            return {MAIN: ProbeResult(ComponentState.UNKNOWN, text, answered_at=at)}
        down = [node.name for node in nodes if is_down(node)]
        if not down:
            drained = sum("DRAIN" in node.state.upper() for node in nodes)
            rest = f", {drained} of them drained by an administrator" if drained else ""
            return {
                MAIN: ProbeResult(
                    ComponentState.OK,
                    f"{_format_count(len(nodes), 'node')}, none down{rest}.",
                    answered_at=at,
                    timed=False,
                )
            }
        text = f"{len(down)} of {_format_count(len(nodes), 'node')} down: {_format_names(down)}."
        return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.NODES])}

    async def hub(self) -> Answer:
        try:
            version = await self.parts.hub.version()
        except HubRefused as error:
            text = f"It refuses the portal: {sentence(str(error))}"
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.HUB])}
        except HubNotReady as error:
            log.warning("the hub doesn't answer", cause=str(error)[:300])
            text = f"No answer from {self.parts.settings.hub_url}."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.HUB])}
        if self.status is not None:
            self.status.hub_version = version or None
        return {MAIN: ProbeResult(ComponentState.OK, "It answers.")}

    async def nginx(self) -> Answer:
        return {MAIN: await status_nginx.probe_nginx(self.parts)}

    async def origins(self) -> Answer:
        """Check in the settings whether user content is on origins separate from the portal's."""
        problem = check_content_origins(self.parts.settings)
        if problem is None:
            text = "Notebooks and TensorBoards are on origins of their own."
            return {MAIN: ProbeResult(ComponentState.OK, text, timed=False)}
        return {MAIN: ProbeResult(ComponentState.FAILING, problem.text, problem.advice)}

    async def launcher(self) -> Answer:
        """Check its installation, and report the result of its last use."""
        agents, result = self.parts.agents, await asyncio.to_thread(launcher, self.parts.settings)
        at, advice = agents.answered_at, ADVICE[Component.LAUNCHER]
        if result.problem is not None:
            text = sentence(result.problem)
            return {MAIN: ProbeResult(ComponentState.FAILING, text, result.advice, answered_at=at)}
        if agents.trouble is not None and (at is None or at < agents.trouble[0]):
            since = ago(agents.trouble[0], utcnow())
            text = f"{sentence(agents.trouble[1])} That was {since} ago, when it was last needed."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, advice, answered_at=at)}
        if len(agents.homeless) > MOST_HOMELESS:
            why = next(reversed(agents.homeless.values()))
            names = _format_names(list(agents.homeless))
            text = f"Nobody's home directory could be used lately: {names}."
            return {
                MAIN: ProbeResult(
                    ComponentState.FAILING, f"{text} {why}", HOMES_ADVICE, answered_at=at
                )
            }
        if at is None:
            text = "It is in place. Nobody has needed it since the portal started."
            return {MAIN: ProbeResult(ComponentState.UNKNOWN, text)}
        return {
            MAIN: ProbeResult(
                ComponentState.OK, "It acted when it was last needed.", answered_at=at, timed=False
            )
        }

    async def catalog(self) -> Answer:
        problems = len(self.parts.catalog.problems)
        if problems:
            text = (
                f"{_format_count(problems, 'problem')} in the files of environments and templates."
            )
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.CATALOG])}
        return {MAIN: ProbeResult(ComponentState.OK, "Every file can be used.", timed=False)}

    async def node_table(self) -> Answer:
        """Report which lines of the file with the nodes' addresses are invalid. Their contents may
        be confidential to some viewers of this page, so only the log has the details.
        """
        table, cluster = self.parts.node_table, self.parts.watcher.cluster
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
        folder = self.parts.settings.state_dir
        use = await asyncio.to_thread(shutil.disk_usage, folder)
        text = f"{use.free / GIB:.1f} of {use.total / GIB:.1f} GiB are free where {folder} lies."
        if use.free < LITTLE_BYTES or use.free < use.total * LITTLE_SHARE:
            return {MAIN: ProbeResult(ComponentState.FAILING, text, ADVICE[Component.DISK])}
        return {MAIN: ProbeResult(ComponentState.OK, text, timed=False)}

    async def mail(self) -> Answer:
        """Probe whether the server answers, and report the result of the last delivery."""
        smtp = self.parts.smtp
        if smtp is None:
            return {}
        await smtp.greets()
        at, advice = smtp.answered_at, ADVICE[Component.MAIL]
        if smtp.trouble is not None and (at is None or at < smtp.trouble[0]):
            since = ago(smtp.trouble[0], utcnow())
            text = f"{sentence(smtp.trouble[1])} That was {since} ago, when it was last to send."
            return {MAIN: ProbeResult(ComponentState.FAILING, text, advice, answered_at=at)}
        if at is None:
            return {
                MAIN: ProbeResult(
                    ComponentState.OK, "It answers. Nothing was sent since the portal started."
                )
            }
        return {MAIN: ProbeResult(ComponentState.OK, "It answers, and took the last e-mail.")}


def is_down(node: NodeInfo) -> bool:
    """Return whether Slurm has lost a node unintentionally: a drained one is not down."""
    flags = node.state.upper().rstrip("~#!%$@^-").rstrip("*").split("+")
    return node.state.endswith("*") or any(flag.startswith(DOWN) for flag in flags)


def _describe_database(db: Database) -> str:
    file = sqlite_file(db.url)
    if file is None:
        return "PostgreSQL answers." if db.url.startswith("postgresql") else "It answers."
    bytes_ = sum(_file_size(Path(f"{file}{end}")) for end in ("", "-wal"))
    return f"SQLite answers; its file has {bytes_ / 1024**2:.0f} MiB."


def _file_size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _describe_lines(problems: Iterable[TableProblem]) -> str:
    """Return problems of the file itself, but of its lines only their numbers."""
    whole = [one.text for one in problems if one.line is None]
    texts = whole + [f"line {line}" for line in sorted({one.line for one in problems if one.line})]
    rest = len(texts) - MOST_PROBLEMS
    return ", ".join(texts[:MOST_PROBLEMS]) + (f" and {rest} more" if rest > 0 else "")


def _format_count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _format_names(names: Iterable[str]) -> str:
    first = sorted(names)
    rest = len(first) - MOST_NAMES
    return ", ".join(first[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
