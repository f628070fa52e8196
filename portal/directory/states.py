"""People locked and disabled, in OpenLDAP.

Locked is what ppolicy calls so: the password is refused. Disabled is that and a login shell that
ends at once, which holds for ssh keys too; the entry remembers in a description what was before.
"""

import re
from dataclasses import dataclass

from portal.directory.changes import Change, Modifications, add_value, change, remove_value, replace
from portal.directory.connections import MODIFY_ADD, MODIFY_DELETE, SUCCESS, Link, Servers
from portal.directory.entries import entry_of
from portal.directory.mapping import DESCRIPTION, LOCKED, VERSION, Entry, Mapping, first, texts
from portal.errors import Conflict, DirectoryChanged
from portal.settings_directory import LOCKED_FOR_GOOD

_TRIES = 5
_DISABLED = re.compile(r"portal-disabled shell=(.+) locked=(\S+)")
_NONE = "-"


def lock(servers: Servers, link: Link, username: str) -> None:
    with change(servers, link) as making:
        dn = entry_of(link, username)["dn"]
        making.modify(
            dn, replace({LOCKED: LOCKED_FOR_GOOD}), f"the account {username} was locked", set()
        )


def unlock(servers: Servers, link: Link, username: str) -> None:
    with change(servers, link) as making:
        entry = entry_of(link, username)
        if Mapping(link.settings).person(entry, username).disabled:
            raise Conflict(f"{username} is disabled, which unlocking doesn't end: enable them.")
        making.modify(
            entry["dn"], replace({LOCKED: None}), f"the account {username} was unlocked", set()
        )


@dataclass(frozen=True)
class _PutAway:
    """What `disable` has remembered: the value itself, the shell and the lock from before."""

    value: str
    shell: str | None
    locked: str | None


def disable(servers: Servers, link: Link, username: str) -> None:
    with change(servers, link) as making:
        for _ in range(_TRIES):
            entry = entry_of(link, username)
            if Mapping(link.settings).person(entry, username).disabled:
                return
            if _switch(
                making, entry, _disabling(link, entry), f"the account {username} was disabled"
            ):
                return
        raise DirectoryChanged(_BUSY.format(username=username))


def enable(servers: Servers, link: Link, username: str) -> None:
    with change(servers, link) as making:
        for _ in range(_TRIES):
            entry = entry_of(link, username)
            disabled = Mapping(link.settings).person(entry, username).disabled
            if not disabled and _put_away(entry) is None:
                return
            if _switch(
                making, entry, _enabling(link, entry), f"the account {username} was enabled"
            ):
                return
        raise DirectoryChanged(_BUSY.format(username=username))


def _switch(making: Change, entry: Entry, modifications: Modifications, words: str) -> bool:
    """All at once, and only if the entry still is what was read."""
    seen = (first(entry, VERSION) or "") if making.asserts() else ""
    return making.modify(entry["dn"], modifications, words, set(), seen) == SUCCESS


def _disabling(link: Link, entry: Entry) -> Modifications:
    settings = link.settings
    shell = first(entry, settings.ldap_shell_attribute)
    before = _put_away(entry)
    if before is not None and shell == settings.ldap_disabled_shell:
        shell = before.shell  # someone unlocked an entry that was disabled
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


def _enabling(link: Link, entry: Entry) -> Modifications:
    settings = link.settings
    before = _put_away(entry)
    modifications = replace({LOCKED: before.locked if before else None})
    if first(entry, settings.ldap_shell_attribute) == settings.ldap_disabled_shell:
        shell = before.shell if before else settings.ldap_new_shell
        modifications |= replace({settings.ldap_shell_attribute: shell})
    if before is not None:
        modifications |= remove_value(DESCRIPTION, before.value)
    return modifications


def _put_away(entry: Entry) -> _PutAway | None:
    for value in texts(entry, DESCRIPTION):
        if found := _DISABLED.fullmatch(value):
            shell, locked = (None if part == _NONE else part for part in found.groups())
            return _PutAway(value, shell, locked)
    return None


_BUSY = "Others are changing {username} at the moment. Please try again."
