"""What the system's status asks of each part, and what its answers mean. status.py runs them.

Slurm's controller isn't asked again: the watcher is always asking it. What is asked of nginx stands
in front_door.py.
"""

import asyncio
import contextlib
import getpass
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from portal.check import OPERATOR_ADVICE, OPERATORS, directory_advice, launcher
from portal.db import Database, sqlite_file, utcnow
from portal.directory.contract import Directory
from portal.hub import HubRefused, HubUnavailable
from portal.parts import Parts
from portal.services import clocks, front_door
from portal.services.cluster.node_table import Problem
from portal.services.status import Answer, Found, Part, Probe, State, Status, ago, sentence
from portal.smtp import STEP_S
from spawner.errors import SlurmError, Unreachable
from spawner.model import NodeInfo

log = structlog.get_logger(__name__)

GIB = 1024**3
LITTLE_SHARE, LITTLE_BYTES = 0.05, GIB
MOST_NAMES = 10
MOST_TOLD = 5
DOWN = ("DOWN", "FAIL", "ERROR", "UNKNOWN")
MAIN = ""
"""The name of a part that is one."""


def open_status(parts: Parts, directory: Directory) -> Status:
    """What `app.state.status` is."""
    looks = Looks(parts, directory)
    status = Status(
        [
            Probe(Part.DATABASE, [MAIN], looks.database, advice=ADVICE[Part.DATABASE]),
            Probe(
                Part.DIRECTORY, parts.settings.ldap_urls, looks.servers, every_s=30.0,
                timeout_s=25.0, advice=directory_advice("no answer"),
            ),
            Probe(Part.SLURM, [MAIN], looks.slurm, every_s=5.0),
            Probe(
                Part.SLURMDBD, [MAIN], looks.slurmdbd, every_s=60.0,
                timeout_s=parts.settings.slurm_timeout_s + 5, advice=ADVICE[Part.SLURMDBD],
            ),
            Probe(Part.NODES, [MAIN], looks.nodes, every_s=5.0),
            Probe(Part.HUB, [MAIN], looks.hub, advice=ADVICE[Part.HUB]),
            Probe(
                Part.NGINX, [MAIN], looks.nginx, timeout_s=front_door.TIMEOUT_S,
                advice=front_door.ADVICE,
            ),
            Probe(Part.LAUNCHER, [MAIN], looks.launcher, every_s=30.0),
            Probe(Part.CATALOG, [MAIN], looks.catalog),
            Probe(Part.DISK, [MAIN], looks.disk, every_s=60.0, advice=ADVICE[Part.DISK]),
            *_node_table(parts, looks),
            *_mail(parts, looks),
        ]
    )  # fmt: skip
    looks.status = status
    return status


def _node_table(parts: Parts, looks: "Looks") -> list[Probe]:
    """The operator's table of nodes, where there is one."""
    advice = ADVICE[Part.NODE_TABLE]
    probe = Probe(Part.NODE_TABLE, [MAIN], looks.node_table, advice=advice)
    return [probe] if parts.node_table.file else []


def _mail(parts: Parts, looks: "Looks") -> list[Probe]:
    """The mail server, where there is one."""
    advice = ADVICE[Part.MAIL]
    every_s, timeout_s = 300.0, 5 * STEP_S
    probe = Probe(Part.MAIL, [MAIN], looks.mail, every_s, timeout_s, advice)
    return [probe] if parts.smtp is not None else []


ADVICE = {
    Part.DATABASE: "Look at database_url and state_dir, and whether its server runs.",
    Part.SLURM: (
        "Look whether slurmctld runs, with `scontrol ping`; whether munged runs here; and whether"
        " the clocks agree. Jobs go on, and the portal shows what it knew last until Slurm answers"
        " again."
    ),
    Part.SLURMDBD: (
        "Look whether slurmdbd and its database run, with `sacctmgr show cluster`. Until they do,"
        " the portal doesn't learn how jobs ended, and limits aren't written to Slurm."
    ),
    Part.NODES: (
        "`sinfo -R` says why; `scontrol update NodeName=… State=RESUME` brings one back. One that"
        " doesn't respond may have no slurmd or munged, or a clock or a munge.key of its own:"
        " `munge -n | ssh NODE unmunge` tells."
    ),
    Part.HUB: (
        "Look whether JupyterHub runs, and at hub_url and hub_token_file. Open notebooks go on; new"
        " sessions wait."
    ),
    Part.LAUNCHER: (
        "Look at launcher_path and at the portal's line in sudoers. Until it works nobody can start"
        " anything or read a log."
    ),
    Part.CATALOG: "The page Catalog says which files, and what is wrong with them.",
    Part.NODE_TABLE: (
        "Correct the file that node_table_file names; it is read again by itself. `portal check`"
        " and the portal's log say what is wrong in each line."
    ),
    Part.DISK: "Make room where state_dir lies: without any, nothing can be written down.",
    Part.MAIL: (
        "Look at the settings that begin with smtp_, and whether the server runs; `portal check`"
        " tries them. E-mails wait, for a day at most."
    ),
}


HOMES_ADVICE = (
    "Look whether the file system with the home directories is mounted on the portal's host and"
    " answers there, with `ls -ld ~NAME`."
)
MOST_HOMELESS = 1
"""More people than this whose homes can't be used, and nobody whose can: they are away."""
DENIED_ADVICE = (
    "Look into slurmdbd's log, and whether its machine knows the account, with `id {account}`; then"
    " restart slurmdbd. The portal tries again every minute."
)


@dataclass
class Looks:
    """The looks at each part. Those that raise are failing, with what they raise as the message."""

    parts: Parts
    directory: Directory
    status: Status | None = None
    slurm_clock: clocks.SlurmClock = field(default_factory=clocks.SlurmClock)

    async def database(self) -> Answer:
        await self.parts.db.answers()
        if (differs := await clocks.of_database(self.parts.db)) is not None:
            return {MAIN: differs}
        return {MAIN: Found(State.OK, await asyncio.to_thread(_kind_of, self.parts.db))}

    async def servers(self) -> Answer:
        """Each of the directory's servers, by its address."""
        found = {}
        for server in await self.directory.health():
            if server.cause is None:
                good = Found(State.OK, "It answers.", latency_ms=server.took_ms, timed=False)
                found[server.url] = good
            else:
                advice = directory_advice(server.cause)
                found[server.url] = Found(State.FAILING, sentence(server.cause), advice)
        return found

    async def slurm(self) -> Answer:
        """What the watcher's last look says."""
        if self.status is not None and self.status.slurm_version is None:
            with contextlib.suppress(SlurmError):  # the commands aren't here: said below
                self.status.slurm_version = await self.parts.slurm.version()
        watcher = self.parts.watcher
        if watcher.stale_since is None:
            if (differs := await self.slurm_clock.differs(self.parts.settings)) is not None:
                return {MAIN: replace(differs, answered_at=watcher.at)}
            took_ms = round(watcher.took_s * 1000) if watcher.took_s is not None else None
            text = f"It answers; {_count(len(watcher.jobs), 'job')} known."
            found = Found(State.OK, text, answered_at=watcher.at, latency_ms=took_ms, timed=False)
            return {MAIN: found}
        if watcher.trouble is None:
            return {MAIN: Found(State.UNKNOWN, "It hasn't been asked yet.")}
        for_long = ago(watcher.stale_since, utcnow())
        text = f"No answer for {for_long}: {sentence(watcher.trouble)}"
        advice = ADVICE[Part.SLURM]
        return {MAIN: Found(State.FAILING, text, advice, answered_at=watcher.at)}

    async def slurmdbd(self) -> Answer:
        """Whether it answers, lets the portal write, and took what it was told last."""
        account = getpass.getuser()
        try:
            await self.parts.slurm.accounting_answers()
            level = await self.parts.slurm.admin_level(account)
        except SlurmError as error:
            said = error.stderr.strip().partition("\n")[0] or error.message
            text = f"No answer: {said[:300]}" if isinstance(error, Unreachable) else error.message
            return {MAIN: Found(State.FAILING, text, ADVICE[Part.SLURMDBD])}
        if level not in OPERATORS:
            text = f"It answers, but the portal's account {account} is no operator there:"
            text += " limits aren't written to Slurm, and jobs can't be ended."
            return {MAIN: Found(State.FAILING, text, OPERATOR_ADVICE.format(account=account))}
        if self.parts.books.denied:
            text = f"It calls {account} an operator, and refuses what the portal writes."
            return {MAIN: Found(State.FAILING, text, DENIED_ADVICE.format(account=account))}
        return {MAIN: Found(State.OK, "It answers.")}

    async def nodes(self) -> Answer:
        watcher = self.parts.watcher
        if watcher.cluster is None:
            return {MAIN: Found(State.UNKNOWN, "Slurm hasn't said yet which nodes there are.")}
        nodes, at = watcher.cluster.nodes, watcher.cluster.at
        if watcher.stale_since is not None:
            text = "Slurm doesn't answer: how the nodes are isn't known."
            return {MAIN: Found(State.UNKNOWN, text, answered_at=at)}
        down = [node.name for node in nodes if is_down(node)]
        if not down:
            drained = sum("DRAIN" in node.state.upper() for node in nodes)
            rest = f", {drained} of them drained by an administrator" if drained else ""
            return {MAIN: Found(State.OK, f"{_count(len(nodes), 'node')}, none down{rest}.",
                                answered_at=at, timed=False)}  # fmt: skip
        text = f"{len(down)} of {_count(len(nodes), 'node')} down: {_names(down)}."
        return {MAIN: Found(State.FAILING, text, ADVICE[Part.NODES])}

    async def hub(self) -> Answer:
        try:
            version = await self.parts.hub.version()
        except HubRefused as error:
            text = f"It refuses the portal: {sentence(str(error))}"
            return {MAIN: Found(State.FAILING, text, ADVICE[Part.HUB])}
        except HubUnavailable as error:
            log.warning("the hub doesn't answer", cause=str(error)[:300])
            text = f"No answer from {self.parts.settings.hub_url}."
            return {MAIN: Found(State.FAILING, text, ADVICE[Part.HUB])}
        if self.status is not None:
            self.status.hub_version = version or None
        return {MAIN: Found(State.OK, "It answers.")}

    async def nginx(self) -> Answer:
        return {MAIN: await front_door.look(self.parts)}

    async def launcher(self) -> Answer:
        """Whether it is there as it must be, and how it went when it was last needed."""
        agents, finding = self.parts.agents, await asyncio.to_thread(launcher, self.parts.settings)
        at, advice = agents.answered_at, ADVICE[Part.LAUNCHER]
        if finding.problem is not None:
            text = sentence(finding.problem)
            return {MAIN: Found(State.FAILING, text, finding.advice, answered_at=at)}
        if agents.trouble is not None and (at is None or at < agents.trouble[0]):
            since = ago(agents.trouble[0], utcnow())
            text = f"{sentence(agents.trouble[1])} That was {since} ago, when it was last needed."
            return {MAIN: Found(State.FAILING, text, advice, answered_at=at)}
        if len(agents.homeless) > MOST_HOMELESS:
            why = next(reversed(agents.homeless.values()))
            text = f"Nobody's home directory could be used lately: {_names(list(agents.homeless))}."
            return {MAIN: Found(State.FAILING, f"{text} {why}", HOMES_ADVICE, answered_at=at)}
        if at is None:
            text = "It is in place. Nobody has needed it since the portal started."
            return {MAIN: Found(State.UNKNOWN, text)}
        return {MAIN: Found(State.OK, "It acted when it was last needed.", answered_at=at,
                            timed=False)}  # fmt: skip

    async def catalog(self) -> Answer:
        problems = len(self.parts.catalog.problems)
        if problems:
            text = f"{_count(problems, 'problem')} in the files of environments and templates."
            return {MAIN: Found(State.FAILING, text, ADVICE[Part.CATALOG])}
        return {MAIN: Found(State.OK, "Every file can be used.", timed=False)}

    async def node_table(self) -> Answer:
        """The file with the nodes' addresses, and which lines in it can't be used: what is in them
        may not be for everybody who sees this page, so the log tells it."""
        table, cluster = self.parts.node_table, self.parts.watcher.cluster
        if table.problems:
            mistakes = _count(len(table.problems), "mistake")
            text = f"{mistakes} in {table.file}: {_where(table.problems)}."
            return {MAIN: Found(State.FAILING, text, ADVICE[Part.NODE_TABLE])}
        text = f"It has the addresses of {_count(len(table.nodes), 'node')}."
        known = {node.name for node in cluster.nodes} if cluster else None
        strange = table.nodes.keys() - known if known is not None else set()
        if strange:
            text += f" Slurm has no node called {_names(strange)}."
        return {MAIN: Found(State.OK, text, timed=False)}

    async def disk(self) -> Answer:
        folder = self.parts.settings.state_dir
        use = await asyncio.to_thread(shutil.disk_usage, folder)
        text = f"{use.free / GIB:.1f} of {use.total / GIB:.1f} GiB are free where {folder} lies."
        if use.free < LITTLE_BYTES or use.free < use.total * LITTLE_SHARE:
            return {MAIN: Found(State.FAILING, text, ADVICE[Part.DISK])}
        return {MAIN: Found(State.OK, text, timed=False)}

    async def mail(self) -> Answer:
        """Whether the server answers, and how it went when it was last to take something."""
        smtp = self.parts.smtp
        if smtp is None:
            return {}
        await smtp.greets()
        at, advice = smtp.answered_at, ADVICE[Part.MAIL]
        if smtp.trouble is not None and (at is None or at < smtp.trouble[0]):
            since = ago(smtp.trouble[0], utcnow())
            text = f"{sentence(smtp.trouble[1])} That was {since} ago, when it was last to send."
            return {MAIN: Found(State.FAILING, text, advice, answered_at=at)}
        if at is None:
            return {MAIN: Found(State.OK, "It answers. Nothing was sent since the portal started.")}
        return {MAIN: Found(State.OK, "It answers, and took the last e-mail.")}


def is_down(node: NodeInfo) -> bool:
    """Whether Slurm has lost a node, which nobody wished for: a drained one isn't down."""
    flags = node.state.upper().rstrip("~#!%$@^-").rstrip("*").split("+")
    return node.state.endswith("*") or any(flag.startswith(DOWN) for flag in flags)


def _kind_of(db: Database) -> str:
    file = sqlite_file(db.url)
    if file is None:
        return "PostgreSQL answers." if db.url.startswith("postgresql") else "It answers."
    bytes_ = sum(_size(Path(f"{file}{end}")) for end in ("", "-wal"))
    return f"SQLite answers; its file has {bytes_ / 1024**2:.0f} MiB."


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _where(problems: Iterable[Problem]) -> str:
    """What is wrong with the file itself, but of its lines no more than their numbers."""
    whole = [one.text for one in problems if one.line is None]
    told = whole + [f"line {line}" for line in sorted({one.line for one in problems if one.line})]
    rest = len(told) - MOST_TOLD
    return ", ".join(told[:MOST_TOLD]) + (f" and {rest} more" if rest > 0 else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _names(names: Iterable[str]) -> str:
    first = sorted(names)
    rest = len(first) - MOST_NAMES
    return ", ".join(first[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
