"""The directory as the portal uses it: the contract, kept by ldap3 in a few threads."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

from portal.directory import groups, login, reading, states, writing, writing_groups
from portal.directory.connections import Link, Servers
from portal.directory.contract import (
    MAX_PAGE,
    MAX_PASSWORD_LENGTH,
    MAX_USERNAME_LENGTH,
    Ability,
    Capabilities,
    Created,
    Edit,
    Group,
    GroupsPage,
    NewGroup,
    NewPerson,
    OneTimePassword,
    PeoplePage,
    Person,
    ServerHealth,
)
from portal.directory.mapping import Mapping
from portal.errors import (
    DirectoryReadOnly,
    DirectoryUnavailable,
    InvalidInput,
    NotFound,
    WrongCredentials,
)
from portal.settings import Settings
from spawner.measured import Measure, unmeasured

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
    """`contract.Directory`; one instance per application, closed at its end."""

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

    async def authenticate(self, username: str, password: str, *, one_time: bool = False) -> Person:
        if not 0 < len(password) <= MAX_PASSWORD_LENGTH or "\0" in password:
            raise WrongCredentials
        if not 0 < len(username) <= MAX_USERNAME_LENGTH or not username.isprintable():
            raise WrongCredentials
        return await self._use(
            lambda link: login.authenticate(
                self.servers, link, username, password, one_time=one_time
            )
        )

    async def change_password(self, username: str, current: str, new: str) -> None:
        if not current or not new or max(len(current), len(new)) > MAX_PASSWORD_LENGTH:
            raise WrongCredentials
        await self._use(lambda link: login.change_password(link, username, current, new))

    # --- reading ------------------------------------------------------------------------------

    @property
    def finds(self) -> bool:
        return self.settings.ldap_user_dn_template is None

    async def find(self, username: str) -> Person | None:
        if not 0 < len(username) <= MAX_USERNAME_LENGTH or not username.isprintable():
            return None
        return await self._read(lambda link: login.find(self.servers, link, username))

    async def find_many(self, usernames: Sequence[str]) -> dict[str, Person]:
        return await self._read(lambda link: reading.find_many(link, usernames))

    async def page(self, query: str = "", cursor: str | None = None, limit: int = 50) -> PeoplePage:
        self._must_find()
        mapping = Mapping(self.settings)
        question = reading.Question(
            self.settings.ldap_user_base or "",
            mapping.people(query),
            tuple(mapping.person_attributes),
        )
        found = await self._in_thread(lambda: self.lists.page(question, cursor, limit))
        people = tuple(mapping.person(entry, "") for entry in found.entries)
        return PeoplePage(people, found.cursor, reading.INCOMPLETE if found.cut else None)

    async def everyone(self) -> AsyncIterator[Person]:
        cursor: str | None = None
        while True:
            try:
                page = await self.page(cursor=cursor, limit=MAX_PAGE)
            except InvalidInput as error:
                raise DirectoryUnavailable("the list changed while it was read") from error
            for person in page.people:
                yield person
            if page.incomplete:
                raise DirectoryUnavailable(page.incomplete)
            cursor = page.cursor
            if cursor is None:
                return

    async def groups(
        self, query: str = "", cursor: str | None = None, limit: int = 50
    ) -> GroupsPage:
        self._must_find()
        mapping = Mapping(self.settings)
        base = self.settings.ldap_group_base
        if base is None:
            return GroupsPage(())
        attributes = (*mapping.group_attributes, *mapping.named_members)
        question = reading.Question(base, mapping.all_groups(query), attributes)
        found = await self._in_thread(lambda: self.lists.page(question, cursor, limit))
        some = tuple(mapping.sized_group(entry) for entry in found.entries)
        return GroupsPage(some, found.cursor, reading.INCOMPLETE if found.cut else None)

    async def group(self, name: str) -> Group | None:
        if not name.isprintable():
            return None
        return await self._read(lambda link: groups.group(link, name))

    async def members(self, name: str) -> frozenset[str]:
        found = await self._read(lambda link: groups.members(self.servers, link, name))
        if found is None:
            raise NotFound(f"There is no group {name[:64]} in the directory.")
        return found

    async def capabilities(self) -> Capabilities:
        kind = self.settings.ldap_directory
        missing = dict.fromkeys(Ability, self._read_only) if self._read_only else {}
        if not missing:
            if self.settings.ldap_group_base is None:
                missing[Ability.GROUPS] = "The portal isn't told where groups are: ldap_group_base."
            if not await self._read(lambda link: writing.has_policy(self.servers, link)):
                missing.update(dict.fromkeys(_NEEDS_POLICY, _NO_POLICY))
        return Capabilities(kind, missing)

    async def health(self) -> list[ServerHealth]:
        urls = self.settings.ldap_urls
        return await self._in_thread(lambda: [self.servers.health(url) for url in urls])

    async def answers(self) -> None:
        await self._use(lambda link: link.bind_reader(anew=True))

    # --- writing ------------------------------------------------------------------------------

    async def create(self, new: NewPerson) -> Created:
        return await self._write(Ability.CREATE, writing.create, new)

    async def edit(self, username: str, edit: Edit, version: str) -> Person:
        return await self._write(Ability.EDIT, writing.edit, username, edit, version)

    async def delete(self, username: str) -> bool:
        return await self._write(Ability.DELETE, writing.delete, username)

    async def set_password(self, username: str, password: str | None = None) -> OneTimePassword:
        return await self._write(Ability.PASSWORD, writing.set_password, username, password)

    async def lock(self, username: str) -> None:
        await self._write(Ability.LOCK, states.lock, username)

    async def unlock(self, username: str) -> None:
        await self._write(Ability.LOCK, states.unlock, username)

    async def disable(self, username: str) -> None:
        await self._write(Ability.DISABLE, states.disable, username)

    async def enable(self, username: str) -> None:
        await self._write(Ability.DISABLE, states.enable, username)

    async def create_group(self, new: NewGroup) -> Group:
        return await self._write(Ability.GROUPS, writing_groups.create_group, new)

    async def delete_group(self, name: str) -> bool:
        return await self._write(Ability.GROUPS, writing_groups.delete_group, name)

    async def add_member(self, group: str, username: str) -> None:
        await self._write(Ability.GROUPS, writing_groups.add_member, group, username)

    async def remove_member(self, group: str, username: str) -> None:
        await self._write(Ability.GROUPS, writing_groups.remove_member, group, username)

    # --- in threads ---------------------------------------------------------------------------

    @property
    def _read_only(self) -> str | None:
        """Why nothing can be changed here; None where something can."""
        settings = self.settings
        if settings.ldap_directory != "openldap":
            return (
                f"The portal only reads {_KINDS[settings.ldap_directory]}: change this there, with "
                "the tools of those who run it."
            )
        if settings.ldap_write_dn is None:
            return (
                "The portal has no account that may change the directory. Whoever runs the portal "
                "can give it one: ldap_write_dn."
            )
        return None

    def _must_find(self) -> None:
        if not self.finds:
            raise DirectoryReadOnly(
                "The portal can't look people up here: it logs them in by ldap_user_dn_template."
            )

    async def _write(self, ability: Ability, act: Callable[..., T], *what: object) -> T:
        missing = (await self.capabilities()).missing.get(ability)
        if missing:
            raise DirectoryReadOnly(missing)
        return await self._use(lambda link: act(self.servers, link, *what))

    async def _read(self, act: Callable[[Link], T]) -> T:
        """As the account that searches."""
        self._must_find()

        def as_reader(link: Link) -> T:
            link.bind_reader()
            return act(link)

        return await self._use(as_reader)

    async def _use(self, act: Callable[[Link], T]) -> T:
        return await self._in_thread(lambda: self.servers.use(act))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


_NO_POLICY = (
    "The directory has no password policy (slapd's ppolicy overlay), so it can't refuse one "
    "account's password. Switching off somebody's access to the portal still works."
)


def open_directory(settings: Settings, measure: Measure = unmeasured) -> LdapDirectory:
    """Connects at the first question. `measure` hears of each, by the server's URL."""
    servers = Servers(settings, measure)
    return LdapDirectory(settings, servers, reading.Lists(servers))
