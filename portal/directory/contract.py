"""What the rest of the portal knows of the directory: its words, its errors, one protocol.

Names are LDAP's own: a person is an entry of class posixAccount or a like one, a group one of class
posixGroup or groupOfNames. Nothing here talks LDAP. Every method of `Directory` may also raise
`errors.DirectoryUnavailable`: no server answered as it should, and nothing was changed.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

MAX_PASSWORD_LENGTH = 1024
MAX_USERNAME_LENGTH = 256
MAX_GROUPS = 1000
"""Groups of one person that are looked at."""
MAX_PAGE = 500
"""People or groups in one page; Active Directory gives no more than 1,000 at once."""
MAX_QUERY_LENGTH = 200


@dataclass(frozen=True)
class Person:
    """An entry of the directory. `uid` and `gid` are its numbers, None where it has none.

    `groups`: names of the groups found for it; empty in pages and in `find_many`, which don't look.
    `locked`: the directory refuses its password, after wrong ones or by an administrator.
    `disabled`: switched off for ssh too. `must_change`: its password is good for one change only.
    `version`: what an edit hands back, so that it can't undo somebody else's.
    """

    username: str
    dn: str
    display_name: str
    email: str | None
    uid: int | None
    groups: frozenset[str]
    gid: int | None = None
    home: str | None = None
    shell: str | None = None
    given_name: str | None = None
    surname: str | None = None
    locked: bool = False
    disabled: bool = False
    must_change: bool = False
    version: str = ""


@dataclass(frozen=True)
class Group:
    """A group. `members`: usernames of those who are in it themselves; empty in pages. `groups`:
    names of groups within it, whose members are in it too where `ldap_nested_groups` says so.
    `size`: in pages how many the group names itself, None where that can't be seen cheaply."""

    name: str
    dn: str
    gid: int | None
    description: str | None = None
    members: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    size: int | None = None


@dataclass(frozen=True)
class NewPerson:
    """Who is to be created. What is None comes from the settings: numbers from their ranges, the
    home from `ldap_home_template`. With neither `gid` nor `ldap_primary_gid` the person gets a
    group of their own, of the same name and number. `display_name` "" is both names together.
    `password` None lets the directory's answer hold a made one."""

    username: str
    given_name: str
    surname: str
    display_name: str = ""
    email: str | None = None
    uid: int | None = None
    gid: int | None = None
    home: str | None = None
    shell: str | None = None
    groups: frozenset[str] = frozenset()
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Edit:
    """What is to change about a person; None leaves it. `email` "" removes it. A uid never
    changes: files belong to it."""

    given_name: str | None = None
    surname: str | None = None
    display_name: str | None = None
    email: str | None = None
    gid: int | None = None
    home: str | None = None
    shell: str | None = None


@dataclass(frozen=True)
class NewGroup:
    """`gid` None takes a number from `ldap_gid_range`. A groupOfNames is never empty: `members`
    must name someone there."""

    name: str
    gid: int | None = None
    description: str | None = None
    members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OneTimePassword:
    """A password just set, for the administrator to hand over; kept nowhere. `must_change`: the
    directory insists on another one at the next login; False where it has no password policy."""

    password: str = field(repr=False)
    must_change: bool = True


@dataclass(frozen=True)
class Created:
    """A person as the directory has them now, and their first password."""

    person: Person
    password: OneTimePassword


@dataclass(frozen=True)
class PeoplePage:
    """Some people, in the directory's own order. `cursor` gives the next ones; None at the end.
    `incomplete`: a sentence where the directory keeps the rest to itself."""

    people: tuple[Person, ...]
    cursor: str | None = None
    incomplete: str | None = None


@dataclass(frozen=True)
class GroupsPage:
    """Some groups, without their members; otherwise as `PeoplePage`."""

    groups: tuple[Group, ...]
    cursor: str | None = None
    incomplete: str | None = None


class Ability(StrEnum):
    """What may or may not be possible in this directory, each a button of the pages."""

    CREATE = "create"
    EDIT = "edit"
    DELETE = "delete"
    GROUPS = "groups"
    PASSWORD = "password"  # noqa: S105
    LOCK = "lock"
    DISABLE = "disable"


@dataclass(frozen=True)
class Capabilities:
    """`missing`: for each ability that is absent, a sentence that says why. What isn't in it can
    be done. `kind` is the setting `ldap_directory`."""

    kind: str
    missing: Mapping[Ability, str]

    def can(self, ability: Ability) -> bool:
        return ability not in self.missing


@dataclass(frozen=True)
class ServerHealth:
    """One server of the directory; `cause` says what is wrong, None when nothing is. `took_ms` is
    how long it took to say so."""

    url: str
    cause: str | None
    took_ms: int | None = None


class Login(Protocol):
    """Passwords, as people themselves use them."""

    async def authenticate(self, username: str, password: str, *, one_time: bool = False) -> Person:
        """The person this username and password belong to.

        Raises WrongCredentials (AccountLocked, PasswordExpired). Nothing is sent to a server for
        what can't be right: an empty password would be an anonymous bind. `one_time`: a password
        that is right and good for one change only is no error where the portal can make that
        change. `must_change` of the answer is what this login said, not the entry.
        """
        ...

    async def change_password(self, username: str, current: str, new: str) -> None:
        """Set a new password as the person, by the password modify operation (RFC 3062).

        Raises InvalidInput with the directory's reason, and what `authenticate` raises.
        """
        ...


class Reading(Protocol):
    """Looking, as the account `ldap_bind_dn`."""

    @property
    def finds(self) -> bool:
        """Whether people can be found without their password: not where a template makes the DN,
        for there each is looked up as themselves. Nothing else of `Reading` and `Writing` works
        there; each raises Conflict (DirectoryReadOnly)."""
        ...

    async def find(self, username: str) -> Person | None:
        """Someone with their groups; None if there is nobody, or more than one, of that name."""
        ...

    async def find_many(self, usernames: Sequence[str]) -> dict[str, Person]:
        """Those of these who exist, by username, without groups; in as few searches as can be."""
        ...

    async def page(self, query: str = "", cursor: str | None = None, limit: int = 50) -> PeoplePage:
        """People whose username, name or mail hold every word of `query`; everyone for "".

        At most `limit` ≤ MAX_PAGE of them are in memory. A cursor holds over restarts and in
        another process, though going on is slower there. InvalidInput for one that is none.
        """
        ...

    def everyone(self) -> AsyncIterator[Person]:
        """All people, read in pages, without groups. Raises DirectoryUnavailable in the middle
        when the directory stops answering or keeps the rest to itself: a part is never taken for
        the whole."""
        ...

    async def groups(
        self, query: str = "", cursor: str | None = None, limit: int = 50
    ) -> GroupsPage:
        """Groups whose name or description hold every word of `query`."""
        ...

    async def group(self, name: str) -> Group | None:
        """One group with its own members and the groups within it."""
        ...

    async def members(self, name: str) -> frozenset[str]:
        """Usernames of all who are in a group, with `ldap_nested_groups` through groups within it
        too, however they are nested. NotFound if there is no such group."""
        ...

    async def capabilities(self) -> Capabilities:
        """What can be done here, and why the rest can't."""
        ...

    async def health(self) -> list[ServerHealth]:
        """Each server tried on its own: connection, certificate, and binds of the portal's
        accounts, that which writes too."""
        ...

    async def answers(self) -> None:
        """Raise DirectoryUnavailable unless some server serves."""
        ...


class Writing(Protocol):
    """Changing, as the account `ldap_write_dn`.

    Everything here may raise
      DirectoryReadOnly   409: this can't be done in this directory; the sentence says why
      InvalidInput        422: names the field, as of NewPerson, Edit, NewGroup
      NotFound            404: no such person or group
      DirectoryUnfinished 503: the directory stopped answering in the middle; the sentence says
                          what is done and what isn't
    and may be repeated: what is already so is not an error, except creating what exists.
    """

    async def create(self, new: NewPerson) -> Created:
        """A person with numbers that nobody has, a one-time password and the named groups.

        Names and numbers that exist, or that UNIX or Slurm refuse, are field errors; so are
        groups that don't exist.
        """
        ...

    async def edit(self, username: str, edit: Edit, version: str) -> Person:
        """The person afterwards. DirectoryChanged (409) if the entry isn't any more what it was
        when `version` was read; "" asks for no such check."""
        ...

    async def delete(self, username: str) -> bool:
        """Remove the person from every group, then their own group and the entry. Whether there
        was one. Conflict when they are the last member of a groupOfNames: nothing is changed."""
        ...

    async def set_password(self, username: str, password: str | None = None) -> OneTimePassword:
        """Set a one-time password, a made one for None; InvalidInput with the policy's reason."""
        ...

    async def lock(self, username: str) -> None:
        """Refuse the password until `unlock`. ssh keys go on working: see `disable`."""
        ...

    async def unlock(self, username: str) -> None:
        """End a lock, be it an administrator's or that after too many wrong passwords. Conflict
        for someone who is disabled."""
        ...

    async def disable(self, username: str) -> None:
        """Refuse password, ssh keys and all: locked, and a login shell that ends at once. The
        entry remembers the shell that was."""
        ...

    async def enable(self, username: str) -> None:
        """Undo `disable`; the shell is the one from before."""
        ...

    async def create_group(self, new: NewGroup) -> Group: ...

    async def delete_group(self, name: str) -> bool:
        """Whether there was one. Conflict while it is somebody's primary group."""
        ...

    async def add_member(self, group: str, username: str) -> None: ...

    async def remove_member(self, group: str, username: str) -> None:
        """Conflict for the last member of a groupOfNames, which can't be empty."""
        ...


class Directory(Login, Reading, Writing, Protocol):
    """The directory as the portal uses it; `open_directory(settings)` makes one."""

    def close(self) -> None:
        """Close the connections that are kept open."""
        ...
