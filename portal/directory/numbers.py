"""uid and gid numbers: each is given out once, also to several portals at the same time.

An entry of the directory counts, one for each range: its serialNumber is the next number. Whoever
wants one removes the value they saw and adds the one after in a single modification, which the
server makes for one of them only. Numbers in use are stepped over. A number that was given out
isn't given again when its person is gone: their files may still be there.
"""

from collections.abc import Callable

from portal.directory.changes import (
    ENTRY_EXISTS,
    NO_SUCH_ATTRIBUTE,
    Change,
    swap_value,
)
from portal.directory.connections import BASE, SUBTREE, SUCCESS, Link
from portal.directory.groups import AT_ONCE
from portal.directory.mapping import any_of, conjunction, number
from portal.errors import Conflict

COUNTER = "serialNumber"
COUNTER_CLASSES = ["device"]
_TRIES = 100


def allot(change: Change, span: tuple[int, int], taken: Callable[[list[int]], set[int]]) -> int:
    """A number of this range that isn't `taken` and that nobody else is given.

    Raises Conflict when the range is used up.
    """
    dn = counter_dn(change.link, span)
    for _ in range(_TRIES):
        following = _read(change, dn, span)
        free = _free(span, following, taken)
        step = swap_value(COUNTER, str(following), str(free + 1))
        if change.modify(dn, step, _WORDS, {NO_SUCH_ATTRIBUTE}) == SUCCESS:
            change.done.remove(_WORDS)  # of no interest to anybody
            return free
    raise Conflict("Too many people and groups are being made at the same time. Please try again.")


_WORDS = "a number was set aside"


def counter_dn(link: Link, span: tuple[int, int]) -> str:
    """The entry that counts for this range."""
    return f"cn=portal-numbers-{span[0]}-{span[1]},{link.settings.ldap_numbers_place}"


def _read(change: Change, dn: str, span: tuple[int, int]) -> int:
    """Where the counter stands; it is made at the first time, by one of those who need it."""
    for entry in change.link.search(dn, "(objectClass=*)", BASE, [COUNTER], size_limit=1):
        following = number(entry, COUNTER)
        if following is None:
            raise Conflict(f"The directory's entry {dn} should hold a number as {COUNTER}.")
        return following
    name = dn.partition(",")[0].partition("=")[2]
    attributes = {"cn": name, COUNTER: str(span[0]), "description": _DESCRIPTION}
    words = f"the entry {dn} was made"
    if change.add(dn, COUNTER_CLASSES, attributes, words) not in {SUCCESS, ENTRY_EXISTS}:
        raise Conflict(f"The directory refused the entry that counts numbers, {dn}.")
    return _read(change, dn, span)


_DESCRIPTION = "The next number that the portal gives out; never set it back"


def _free(span: tuple[int, int], start: int, taken: Callable[[list[int]], set[int]]) -> int:
    last = span[1]
    for first in range(max(start, span[0]), last + 1, AT_ONCE):
        some = list(range(first, min(first + AT_ONCE, last + 1)))
        used = taken(some)
        free = next((one for one in some if one not in used), None)
        if free is not None:
            return free
    raise Conflict(
        f"All numbers from {span[0]} to {last} have been given out. Ask whoever runs the portal "
        "for a wider ldap_uid_range or ldap_gid_range."
    )


def uids_in_use(link: Link, numbers: list[int]) -> set[int]:
    """Those of these numbers that people have."""
    settings = link.settings
    return _in_use(link, settings.ldap_user_base, settings.ldap_uid_attribute, numbers)


def gids_in_use(link: Link, numbers: list[int]) -> set[int]:
    """Those of these numbers that groups have."""
    settings = link.settings
    return _in_use(link, settings.ldap_group_base, settings.ldap_gid_attribute, numbers, "group")


def _in_use(
    link: Link, base: str | None, attribute: str, numbers: list[int], kind: str = ""
) -> set[int]:
    if base is None:
        return set()
    query = any_of(attribute, map(str, numbers))
    if kind == "group":
        query = conjunction([link.settings.ldap_groups_filter, query])
    # asked with room to spare: a number that several have must not hide another one
    entries = link.search(base, query, SUBTREE, [attribute], size_limit=4 * AT_ONCE)
    found = {number(entry, attribute) for entry in entries}
    return {one for one in found if one is not None}


def owners(link: Link, base: str, query: str) -> list[str]:
    """DNs of up to three entries that match."""
    entries = link.search(base, query, SUBTREE, ["1.1"], size_limit=3)
    return [entry["dn"] for entry in entries]
