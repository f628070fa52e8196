"""The loop that writes limits to Slurm, and notices when somebody else has.

What should be follows from the limits (services/limits/associations.py, pure); what Slurm was told
is in the table of associations; what it has is read at each round. A round may be killed anywhere:
the next one compares again. sacctmgr's exit code says little, so that what it made is read back.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import structlog
from sqlalchemy import delete, insert, select, update

from portal.db import utcnow
from portal.models import Association, new_id
from portal.parts import Parts
from portal.services.changes import LIMITS
from portal.services.limits import associations as rules
from portal.services.limits.allowances import Limits, every_limit
from portal.services.limits.associations import ABSENT, HERE, PRESENT, Verdict, World
from portal.services.limits.limited_people import Concerned, LimitedPeople
from spawner import parse_accounting as words
from spawner.errors import SpawnerError
from spawner.parse_accounting import Facts, Place

log = structlog.get_logger(__name__)

LOOK_S = 40.0
TROUBLED_S = 10.0
TOGETHER_S = 0.3  # changes that come within this are one round's
USERS_IN_A_LINE = 100
LINES_AT_ONCE = 40
ALONE = 10  # refused lines that are said again one by one, to hear why
AGAIN = timedelta(minutes=5)  # after a refusal
AGAIN_ALLOWED = timedelta(minutes=1)  # after one for want of rights, which may be slurmdbd's start
DENIED = ("privilege", "permission denied")
NOWHERE: frozenset[str] = frozenset()
SILENT = "Slurm took it without a word, and shows something else."
NO_ANSWER = "Slurm's accounting doesn't answer at the moment. It is told as soon as it does."


@dataclass
class Standing:
    """One association as of the last round. `tell` is what Slurm has yet to hear."""

    id: str
    place: Place
    should: Mapping[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    found: Mapping[str, Any] | None = None
    accepted: dict[str, Any] = field(default_factory=dict)
    tell: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    refused: str | None = None
    tried_at: datetime | None = None
    written_at: datetime | None = None
    drift_since: datetime | None = None

    def kept(self) -> dict[str, Any]:
        """As its row keeps it."""
        names = ("told", "accepted", "refused", "tried_at", "written_at", "drift_since")
        row = {name: getattr(self, name) for name in names}
        found = None if self.found is None else dict(self.found)
        row["written"] = dict(row.pop("told"))
        return {**row, "accepted": dict(self.accepted), "found": found}

    def drift_id(self, name: str) -> str:
        """What names one changed figure, in an address too."""
        return str(uuid5(NAMESPACE_OID, f"{self.id}/{name}"))


class SlurmLimits:
    """The loop, for the application's lifespan, and what it last saw; `by_user` has it by username,
    "" for accounts' own, in the order of their places."""

    def __init__(self, parts: Parts, people: LimitedPeople) -> None:
        self.parts = parts
        self.people = people
        self.standings: Mapping[Place, Standing] = {}
        self.by_user: Mapping[str, list[Standing]] = {}
        self.trouble: str | None = None
        self._limits: Limits | None = None  # of the last round that could be
        self._round = asyncio.Lock()
        self._waiting: list[asyncio.Future[None]] = []

    async def run(self) -> None:
        """A round at each change of a limit, and every LOOK_S; sooner after no answer."""
        async with self.parts.changes.listen(LIMITS) as listener:
            news = False
            while True:
                await asyncio.sleep(TOGETHER_S)
                await self.round(news=news)
                pause_s = LOOK_S if self.trouble is None else TROUBLED_S
                news = bool(self._waiting) or await listener.wait(pause_s)

    async def settle(self, timeout_s: float) -> bool:
        """Have a round begin after now; whether it was over in time."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self.parts.changes.notify(LIMITS)
        finished, _ = await asyncio.wait({done}, timeout=timeout_s)
        return bool(finished)

    async def recall(self) -> None:
        """What the last round kept, for who doesn't run the loop; what Slurm has yet to hear isn't
        in it."""
        standings = await self._load()
        for one in standings.values():
            if one.drift_since is not None:
                one.drift = rules.differs(one.told, one.found, one.accepted)
        self._show(standings)

    @asynccontextmanager
    async def between_rounds(self) -> AsyncIterator[None]:
        """While no round is under way."""
        async with self._round:
            yield

    async def round(self, *, news: bool = False) -> None:
        """Compare once, and tell Slurm what it should hear. What can't be asked now stays. `news`:
        limits, people or groups have changed."""
        async with self._round:
            waiting, self._waiting = self._waiting, []
            try:
                await self._compare_and_tell(asked=bool(waiting), news=news)
                self.trouble = None
            except SpawnerError as error:
                self.trouble = error.message
                log.warning("Slurm's limits wait", error=error.message, stderr=error.stderr[:300])
            finally:
                for done in waiting:
                    if not done.done():
                        done.set_result(None)

    async def _compare_and_tell(self, *, asked: bool, news: bool) -> None:
        async with self.parts.db.session() as db:
            limits = await every_limit(db)
        # by the command line, say: an administrator's change waits for nobody's turn
        asked |= self._limits is not None and limits != self._limits
        standings = await self._load()
        if not standings and limits == Limits(None, {}, {}, {}):
            self._show({})
            return
        books = self.parts.books
        await books.look(patient=not asked)
        in_slurm = {user for _, user, _ in books.found or () if user}
        concerned = await self.people.look(limits, in_slurm, news=news)
        self._limits = limits
        now = utcnow()
        fresh = await asyncio.to_thread(self._compared, standings, concerned, limits, now)
        await self._write(standings, fresh)
        due = [s for s in fresh.values() if s.tell and (asked or _may_try(s, now))]
        if due and books.facts is not None:
            await self._tell(due, books.facts)
            standings = fresh
            fresh = await asyncio.to_thread(self._compared, standings, concerned, limits, utcnow())
            await self._write(standings, fresh)
        self._show(fresh)

    def _show(self, standings: dict[Place, Standing]) -> None:
        by_user: dict[str, list[Standing]] = {}
        for place in sorted(standings):
            by_user.setdefault(place[1], []).append(standings[place])
        self.standings, self.by_user = standings, by_user
        self.parts.books.denied = any(_denied(one) for one in standings.values() if one.tell)

    def _compared(
        self,
        before: Mapping[Place, Standing],
        concerned: Concerned,
        limits: Limits,
        now: datetime,
    ) -> dict[Place, Standing]:
        """Every association of interest as it now stands; pure but for the id of a new one. Those
        of whom it isn't known what counts for them stay as they were."""
        books = self.parts.books
        found = books.found or {}
        cluster = self.parts.watcher.cluster
        if books.facts is None:
            return dict(before)
        should = rules.wanted(
            World(
                people=concerned.people,
                accounts=self.people.accounts(limits),
                found=found,
                seen={place: standing.told for place, standing in before.items()},
                partitions=frozenset(p.name for p in cluster.partitions) if cluster else NOWHERE,
                facts=books.facts,
            )
        )
        named = {place[1] for place, standing in before.items() if HERE in standing.told}
        result = {}
        for place in {**before, **should}:
            old, want = before.get(place), should.get(place, {})
            if old is not None and place[1] and not concerned.knows(place[1]):
                result[place] = old
                continue
            told = old.told if old else rules.taken_for_told(place, want, place[1] in named)
            accepted = old.accepted if old else {}
            verdict = rules.compare(place, want, told, found.get(place), accepted)
            if want or verdict.tell:
                result[place] = _standing(place, old, want, found.get(place), verdict, now)
        return result

    # --- telling --------------------------------------------------------------------------------

    async def _tell(self, due: list[Standing], facts: Facts) -> None:
        """Say it all, a batch at a time; what is refused is said again alone, to hear why."""
        lines = lines_for(due, facts.cluster, await self._moves(due))
        for at in range(0, len(lines), LINES_AT_ONCE):
            batch = [line for line, _ in lines[at : at + LINES_AT_ONCE]]
            complaint = await self.parts.books.accounting.tell(batch)
            if complaint:
                log.warning("Slurm refused something", complaint=complaint)
        await self.parts.books.look()
        found = self.parts.books.found or {}
        refused = [(line, s) for line, group in lines for s in group if not _is_so(s, found)]
        alone = 0
        for line, standing in refused:
            why = ""
            if alone < ALONE:
                alone += 1
                why = await self.parts.books.accounting.tell([line])
            standing.refused = why or standing.refused or SILENT
            standing.tried_at = utcnow()
        if alone:
            await self.parts.books.look()

    async def _moves(self, due: list[Standing]) -> dict[str, str]:
        """The next default account of those whose default one is to go: Slurm keeps that of the
        default."""
        going = {(s.place[0], s.place[1]) for s in due if s.tell.get(HERE) == ABSENT}
        if not going:
            return {}
        defaults = await self.parts.books.accounting.default_accounts()
        moving = {user for account, user in going if defaults.get(user) == account}
        stays: dict[str, str] = {}
        for account, user, partition in self.parts.books.found or ():
            if user in moving and not partition and (account, user) not in going:
                stays.setdefault(user, account)
        for standing in due:
            account, user, partition = standing.place
            if user in moving and not partition and standing.tell.get(HERE) == PRESENT:
                stays.setdefault(user, account)
        return stays

    # --- the table ------------------------------------------------------------------------------

    async def _load(self) -> dict[Place, Standing]:
        table = Association.__table__
        async with self.parts.db.session() as db:
            rows = (await db.execute(select(table))).mappings().all()
        return {
            (row["account"], row["username"], row["partition"]): Standing(
                id=row["id"],
                place=(row["account"], row["username"], row["partition"]),
                told=row["written"] or {},
                found=row["found"],
                accepted=row["accepted"] or {},
                refused=row["refused"],
                tried_at=row["tried_at"],
                written_at=row["written_at"],
                drift_since=row["drift_since"],
            )
            for row in rows
        }

    async def _write(
        self, before: Mapping[Place, Standing], after: Mapping[Place, Standing]
    ) -> None:
        """Keep what differs."""
        gone = [standing.id for place, standing in before.items() if place not in after]
        new = [standing for place, standing in after.items() if place not in before]
        both = [(before[place], standing) for place, standing in after.items() if place in before]
        changed = [new for old, new in both if old.kept() != new.kept()]
        if not (gone or new or changed):
            return
        async with self.parts.db.session() as db:
            for at in range(0, len(gone), 500):
                ids = gone[at : at + 500]
                await db.execute(delete(Association).where(Association.id.in_(ids)))
            if new:
                await db.execute(insert(Association), [_row(standing) for standing in new])
            if changed:
                rows = [{"id": standing.id, **standing.kept()} for standing in changed]
                await db.execute(update(Association), rows)
            await db.commit()


def _row(standing: Standing) -> dict[str, Any]:
    account, username, partition = standing.place
    where = {"account": account, "username": username, "partition": partition}
    return {"id": standing.id, **where, **standing.kept()}


def _standing(
    place: Place,
    old: Standing | None,
    should: Mapping[str, Any],
    found: Mapping[str, Any] | None,
    verdict: Verdict,
    now: datetime,
) -> Standing:
    news = old is None or verdict.told != old.told
    since = old.drift_since if old and old.drift_since else now
    return Standing(
        id=old.id if old else new_id(),
        place=place,
        should=should,
        told=verdict.told if not verdict.tell else {**(old.told if old else {}), **verdict.told},
        found=found,
        accepted=verdict.accepted,
        tell=verdict.tell,
        drift=verdict.drift,
        refused=old.refused if old and verdict.tell else None,
        tried_at=old.tried_at if old and verdict.tell else None,
        written_at=now if news and verdict.told else (old.written_at if old else None),
        drift_since=since if verdict.drift else None,
    )


def _may_try(standing: Standing, now: datetime) -> bool:
    if standing.refused is None or standing.tried_at is None:
        return True
    return now - standing.tried_at > (AGAIN_ALLOWED if _denied(standing) else AGAIN)


def _denied(standing: Standing) -> bool:
    """Whether Slurm refused it because the portal's account lacks its rights."""
    said = (standing.refused or "").lower()
    return any(word in said for word in DENIED)


def _is_so(standing: Standing, found: Mapping[Place, Mapping[str, Any]]) -> bool:
    """Whether Slurm has what it was just told."""
    is_ = found.get(standing.place)
    here = standing.tell.get(HERE)
    if here == ABSENT or is_ is None:
        return (here == ABSENT) == (is_ is None)
    ours = {name: value for name, value in standing.tell.items() if name != HERE}
    ended = {"QOS", "DefaultQOS"}  # of which the account's then show
    return all(is_.get(n) == v or (v is None and n in ended) for n, v in ours.items())


# --- lines for sacctmgr -------------------------------------------------------------------------

Line = tuple[str, list[Standing]]


def lines_for(due: Iterable[Standing], cluster: str, moves: Mapping[str, str]) -> list[Line]:
    """What to say to sacctmgr, in the order in which it can be done, and for whom each line is:
    first what is to be there, then figures, then what is to go, of which `moves` are the new
    default accounts by user. Who is to have the same is in one line."""
    adds: dict[tuple[bool, str, str], list[Standing]] = {}
    sets: dict[tuple[str, str, str], list[Standing]] = {}
    gone: list[Line] = []
    for standing in sorted(due, key=lambda one: one.place):
        account, username, partition = standing.place
        here = standing.tell.get(HERE)
        if here == ABSENT:
            if not partition and username in moves:
                gone.append((words.set_default_account(cluster, username, moves[username]), []))
            gone.append((words.remove(cluster, account, username, partition), [standing]))
            continue
        if here == PRESENT:
            adds.setdefault((bool(partition), account, partition), []).append(standing)
        said = {name: value for name, value in standing.tell.items() if name != HERE}
        if said:
            sets.setdefault((account, partition if username else "*", repr(said)), []).append(
                standing
            )
    lines: list[Line] = []
    for _, some in sorted(adds.items()):
        for group in _cut(some):
            account, _, partition = group[0].place
            line = words.add(cluster, account, [one.place[1] for one in group], partition)
            lines.append((line, group))
    for _, some in sorted(sets.items()):
        for group in _cut(some):
            account, _, partition = group[0].place
            users = [one.place[1] for one in group if one.place[1]]
            said = {name: value for name, value in group[0].tell.items() if name != HERE}
            lines.append((words.modify(cluster, account, users, partition, said), group))
    return [*lines, *gone]


def _cut(some: list[Standing]) -> list[list[Standing]]:
    return [some[at : at + USERS_IN_A_LINE] for at in range(0, len(some), USERS_IN_A_LINE)]
