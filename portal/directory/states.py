"""Locking and disabling of users, in OpenLDAP.

Locked is ppolicy's state: the password is refused. Disabled is locked with a login shell that exits
at once, which stops ssh keys too; the entry stores the previous state in a description value.
"""

import re
from dataclasses import dataclass

from portal.config.directory import LOCKED_FOR_GOOD
from portal.directory.changes import (
    DirectoryChange,
    Modifications,
    add_value,
    change,
    remove_value,
    replace,
)
from portal.directory.connections import MODIFY_ADD, MODIFY_DELETE, SUCCESS, OpenConnection, Servers
from portal.directory.entries import entry_of
from portal.directory.mapping import DESCRIPTION, ENTRY_CSN, LOCKED, Entry, Mapping, first, texts
from portal.errors import Conflict, DirectoryChanged

_MAX_ATTEMPTS = 5
_DISABLED = re.compile(r"portal-disabled shell=(.+) locked=(\S+)")
_NONE = "-"


def lock(servers: Servers, link: OpenConnection, username: str) -> None:
    with change(servers, link) as steps:
        dn = entry_of(link, username)["dn"]
        steps.modify(dn, replace({LOCKED: LOCKED_FOR_GOOD}), f"the account {username} was locked")


def unlock(servers: Servers, link: OpenConnection, username: str) -> None:
    with change(servers, link) as steps:
        entry = entry_of(link, username)
        if Mapping(link.settings).user(entry, username).disabled:
            raise Conflict(
                f"{username} is disabled, and unlocking doesn't change that. Enable the user "
                "instead."
            )
        steps.modify(entry["dn"], replace({LOCKED: None}), f"the account {username} was unlocked")


@dataclass(frozen=True)
class _StoredState:
    """The state that `disable` stored: the description value itself, and the previous shell and
    lock.
    """

    value: str
    shell: str | None
    locked: str | None


def disable(servers: Servers, link: OpenConnection, username: str) -> None:
    with change(servers, link) as steps:
        for _ in range(_MAX_ATTEMPTS):
            entry = entry_of(link, username)
            if Mapping(link.settings).user(entry, username).disabled:
                return
            if _apply_if_unchanged(
                steps,
                entry,
                _build_disabling(link, entry),
                f"the account {username} was disabled",
            ):
                return
        raise DirectoryChanged(_BUSY.format(username=username))


def enable(servers: Servers, link: OpenConnection, username: str) -> None:
    with change(servers, link) as steps:
        for _ in range(_MAX_ATTEMPTS):
            entry = entry_of(link, username)
            disabled = Mapping(link.settings).user(entry, username).disabled
            if not disabled and _read_stored_state(entry) is None:
                return
            if _apply_if_unchanged(
                steps,
                entry,
                _build_enabling(link, entry),
                f"the account {username} was enabled",
            ):
                return
        raise DirectoryChanged(_BUSY.format(username=username))


def _apply_if_unchanged(
    steps: DirectoryChange, entry: Entry, modifications: Modifications, words: str
) -> bool:
    """Apply all modifications at once; if the server supports the assertion control, only if the
    entry is unchanged since it was read.
    """
    csn = (first(entry, ENTRY_CSN) or "") if steps.asserts() else ""
    return steps.modify(entry["dn"], modifications, words, if_csn=csn) == SUCCESS


def _build_disabling(link: OpenConnection, entry: Entry) -> Modifications:
    settings = link.settings
    shell = first(entry, settings.ldap_shell_attribute)
    before = _read_stored_state(entry)
    if before is not None and shell == settings.ldap_disabled_shell:
        shell = before.shell  # an entry that was disabled has been unlocked
    locked = first(entry, LOCKED)
    value = f"portal-disabled shell={shell or _NONE} locked={locked or _NONE}"
    modifications = replace(
        {settings.ldap_shell_attribute: settings.ldap_disabled_shell, LOCKED: LOCKED_FOR_GOOD}
    )
    if before is None:
        modifications |= add_value(DESCRIPTION, value)
    elif before.value != value:
        modifications |= {DESCRIPTION: [(MODIFY_DELETE, [before.value]), (MODIFY_ADD, [value])]}
    return modifications


def _build_enabling(link: OpenConnection, entry: Entry) -> Modifications:
    settings = link.settings
    before = _read_stored_state(entry)
    modifications = replace({LOCKED: before.locked if before else None})
    if first(entry, settings.ldap_shell_attribute) == settings.ldap_disabled_shell:
        shell = before.shell if before else settings.ldap_new_shell
        modifications |= replace({settings.ldap_shell_attribute: shell})
    if before is not None:
        modifications |= remove_value(DESCRIPTION, before.value)
    return modifications


def _read_stored_state(entry: Entry) -> _StoredState | None:
    for value in texts(entry, DESCRIPTION):
        if match := _DISABLED.fullmatch(value):
            shell, locked = (None if part == _NONE else part for part in match.groups())
            return _StoredState(value, shell, locked)
    return None


_BUSY = "{username} is being changed by another request. Try again."
