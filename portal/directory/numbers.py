"""Allocation of uid and gid numbers: each is given out once, also with several portals at the same
time.

One entry of the directory per range is the counter: its serialNumber is the next number. To take a
number, remove the value that was read and add the following one in a single modification, which the
server accepts from one client only. Numbers in use are skipped. A number is not reused after its
user is deleted: their files may still be there.
"""

from collections.abc import Callable

from portal.directory.changes import (
    ENTRY_EXISTS,
    NO_SUCH_ATTRIBUTE,
    DirectoryChange,
    swap_value,
)
from portal.directory.connections import BASE, SUBTREE, SUCCESS, OpenConnection
from portal.directory.groups import MAX_FILTER_TERMS
from portal.directory.mapping import any_of, conjunction, number
from portal.errors import Conflict

COUNTER = "serialNumber"
COUNTER_CLASSES = ["device"]
_MAX_ATTEMPTS = 100


def allot(
    change: DirectoryChange, span: tuple[int, int], taken: Callable[[list[int]], set[int]]
) -> int:
    """Allocate a number of this range that is not `taken`.

    Raises Conflict when the range is used up.
    """
    dn = counter_dn(change.link, span)
    for _ in range(_MAX_ATTEMPTS):
        following = _read_counter(change, dn, span)
        free = _find_free(span, following, taken)
        step = swap_value(COUNTER, str(following), str(free + 1))
        if change.modify(dn, step, _STEP, accept={NO_SUCH_ATTRIBUTE}) == SUCCESS:
            # an internal step; not part of the report to the administrator
            change.done.remove(_STEP)
            return free
    raise Conflict("Too many users and groups are being created at the same time. Try again.")


_STEP = "a number was reserved"


def counter_dn(link: OpenConnection, span: tuple[int, int]) -> str:
    """Return the DN of the entry that is the counter of this range."""
    return f"cn=portal-numbers-{span[0]}-{span[1]},{link.settings.ldap_numbers_place}"


def _read_counter(change: DirectoryChange, dn: str, span: tuple[int, int]) -> int:
    """Return the counter's next number.

    The counter is created on first use, by one of the clients.
    """
    for entry in change.link.search(dn, "(objectClass=*)", BASE, [COUNTER], size_limit=1):
        following = number(entry, COUNTER)
        if following is None:
            raise Conflict(f"The directory's entry {dn} must have a number in {COUNTER}.")
        return following
    name = dn.partition(",")[0].partition("=")[2]
    attributes = {"cn": name, COUNTER: str(span[0]), "description": _DESCRIPTION}
    words = f"the entry {dn} was created"
    if change.add(dn, COUNTER_CLASSES, attributes, words) not in {SUCCESS, ENTRY_EXISTS}:
        raise Conflict(f"The directory refused to create the counter for numbers, {dn}.")
    return _read_counter(change, dn, span)


_DESCRIPTION = "The next number that the portal gives out; never set it back"


def _find_free(span: tuple[int, int], start: int, taken: Callable[[list[int]], set[int]]) -> int:
    last = span[1]
    for first in range(max(start, span[0]), last + 1, MAX_FILTER_TERMS):
        some = list(range(first, min(first + MAX_FILTER_TERMS, last + 1)))
        used = taken(some)
        free = next((candidate for candidate in some if candidate not in used), None)
        if free is not None:
            return free
    raise Conflict(
        f"All numbers from {span[0]} to {last} have been assigned. A wider ldap_uid_range or "
        "ldap_gid_range can be set in the portal's settings."
    )


def uids_in_use(link: OpenConnection, numbers: list[int]) -> set[int]:
    """Return the numbers among these that users have."""
    settings = link.settings
    return _find_in_use(link, settings.ldap_user_base, settings.ldap_uid_attribute, numbers)


def gids_in_use(link: OpenConnection, numbers: list[int]) -> set[int]:
    """Return the numbers among these that groups have."""
    settings = link.settings
    return _find_in_use(
        link, settings.ldap_group_base, settings.ldap_gid_attribute, numbers, "group"
    )


def _find_in_use(
    link: OpenConnection, base: str | None, attribute: str, numbers: list[int], kind: str = ""
) -> set[int]:
    if base is None:
        return set()
    query = any_of(attribute, map(str, numbers))
    if kind == "group":
        query = conjunction([link.settings.ldap_groups_filter, query])
    # The limit leaves room: a number that several entries have must not hide another one.
    entries = link.search(base, query, SUBTREE, [attribute], size_limit=4 * MAX_FILTER_TERMS)
    values = {number(entry, attribute) for entry in entries}
    return {value for value in values if value is not None}


def owners(link: OpenConnection, base: str, query: str) -> list[str]:
    """Return the DNs of up to three matching entries."""
    entries = link.search(base, query, SUBTREE, ["1.1"], size_limit=3)
    return [entry["dn"] for entry in entries]
