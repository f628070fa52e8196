"""Who is in which group, also through groups within groups.

Active Directory follows those itself; elsewhere they are walked level by level. A group that was
seen isn't looked at again, so loops end, and after MAX_GROUPS groups the walk stops.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import structlog

from portal.directory.connections import SUBTREE, Link, Servers, ServerTrouble
from portal.directory.contract import MAX_GROUPS, MAX_PAGE, Group
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
"""In the root entry's supportedCapabilities: this is Active Directory, which knows in_chain."""
ENTRY_DN = "entryDN"  # RFC 5020
AT_ONCE = 50
"""Terms of one filter."""


def of(servers: Servers, link: Link, username: str, dn: str) -> frozenset[str]:
    """Names of the groups somebody is in, as whoever is bound on the link sees them."""
    settings, mapping = link.settings, Mapping(link.settings)
    if settings.ldap_group_base is None:
        return frozenset()
    member = settings.ldap_group_member_attribute
    if settings.ldap_nested_groups and _follows_itself(servers, link):
        return _names(_groups(link, in_chain(member, dn)))
    own = _groups(link, mapping.groups_of(username, dn))
    if not settings.ldap_nested_groups:
        return _names(own)
    found, frontier = dict(own), list(own)
    while frontier and len(found) < MAX_GROUPS:
        around: dict[str, str] = {}
        for some in batches(frontier):
            around.update(_groups(link, _naming(some)))
        frontier = [dn for dn in around if dn not in found]
        found.update(around)
    return _names(found)


def direct_names(link: Link, username: str, dn: str) -> frozenset[str]:
    """Names of the groups that name this person themselves."""
    return _names(_groups(link, Mapping(link.settings).groups_of(username, dn)))


def existing(link: Link, names: Sequence[str]) -> set[str]:
    """Those of these groups that there are."""
    mapping, found = Mapping(link.settings), set[str]()
    for some in batches(names):
        named = any_of(link.settings.ldap_group_name_attribute, some)
        found.update(_groups(link, conjunction([mapping.all_groups(), named])).values())
    return found


def _naming(dns: Iterable[str]) -> str:
    return f"(|{''.join(any_of(attribute, dns) for attribute in DN_MEMBERS)})"


def _groups(link: Link, query: str) -> dict[str, str]:
    """The names of the groups that match, by DN."""
    name = link.settings.ldap_group_name_attribute
    base = link.settings.ldap_group_base or ""
    entries = link.search(base, query, SUBTREE, [name], size_limit=MAX_GROUPS)
    return {entry["dn"]: group for entry in entries if (group := first(entry, name))}


def _names(found: dict[str, str]) -> frozenset[str]:
    return frozenset(islice(found.values(), MAX_GROUPS))


def _follows_itself(servers: Servers, link: Link) -> bool:
    return ACTIVE_DIRECTORY in servers.features(link).capabilities


def entry_of(link: Link, name: str, attributes: Sequence[str]) -> Entry | None:
    """The one group of that name, as the account that is bound sees it."""
    mapping = Mapping(link.settings)
    base = link.settings.ldap_group_base
    if base is None:
        return None
    wanted = list(dict.fromkeys([*mapping.group_attributes, *attributes]))
    entries = link.search(base, mapping.one_group(name), SUBTREE, wanted, size_limit=2)
    if len(entries) > 1:
        log.warning("several groups have one name", group=name[:64])
    return entries[0] if len(entries) == 1 else None


def group(link: Link, name: str) -> Group | None:
    """One group with its own members."""
    entry = entry_of(link, name, _MEMBERS)
    if entry is None:
        return None
    people, within = _direct(link, entry)
    found = Mapping(link.settings).group(entry)
    return Group(
        name=found.name,
        dn=found.dn,
        gid=found.gid,
        description=found.description,
        members=frozenset(people),
        groups=frozenset(first(inner, _name(link)) or "" for inner in within),
    )


_MEMBERS = [NAME_MEMBERS, *DN_MEMBERS]


def members(servers: Servers, link: Link, name: str) -> frozenset[str] | None:
    """Usernames of all who are in a group; None if there is no such group."""
    settings = link.settings
    entry = entry_of(link, name, _MEMBERS)
    if entry is None:
        return None
    member_of = settings.ldap_member_of_attribute
    if settings.ldap_nested_groups and member_of and _follows_itself(servers, link):
        return frozenset(_usernames(link, in_chain(member_of, entry["dn"])))
    people, within = _direct(link, entry)
    if not settings.ldap_nested_groups:
        return frozenset(people)
    seen = {_key(entry["dn"])}
    while within:
        new = [inner for inner in within if _key(inner["dn"]) not in seen]
        within = []
        for inner in new:
            if _key(inner["dn"]) in seen or len(seen) >= MAX_GROUPS:
                continue
            seen.add(_key(inner["dn"]))
            some, deeper = _direct(link, inner)
            people |= some
            within.extend(deeper)
    return frozenset(people)


def _direct(link: Link, entry: Entry) -> tuple[set[str], list[Entry]]:
    """The usernames and the groups that are in this group themselves."""
    settings, mapping = link.settings, Mapping(link.settings)
    member_of = settings.ldap_member_of_attribute
    if member_of:
        here = equals(member_of, entry["dn"])
        return _usernames(link, here), list(
            _all(link, settings.ldap_group_base, conjunction([mapping.all_groups(), here]))
        )
    people = {name.lower() for name in texts(entry, NAME_MEMBERS)}
    within: list[Entry] = []
    for dns in batches([dn for name in DN_MEMBERS for dn in texts(entry, name)]):
        named = any_of(ENTRY_DN, dns)
        people |= _usernames(link, named)
        query = conjunction([mapping.all_groups(), named])
        within.extend(_all(link, settings.ldap_group_base, query))
    return people, within


def _usernames(link: Link, query: str) -> set[str]:
    """Usernames of the people who match, read in pages."""
    settings = link.settings
    name = settings.ldap_username_attribute
    whole = conjunction([Mapping(settings).people(), query])
    found = set()
    for entry in _all(link, settings.ldap_user_base, whole, [name]):
        if username := first(entry, name):
            found.add(username.lower())
    return found


def _all(
    link: Link, base: str | None, query: str, attributes: Sequence[str] = ()
) -> Iterator[Entry]:
    """Every entry that matches, a page in memory at a time."""
    wanted = list(attributes) or [_name(link), *_MEMBERS]
    cookie = b""
    while base is not None:
        batch = link.search_page(base, query, wanted, MAX_PAGE, cookie)
        yield from batch.entries
        cookie = batch.cookie
        if batch.cut:
            raise ServerTrouble("it doesn't give all members of a group: raise its size limit")
        if not cookie:
            return


def _name(link: Link) -> str:
    return link.settings.ldap_group_name_attribute


def _key(dn: str) -> str:
    return dn.casefold()


def batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]
