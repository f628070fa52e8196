"""The interface of the directory for the rest of the portal: types, and the protocol `Directory`,
which combines `Login`, `Reading` and `Writing`. Errors are in portal.errors.

Terms are LDAP's own: a user is an entry of class posixAccount or similar, a group one of class
posixGroup or groupOfNames. Nothing here speaks LDAP. Every method of `Directory` may also raise
`errors.DirectoryUnavailable`: no server answered correctly, and nothing was changed.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

MAX_PASSWORD_LENGTH = 1024
MAX_USERNAME_LENGTH = 256
MAX_GROUPS = 1000
"""Maximum number of a user's groups that are read."""
MAX_PAGE = 500
"""Maximum number of users or groups in one page; Active Directory returns at most 1,000 at
once.
"""
MAX_QUERY_LENGTH = 200


@dataclass(frozen=True)
class DirectoryUser:
    """A user's entry in the directory. `uid` and `gid` are its numbers, None where it has none.

    `groups`: names of the user's groups; empty in pages and in `find_many`, which do not read them.
    `locked`: the directory refuses the password, after wrong ones or by an administrator.
    `disabled`: switched off for ssh too. `must_change`: the password is valid for one change only.
    `version`: passed back by an edit, so that it cannot overwrite another administrator's change.
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
class DirectoryGroup:
    """A group.

    `members`: usernames of its direct members; empty in pages. `groups`: names of the groups within
    it, whose members belong to it too if `ldap_nested_groups` is set. `size`: in pages, the number
    of members that the entry names; None where that is expensive to read.
    """

    name: str
    dn: str
    gid: int | None
    description: str | None = None
    members: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    size: int | None = None


@dataclass(frozen=True)
class NewDirectoryUser:
    """A user to be created.

    None means a value from the settings: numbers from their ranges, the home from
    `ldap_home_template`. With neither `gid` nor `ldap_primary_gid` the user gets a group of their
    own, of the same name and number. `display_name` "" is the given name and surname. With
    `password` None a generated one is returned.
    """

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
    """Changes to a user; None leaves a field unchanged. `email` "" removes it.

    A uid never changes, because files belong to it.
    """

    given_name: str | None = None
    surname: str | None = None
    display_name: str | None = None
    email: str | None = None
    gid: int | None = None
    home: str | None = None
    shell: str | None = None


@dataclass(frozen=True)
class NewGroup:
    """A group to be created.

    `gid` None takes a number from `ldap_gid_range`. A groupOfNames is never empty, so there
    `members` must name at least one user.
    """

    name: str
    gid: int | None = None
    description: str | None = None
    members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OneTimePassword:
    """A password just set, for the administrator to hand over; stored nowhere.

    `must_change`: the directory requires a new one at the next login; False where it has no
    password policy.
    """

    password: str = field(repr=False)
    must_change: bool = True


@dataclass(frozen=True)
class CreatedUser:
    """A new user as the directory has them now, and their first password."""

    entry: DirectoryUser
    password: OneTimePassword


@dataclass(frozen=True)
class DirectoryUserPage:
    """A page of users, in the directory's own order.

    `cursor` returns the next page; None at the end. `incomplete`: a message if the directory
    withholds the rest.
    """

    users: tuple[DirectoryUser, ...]
    cursor: str | None = None
    incomplete: str | None = None


@dataclass(frozen=True)
class GroupsPage:
    """A page of groups, without their members; otherwise as `DirectoryUserPage`."""

    groups: tuple[DirectoryGroup, ...]
    cursor: str | None = None
    incomplete: str | None = None


class Ability(StrEnum):
    """An operation that a directory may or may not support; each is a button of the pages."""

    CREATE = "create"
    EDIT = "edit"
    DELETE = "delete"
    GROUPS = "groups"
    PASSWORD = "password"  # noqa: S105
    LOCK = "lock"
    DISABLE = "disable"


@dataclass(frozen=True)
class Capabilities:
    """The operations that the directory supports.

    `missing`: for each unsupported ability, a message with the reason. All others are supported.
    `kind` is the setting `ldap_directory`.
    """

    kind: str
    missing: Mapping[Ability, str]

    def can(self, ability: Ability) -> bool:
        return ability not in self.missing


@dataclass(frozen=True)
class ServerHealth:
    """The health of one server of the directory; `cause` is the error, None if there is none.

    `took_ms` is the duration of the check.
    """

    url: str
    cause: str | None
    took_ms: int | None = None


@dataclass(frozen=True)
class Lockout:
    """A policy that locks accounts after `max_failures` wrong passwords.

    `forgets_after_s` 0: only a correct password resets the count.
    """

    policy: str
    max_failures: int
    forgets_after_s: int


class Login(Protocol):
    """Password checks and changes, as the user."""

    async def authenticate(
        self, username: str, password: str, *, one_time: bool = False
    ) -> DirectoryUser:
        """Return the user with this username and password.

        Raises WrongCredentials (AccountLocked, PasswordExpired). Nothing is sent to a server for
        impossible input: an empty password would be an anonymous bind. `one_time`: a correct
        password that is valid for one change only is no error where the portal can make that
        change. `must_change` of the result comes from this login, not from the entry.
        """
        ...

    async def change_password(self, username: str, current: str, new: str) -> None:
        """Set a new password as the user, by the password modify operation (RFC 3062).

        Raises InvalidInput with the directory's reason, and the errors of `authenticate`.
        """
        ...


class Reading(Protocol):
    """Lookups, as the account `ldap_bind_dn`."""

    @property
    def can_look_up_users(self) -> bool:
        """Return whether users can be looked up without their password.

        Not with `ldap_user_dn_template`, because there each user is looked up as themselves.
        Lookups and changes raise Conflict (DirectoryReadOnly) there; `health`, `lockouts` and
        `check_answers` work.
        """
        ...

    async def find(self, username: str) -> DirectoryUser | None:
        """Return a user with their groups; None if there is no entry, or more than one, of that
        name.
        """
        ...

    async def find_many(self, usernames: Sequence[str]) -> dict[str, DirectoryUser]:
        """Return the existing users among these, by username, without groups, in as few searches as
        possible.
        """
        ...

    async def page(
        self, query: str = "", cursor: str | None = None, limit: int = 50
    ) -> DirectoryUserPage:
        """Return users whose username, name or mail contain every word of `query`; all for "".

        At most `limit` ≤ MAX_PAGE of them are in memory. A cursor survives restarts and works in
        another process, though continuing is slower there. Raises InvalidInput for an invalid
        cursor.
        """
        ...

    def everyone(self) -> AsyncIterator[DirectoryUser]:
        """Iterate over all users, read in pages, without groups.

        Raises DirectoryUnavailable in the middle if the directory stops answering or withholds the
        rest: a part is never taken for the whole.
        """
        ...

    async def groups(
        self, query: str = "", cursor: str | None = None, limit: int = 50
    ) -> GroupsPage:
        """Return groups whose name or description contain every word of `query`."""
        ...

    async def group(self, name: str) -> DirectoryGroup | None:
        """Return a group with its direct members and the groups within it."""
        ...

    async def group_name(self, gid: int) -> str | None:
        """Return the name of the group with this number, None where there is none."""
        ...

    async def members(self, name: str) -> frozenset[str]:
        """Return the usernames of all members of a group.

        With `ldap_nested_groups` also through groups within it, at any depth. Raises NotFound if
        there is no such group.
        """
        ...

    async def capabilities(self) -> Capabilities:
        """Return the supported operations, and the reasons why the others are not supported."""
        ...

    async def health(self) -> list[ServerHealth]:
        """Check each server separately: connection, certificate, and binds of the portal's
        accounts, including the one that writes.
        """
        ...

    async def lockouts(self) -> list[Lockout]:
        """Return the policies that lock accounts, as far as they are visible to the portal."""
        ...

    async def check_answers(self) -> None:
        """Raise DirectoryUnavailable unless at least one server serves."""
        ...


class Writing(Protocol):
    """Changes, as the account `ldap_write_dn`.

    Every method may raise
      DirectoryReadOnly   409: this directory does not support it; the message has the reason
      InvalidInput        422: names the field, as in NewDirectoryUser, Edit, NewGroup
      NotFound            404: no such user or group
      DirectoryUnfinished 503: the directory stopped answering in the middle; the message lists
                          the steps that are done and those that are not
    and may be repeated: a change that is already in effect is not an error, except creating an
    entry that exists.
    """

    async def create(self, new: NewDirectoryUser) -> CreatedUser:
        """Create a user with unused numbers, a one-time password and the named groups.

        Names and numbers that exist, or that UNIX or Slurm refuse, are field errors; so are groups
        that do not exist.
        """
        ...

    async def edit(self, username: str, edit: Edit, version: str) -> DirectoryUser:
        """Return the user after the edit.

        Raises DirectoryChanged (409) if the entry has changed since `version` was read; "" skips
        this check.
        """
        ...

    async def delete(self, username: str) -> bool:
        """Remove the user from every group, then their own group and the entry. Return whether
        there was one.

        Raises Conflict if they are the last member of a groupOfNames: nothing is changed then.
        """
        ...

    async def set_password(self, username: str, password: str | None = None) -> OneTimePassword:
        """Set a one-time password, a generated one for None.

        Raises InvalidInput with the policy's reason.
        """
        ...

    async def lock(self, username: str) -> None:
        """Refuse the password until `unlock`. ssh keys keep working: see `disable`."""
        ...

    async def unlock(self, username: str) -> None:
        """End a lock, by an administrator or after too many wrong passwords.

        Raises Conflict for a disabled user.
        """
        ...

    async def disable(self, username: str) -> None:
        """Refuse password, ssh keys and everything else: lock, and set a login shell that exits at
        once. The entry stores the previous shell.
        """
        ...

    async def enable(self, username: str) -> None:
        """Undo `disable` and restore the previous shell."""
        ...

    async def create_group(self, new: NewGroup) -> DirectoryGroup: ...

    async def delete_group(self, name: str) -> bool:
        """Return whether there was one. Raises Conflict while it is a user's primary group."""
        ...

    async def add_member(self, group: str, username: str) -> None: ...

    async def remove_member(self, group: str, username: str) -> None:
        """Raise Conflict for the last member of a groupOfNames, which cannot be empty."""
        ...


class Directory(Login, Reading, Writing, Protocol):
    """The directory as the portal uses it; `open_directory(settings)` creates one."""

    def close(self) -> None: ...
