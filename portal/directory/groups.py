"""Group membership, including nested groups.

Active Directory resolves nested groups itself; elsewhere they are walked level by level. A group is
visited only once, so loops end, and after MAX_GROUPS groups the walk stops.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import structlog

from portal.directory.connections import SUBTREE, OpenConnection, Servers, ServerTrouble
from portal.directory.contract import MAX_GROUPS, MAX_PAGE, DirectoryGroup
from portal.directory.mapping import (
    DN_MEMBERS,
    NAME_MEMBERS,
    Entry,
    Mapping,
    any_of,
    conjunction,
    equals,
    first,
    in_chain,
    texts,
)

log = structlog.get_logger(__name__)

ACTIVE_DIRECTORY = "1.2.840.113556.1.4.800"
"""LDAP_CAP_ACTIVE_DIRECTORY_OID, among supportedCapabilities: it supports in_chain."""
ENTRY_DN = "entryDN"  # RFC 5020
MAX_FILTER_TERMS = 50
"""Maximum number of terms in one filter."""


def load_groups(servers: Servers, link: OpenConnection, username: str, dn: str) -> frozenset[str]:
    """Return the names of a user's groups, as visible to the account that is bound on the link."""
    settings, mapping = link.settings, Mapping(link.settings)
    if settings.ldap_group_base is None:
        return frozenset()
    member = settings.ldap_group_member_attribute
    if settings.ldap_nested_groups and _resolves_nested(servers, link):
        return _limit_names(_search_names(link, in_chain(member, dn)))
    own = _search_names(link, mapping.groups_of(username, dn))
    if not settings.ldap_nested_groups:
        return _limit_names(own)
    names, frontier = dict(own), list(own)
    while frontier and len(names) < MAX_GROUPS:
        around: dict[str, str] = {}
        for some in batches(frontier):
            around.update(_search_names(link, _filter_naming(some)))
        frontier = [dn for dn in around if dn not in names]
        names.update(around)
    return _limit_names(names)


def direct_names(link: OpenConnection, username: str, dn: str) -> frozenset[str]:
    """Return the names of the groups that list this user directly."""
    return _limit_names(_search_names(link, Mapping(link.settings).groups_of(username, dn)))


def existing(link: OpenConnection, names: Sequence[str]) -> set[str]:
    """Return the existing ones among these groups."""
    mapping, known_names = Mapping(link.settings), set[str]()
    for some in batches(names):
        query = any_of(link.settings.ldap_group_name_attribute, some)
        known_names.update(_search_names(link, conjunction([mapping.all_groups(), query])).values())
    return known_names


def _filter_naming(dns: Iterable[str]) -> str:
    return f"(|{''.join(any_of(attribute, dns) for attribute in DN_MEMBERS)})"


def _search_names(link: OpenConnection, query: str) -> dict[str, str]:
    """Return the names of the matching groups, by DN."""
    name = link.settings.ldap_group_name_attribute
    base = link.settings.ldap_group_base or ""
    entries = link.search(base, query, SUBTREE, [name], size_limit=MAX_GROUPS)
    return {entry["dn"]: group for entry in entries if (group := first(entry, name))}


def _limit_names(names: dict[str, str]) -> frozenset[str]:
    return frozenset(islice(names.values(), MAX_GROUPS))


def _resolves_nested(servers: Servers, link: OpenConnection) -> bool:
    return ACTIVE_DIRECTORY in servers.features(link).capabilities


def entry_of(link: OpenConnection, name: str, attributes: Sequence[str]) -> Entry | None:
    """Return the group of that name, as visible to the account that is bound."""
    mapping = Mapping(link.settings)
    base = link.settings.ldap_group_base
    if base is None:
        return None
    requested = list(dict.fromkeys([*mapping.group_attributes, *attributes]))
    entries = link.search(base, mapping.one_group(name), SUBTREE, requested, size_limit=2)
    if len(entries) > 1:
        log.warning("several groups have one name", group=name[:64])
    return entries[0] if len(entries) == 1 else None


def group(link: OpenConnection, name: str) -> DirectoryGroup | None:
    """Return a group with its direct members."""
    entry = entry_of(link, name, _MEMBERS)
    if entry is None:
        return None
    users, within = _read_direct(link, entry)
    parsed = Mapping(link.settings).group(entry)
    return DirectoryGroup(
        name=parsed.name,
        dn=parsed.dn,
        gid=parsed.gid,
        description=parsed.description,
        members=frozenset(users),
        groups=frozenset(first(inner, _name_attribute(link)) or "" for inner in within),
    )


def name_of_number(link: OpenConnection, gid: int) -> str | None:
    """Return the name of the group with this number; None where there is none."""
    settings = link.settings
    if settings.ldap_group_base is None:
        return None
    query = conjunction(
        [Mapping(settings).all_groups(), equals(settings.ldap_gid_attribute, str(gid))]
    )
    return next(iter(_search_names(link, query).values()), None)


_MEMBERS = [NAME_MEMBERS, *DN_MEMBERS]


def members(servers: Servers, link: OpenConnection, name: str) -> frozenset[str] | None:
    """Return the usernames of all members of a group; None if there is no such group."""
    settings = link.settings
    entry = entry_of(link, name, _MEMBERS)
    if entry is None:
        return None
    member_of = settings.ldap_member_of_attribute
    if settings.ldap_nested_groups and member_of and _resolves_nested(servers, link):
        return frozenset(_search_usernames(link, in_chain(member_of, entry["dn"])))
    users, within = _read_direct(link, entry)
    if not settings.ldap_nested_groups:
        return frozenset(users)
    seen = {_normalize_dn(entry["dn"])}
    while within:
        new = [inner for inner in within if _normalize_dn(inner["dn"]) not in seen]
        within = []
        for inner in new:
            if _normalize_dn(inner["dn"]) in seen or len(seen) >= MAX_GROUPS:
                continue
            seen.add(_normalize_dn(inner["dn"]))
            some, deeper = _read_direct(link, inner)
            users |= some
            within.extend(deeper)
    return frozenset(users)


def _read_direct(link: OpenConnection, entry: Entry) -> tuple[set[str], list[Entry]]:
    """Return the usernames and the groups that are direct members of this group."""
    settings, mapping = link.settings, Mapping(link.settings)
    member_of = settings.ldap_member_of_attribute
    if member_of:
        here = equals(member_of, entry["dn"])
        return _search_usernames(link, here), list(
            _iterate(link, settings.ldap_group_base, conjunction([mapping.all_groups(), here]))
        )
    users = {name.lower() for name in texts(entry, NAME_MEMBERS)}
    within: list[Entry] = []
    for dns in batches([dn for name in DN_MEMBERS for dn in texts(entry, name)]):
        dn_query = any_of(ENTRY_DN, dns)
        users |= _search_usernames(link, dn_query)
        query = conjunction([mapping.all_groups(), dn_query])
        within.extend(_iterate(link, settings.ldap_group_base, query))
    return users, within


def _search_usernames(link: OpenConnection, query: str) -> set[str]:
    """Return the usernames of the matching users, read in pages."""
    settings = link.settings
    name = settings.ldap_username_attribute
    full_query = conjunction([Mapping(settings).users(), query])
    usernames = set()
    for entry in _iterate(link, settings.ldap_user_base, full_query, [name]):
        if username := first(entry, name):
            usernames.add(username.lower())
    return usernames


def _iterate(
    link: OpenConnection, base: str | None, query: str, attributes: Sequence[str] = ()
) -> Iterator[Entry]:
    """Iterate over all matching entries, with one page in memory at a time."""
    requested = list(attributes) or [_name_attribute(link), *_MEMBERS]
    cookie = b""
    while base is not None:
        batch = link.search_page(base, query, requested, MAX_PAGE, cookie)
        yield from batch.entries
        cookie = batch.cookie
        if batch.cut:
            raise ServerTrouble("it doesn't return all members of a group: raise its size limit")
        if not cookie:
            return


def _name_attribute(link: OpenConnection) -> str:
    return link.settings.ldap_group_name_attribute


def _normalize_dn(dn: str) -> str:
    return dn.casefold()


def batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), MAX_FILTER_TERMS):
        yield values[start : start + MAX_FILTER_TERMS]
