"""The users that limits apply to, and their effective limits.

These are the portal's users, the members of limited groups, and all other Slurm users that are
users in the directory.

Memberships come from the membership table, which logins and administrators update. Every few
minutes the directory is asked for the members of each limited group, and users who differ are
looked up again. While the directory does not answer, its last answer counts. If it has not answered
since the portal started, only the portal's own users are known, and nothing is concluded about
others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import select

from portal.config.settings import Settings
from portal.db import Database, utcnow
from portal.directory.contract import Directory
from portal.errors import DirectoryUnavailable, NotFound
from portal.models import GroupMembership, User
from portal.services.identity.memberships import DirectoryUsers
from portal.services.limits.all_limits import AllLimits, get_account
from portal.services.limits.limit_rules import Effective, LimitValues

log = structlog.get_logger(__name__)

MEMBERS_AGE = timedelta(minutes=5)
MEMBERS_AFTER_CHANGE = timedelta(seconds=10)
SLURM_USERS_MAX_AGE = timedelta(minutes=15)  # of lookups of Slurm users without a row
MAX_LOOKUPS_PER_ROUND = 50  # users with changed groups, per round


@dataclass(frozen=True)
class ResolvedLimits:
    """The effective limits of all limited users, by user name.

    `sure_of` are the users with known limits; None for all.
    """

    users: Mapping[str, Effective]
    sure_of: frozenset[str] | None = None

    def knows(self, username: str) -> bool:
        """Return whether the user's effective limits are known, even if there are none."""
        return self.sure_of is None or username in self.sure_of


class LimitedUsers:
    """Resolves which users are limited; one instance, used by one loop."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        directory: Directory,
        directory_users: DirectoryUsers,
    ) -> None:
        self._settings, self._database = settings, database
        self._directory, self._directory_users = directory, directory_users
        self._members: dict[str, frozenset[str]] = {}
        self._members_at: dict[str, datetime] = {}
        self._slurm_users: dict[str, bool] = {}
        self._slurm_users_at: datetime | None = None

    async def load(
        self, limits: AllLimits, in_slurm: set[str], *, changed: bool = False
    ) -> ResolvedLimits:
        """Return every user that some limit applies to. `changed`: groups may have changed."""
        await self._refresh_members(limits.groups, MEMBERS_AFTER_CHANGE if changed else MEMBERS_AGE)
        sure = not self._directory.can_look_up_users or limits.groups <= self._members.keys()
        users, groups = await self._load_users(limits.groups)
        for group, names in self._members.items():
            for username in names - users.keys():  # those who have never logged in
                groups.setdefault(username, set()).add(group)
        everyone = {*users, *groups, *limits.users}
        if limits.default is not None:
            unknown = in_slurm - everyone
            everyone |= await self._filter_directory_users(unknown)
            sure = sure and (
                not self._directory.can_look_up_users or unknown <= self._slurm_users.keys()
            )
        merged = {
            name: limits.merge(name, groups.get(name, set()))
            for name in everyone
            if users.get(name, True)
        }
        effective = {name: limit for name, limit in merged.items() if limit}
        if sure:
            return ResolvedLimits(effective)
        known = {name: limit for name, limit in effective.items() if name in users}
        return ResolvedLimits(known, frozenset(users))

    def accounts(self, limits: AllLimits) -> dict[str, LimitValues]:
        """Return group totals by the account that belongs to the group."""
        return {get_account(self._settings, name): f for name, f in limits.group_totals.items()}

    async def _load_users(self, limited: set[str]) -> tuple[dict[str, bool], dict[str, set[str]]]:
        """Return user names with whether each still exists, and the limited groups of each user."""
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

    async def _refresh_members(self, limited: set[str], age: timedelta) -> None:
        for gone in self._members.keys() - limited:
            del self._members[gone], self._members_at[gone]
        now = utcnow()
        for group in sorted(limited):
            at = self._members_at.get(group)
            if not self._directory.can_look_up_users or (at is not None and now - at < age):
                continue
            try:
                self._members[group] = await self._directory.members(group)
            except NotFound:
                self._members[group] = frozenset()
            except DirectoryUnavailable as error:
                log.warning("a group's members are not known", group=group, cause=error.cause[:300])
                return  # retried in the next round
            self._members_at[group] = now
            await self._refresh_differing_users(group, self._members[group])

    async def _refresh_differing_users(self, group: str, members: frozenset[str]) -> None:
        """Look up users whose membership differs.

        The table holds what the directory reports for each user, never what it reports for a group.
        """
        query = select(User.id, User.username, GroupMembership.name).outerjoin(
            GroupMembership, (GroupMembership.user_id == User.id) & (GroupMembership.name == group)
        )
        async with self._database.session() as db:
            rows = (await db.execute(query.where(User.deleted_at.is_(None)))).all()
        differ = [(id_, name) for id_, name, known in rows if (name in members) != bool(known)]
        for user_id, username in differ[:MAX_LOOKUPS_PER_ROUND]:
            # however recent
            await self._directory_users.refresh_if_old(user_id, username, known_at=None)

    async def _filter_directory_users(self, usernames: set[str]) -> set[str]:
        """Return the Slurm users that the directory has, without system accounts (no UID, or one
        below `min_uid`).
        """
        if not self._directory.can_look_up_users:
            return set()
        now = utcnow()
        again = self._slurm_users_at is None or now - self._slurm_users_at > SLURM_USERS_MAX_AGE
        queried = sorted(usernames if again else usernames - self._slurm_users.keys())
        try:
            entries = await self._directory.find_many(queried) if queried else {}
        except DirectoryUnavailable as error:
            log.warning("Slurm's users are not looked up", cause=error.cause[:300])
            return {name for name in usernames if self._slurm_users.get(name)}
        if again:
            self._slurm_users, self._slurm_users_at = {}, now
        for name in queried:
            uid = entries[name].uid if name in entries else None
            self._slurm_users[name] = uid is not None and uid >= self._settings.min_uid
        return {name for name in usernames if self._slurm_users.get(name)}
