"""The implementation of the directory contract, with ldap3 in a few threads."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

from portal.config.settings import Settings
from portal.directory import groups, login, reading, states, writing, writing_groups
from portal.directory.checks import UNUSABLE, is_password
from portal.directory.connections import OpenConnection, Servers
from portal.directory.contract import (
    MAX_PAGE,
    MAX_USERNAME_LENGTH,
    Ability,
    Capabilities,
    CreatedUser,
    DirectoryGroup,
    DirectoryUser,
    DirectoryUserPage,
    Edit,
    GroupsPage,
    Lockout,
    NewDirectoryUser,
    NewGroup,
    OneTimePassword,
    ServerHealth,
)
from portal.directory.lockout import read_lockouts
from portal.directory.mapping import Mapping
from portal.errors import (
    DirectoryReadOnly,
    DirectoryUnavailable,
    FieldError,
    InvalidInput,
    NotFound,
    WrongCredentials,
)
from spawner.timing import Measure, unmeasured

T = TypeVar("T")

MAX_THREADS = 8
_KINDS = {
    "openldap": "OpenLDAP",
    "active-directory": "Active Directory",
    "freeipa": "FreeIPA",
    "other": "this directory",
}
_NEEDS_POLICY = (Ability.LOCK, Ability.DISABLE)


@dataclass(frozen=True)
class LdapDirectory:
    """`contract.Directory`; one instance per application, closed at shutdown."""

    settings: Settings
    servers: Servers
    lists: reading.Lists
    _limiter: anyio.CapacityLimiter = field(
        default_factory=lambda: anyio.CapacityLimiter(MAX_THREADS)
    )

    def close(self) -> None:
        self.lists.close()
        self.servers.close()

    # --- logging in ---------------------------------------------------------------------------

    async def authenticate(
        self, username: str, password: str, *, one_time: bool = False
    ) -> DirectoryUser:
        if not is_password(password):
            raise WrongCredentials
        if not 0 < len(username) <= MAX_USERNAME_LENGTH or not username.isprintable():
            raise WrongCredentials
        return await self._run(
            lambda link: login.authenticate(
                self.servers, link, username, password, one_time=one_time
            )
        )

    async def change_password(self, username: str, current: str, new: str) -> None:
        if not is_password(current):
            raise WrongCredentials
        if not is_password(new):
            raise InvalidInput(UNUSABLE, errors=[FieldError("new_password", UNUSABLE)])
        await self._run(lambda link: login.change_password(link, username, current, new))

    # --- reading ------------------------------------------------------------------------------

    @property
    def can_look_up_users(self) -> bool:
        return self.settings.ldap_user_dn_template is None

    async def find(self, username: str) -> DirectoryUser | None:
        if not 0 < len(username) <= MAX_USERNAME_LENGTH or not username.isprintable():
            return None
        return await self._run_as_reader(lambda link: login.find(self.servers, link, username))

    async def find_many(self, usernames: Sequence[str]) -> dict[str, DirectoryUser]:
        return await self._run_as_reader(lambda link: reading.find_many(link, usernames))

    async def page(
        self, query: str = "", cursor: str | None = None, limit: int = 50
    ) -> DirectoryUserPage:
        self._require_lookup()
        mapping = Mapping(self.settings)
        question = reading.Question(
            self.settings.ldap_user_base or "",
            mapping.users(query),
            tuple(mapping.user_attributes),
        )
        result = await self._run_in_thread(lambda: self.lists.page(question, cursor, limit))
        users = tuple(mapping.user(entry, "") for entry in result.entries)
        return DirectoryUserPage(users, result.cursor, reading.INCOMPLETE if result.cut else None)

    async def everyone(self) -> AsyncIterator[DirectoryUser]:
        cursor: str | None = None
        while True:
            try:
                page = await self.page(cursor=cursor, limit=MAX_PAGE)
            except InvalidInput as error:
                raise DirectoryUnavailable("the list changed while it was read") from error
            for user in page.users:
                yield user
            if page.incomplete:
                raise DirectoryUnavailable(page.incomplete)
            cursor = page.cursor
            if cursor is None:
                return

    async def groups(
        self, query: str = "", cursor: str | None = None, limit: int = 50
    ) -> GroupsPage:
        self._require_lookup()
        mapping = Mapping(self.settings)
        base = self.settings.ldap_group_base
        if base is None:
            return GroupsPage(())
        attributes = (*mapping.group_attributes, *mapping.named_members)
        question = reading.Question(base, mapping.all_groups(query), attributes)
        result = await self._run_in_thread(lambda: self.lists.page(question, cursor, limit))
        some = tuple(mapping.sized_group(entry) for entry in result.entries)
        return GroupsPage(some, result.cursor, reading.INCOMPLETE if result.cut else None)

    async def group(self, name: str) -> DirectoryGroup | None:
        if not name.isprintable():
            return None
        return await self._run_as_reader(lambda link: groups.group(link, name))

    async def group_name(self, gid: int) -> str | None:
        return await self._run_as_reader(lambda link: groups.name_of_number(link, gid))

    async def members(self, name: str) -> frozenset[str]:
        result = await self._run_as_reader(lambda link: groups.members(self.servers, link, name))
        if result is None:
            raise NotFound(f"There is no group {name[:64]} in the directory.")
        return result

    async def capabilities(self) -> Capabilities:
        kind = self.settings.ldap_directory
        missing = dict.fromkeys(Ability, self._read_only_reason) if self._read_only_reason else {}
        if not missing:
            if self.settings.ldap_group_base is None:
                missing[Ability.GROUPS] = "The setting for groups is missing: ldap_group_base."
            if not await self._run_as_reader(lambda link: writing.has_policy(self.servers, link)):
                missing.update(dict.fromkeys(_NEEDS_POLICY, _NO_POLICY))
        return Capabilities(kind, missing)

    async def health(self) -> list[ServerHealth]:
        urls = self.settings.ldap_urls
        return await self._run_in_thread(lambda: [self.servers.health(url) for url in urls])

    async def lockouts(self) -> list[Lockout]:
        return await self._run(read_lockouts)

    async def check_answers(self) -> None:
        await self._run(lambda link: link.bind_reader(force=True))

    # --- writing ------------------------------------------------------------------------------

    async def create(self, new: NewDirectoryUser) -> CreatedUser:
        return await self._run_as_writer(Ability.CREATE, writing.create, new)

    async def edit(self, username: str, edit: Edit, version: str) -> DirectoryUser:
        return await self._run_as_writer(Ability.EDIT, writing.edit, username, edit, version)

    async def delete(self, username: str) -> bool:
        return await self._run_as_writer(Ability.DELETE, writing.delete, username)

    async def set_password(self, username: str, password: str | None = None) -> OneTimePassword:
        return await self._run_as_writer(Ability.PASSWORD, writing.set_password, username, password)

    async def lock(self, username: str) -> None:
        await self._run_as_writer(Ability.LOCK, states.lock, username)

    async def unlock(self, username: str) -> None:
        await self._run_as_writer(Ability.LOCK, states.unlock, username)

    async def disable(self, username: str) -> None:
        await self._run_as_writer(Ability.DISABLE, states.disable, username)

    async def enable(self, username: str) -> None:
        await self._run_as_writer(Ability.DISABLE, states.enable, username)

    async def create_group(self, new: NewGroup) -> DirectoryGroup:
        return await self._run_as_writer(Ability.GROUPS, writing_groups.create_group, new)

    async def delete_group(self, name: str) -> bool:
        return await self._run_as_writer(Ability.GROUPS, writing_groups.delete_group, name)

    async def add_member(self, group: str, username: str) -> None:
        await self._run_as_writer(Ability.GROUPS, writing_groups.add_member, group, username)

    async def remove_member(self, group: str, username: str) -> None:
        await self._run_as_writer(Ability.GROUPS, writing_groups.remove_member, group, username)

    # --- in threads ---------------------------------------------------------------------------

    @property
    def _read_only_reason(self) -> str | None:
        """Return why nothing can be changed in this directory; None if it can be."""
        settings = self.settings
        if settings.ldap_directory != "openldap":
            return (
                f"The portal has read-only access to {_KINDS[settings.ldap_directory]}. "
                "Make this change there, with its own tools."
            )
        if settings.ldap_write_dn is None:
            return (
                "The portal has no account with write access to the directory. One can be set "
                "in the portal's settings: ldap_write_dn."
            )
        return None

    def _require_lookup(self) -> None:
        if not self.can_look_up_users:
            raise DirectoryReadOnly(
                "The portal can't look up users here, because it uses ldap_user_dn_template."
            )

    async def _run_as_writer(self, ability: Ability, act: Callable[..., T], *what: object) -> T:
        missing = (await self.capabilities()).missing.get(ability)
        if missing:
            raise DirectoryReadOnly(missing)
        return await self._run(lambda link: act(self.servers, link, *what))

    async def _run_as_reader(self, act: Callable[[OpenConnection], T]) -> T:
        """Run `act` as the account that searches."""
        self._require_lookup()

        def as_reader(link: OpenConnection) -> T:
            link.bind_reader()
            return act(link)

        return await self._run(as_reader)

    async def _run(self, act: Callable[[OpenConnection], T]) -> T:
        return await self._run_in_thread(lambda: self.servers.use(act))

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


_NO_POLICY = (
    "The directory has no password policy (slapd's ppolicy overlay), so it can't refuse "
    "the password of a single account. You can still disable the user for this portal; "
    "the directory's password and ssh keys keep working."
)


def open_directory(settings: Settings, measure: Measure = unmeasured) -> LdapDirectory:
    """Return a directory that connects on its first request.

    `measure` is called for each request, with the server's URL.
    """
    servers = Servers(settings, measure)
    return LdapDirectory(settings, servers, reading.Lists(servers))
