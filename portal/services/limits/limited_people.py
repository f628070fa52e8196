"""Whom limits concern: the people the portal knows, members of limited groups, and whoever else has
an association in Slurm and is a person of the directory.

Groups are those of the table of memberships, which logins and administrators keep; every few
minutes the directory is asked for the members of each limited group, and whoever differs is looked
up anew. While it doesn't answer, what it said last goes on. Where it has said nothing yet, since
the portal started, nobody but the portal's own users is known: of others nothing is concluded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import select

from portal.db import Database, utcnow
from portal.directory.contract import Directory
from portal.errors import DirectoryUnavailable, NotFound
from portal.models import GroupMembership, User
from portal.services.limits.allowances import Limits, account_of
from portal.services.limits.limit_rules import Effective, Figures
from portal.services.people.people import People
from portal.settings import Settings

log = structlog.get_logger(__name__)

MEMBERS_AGE = timedelta(minutes=5)
MEMBERS_AFTER_NEWS = timedelta(seconds=10)
STRANGERS_AGE = timedelta(minutes=15)
LOOK_UPS = 50  # of people whose groups differ, in one round


@dataclass(frozen=True)
class Concerned:
    """`people` are those whom some limit concerns, by username, and what counts for each. `sure_of`
    are those of whom that is known, None for everyone."""

    people: Mapping[str, Effective]
    sure_of: frozenset[str] | None = None

    def knows(self, username: str) -> bool:
        """Whether it is known what counts for them, be it nothing."""
        return self.sure_of is None or username in self.sure_of


class LimitedPeople:
    """Answers who is limited by what; one instance, used by one loop."""

    def __init__(
        self, settings: Settings, database: Database, directory: Directory, people: People
    ) -> None:
        self._settings, self._database = settings, database
        self._directory, self._people = directory, people
        self._members: dict[str, frozenset[str]] = {}
        self._members_at: dict[str, datetime] = {}
        self._strangers: dict[str, bool] = {}
        self._strangers_at: datetime | None = None

    async def look(self, limits: Limits, in_slurm: set[str], *, news: bool = False) -> Concerned:
        """Everyone whom some limit concerns. `news`: groups may have changed."""
        await self._ask_for_members(limits.groups, MEMBERS_AFTER_NEWS if news else MEMBERS_AGE)
        sure = not self._directory.finds or limits.groups <= self._members.keys()
        users, groups = await self._known(limits.groups)
        for group, names in self._members.items():
            for username in names - users.keys():  # who has never been here
                groups.setdefault(username, set()).add(group)
        everyone = {*users, *groups, *limits.people}
        if limits.default is not None:
            strangers = in_slurm - everyone
            everyone |= await self._of_the_directory(strangers)
            sure = sure and (not self._directory.finds or strangers <= self._strangers.keys())
        found = {
            name: limits.effective(name, groups.get(name, set()))
            for name in everyone
            if users.get(name, True)
        }
        counts = {name: counted for name, counted in found.items() if counted}
        if sure:
            return Concerned(counts)
        return Concerned({n: c for n, c in counts.items() if n in users}, frozenset(users))

    def accounts(self, limits: Limits) -> dict[str, Figures]:
        """What groups' members share, by the account that belongs to the group."""
        return {account_of(self._settings, name): f for name, f in limits.together.items()}

    async def _known(self, limited: set[str]) -> tuple[dict[str, bool], dict[str, set[str]]]:
        """Users' names, and whether each is still there; of limited groups, who is in which."""
        async with self._database.session() as db:
            rows = (await db.execute(select(User.username, User.deleted_at))).all()
            query = select(User.username, GroupMembership.name).join(
                User, User.id == GroupMembership.user_id
            )
            pairs = (await db.execute(query.where(GroupMembership.name.in_(limited)))).all()
        groups: dict[str, set[str]] = {}
        for username, group in pairs:
            groups.setdefault(username, set()).add(group)
        return {username: deleted is None for username, deleted in rows}, groups

    async def _ask_for_members(self, limited: set[str], age: timedelta) -> None:
        for gone in self._members.keys() - limited:
            del self._members[gone], self._members_at[gone]
        now = utcnow()
        for group in sorted(limited):
            at = self._members_at.get(group)
            if not self._directory.finds or (at is not None and now - at < age):
                continue
            try:
                self._members[group] = await self._directory.members(group)
            except NotFound:
                self._members[group] = frozenset()
            except DirectoryUnavailable as error:
                log.warning("a group's members are not known", group=group, cause=error.cause[:300])
                return  # asked again in the next round
            self._members_at[group] = now
            await self._look_up_who_differs(group, self._members[group])

    async def _look_up_who_differs(self, group: str, members: frozenset[str]) -> None:
        """The table says of each user what the directory says of them, never of the group."""
        query = select(User.id, User.username, GroupMembership.name).outerjoin(
            GroupMembership, (GroupMembership.user_id == User.id) & (GroupMembership.name == group)
        )
        async with self._database.session() as db:
            rows = (await db.execute(query.where(User.deleted_at.is_(None)))).all()
        differ = [(id_, name) for id_, name, known in rows if (name in members) != bool(known)]
        for user_id, username in differ[:LOOK_UPS]:
            await self._people.freshen(user_id, username, None)

    async def _of_the_directory(self, usernames: set[str]) -> set[str]:
        """Those of Slurm's users who are people: not Slurm's and the site's own accounts."""
        if not self._directory.finds:
            return set()
        now = utcnow()
        again = self._strangers_at is None or now - self._strangers_at > STRANGERS_AGE
        asked = sorted(usernames if again else usernames - self._strangers.keys())
        try:
            found = await self._directory.find_many(asked) if asked else {}
        except DirectoryUnavailable as error:
            log.warning("Slurm's users are not looked up", cause=error.cause[:300])
            return {name for name in usernames if self._strangers.get(name)}
        if again:
            self._strangers, self._strangers_at = {}, now
        for name in asked:
            uid = found[name].uid if name in found else None
            self._strangers[name] = uid is not None and uid >= self._settings.min_uid
        return {name for name in usernames if self._strangers.get(name)}
