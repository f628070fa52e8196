"""What kind of directory a server is, and where in it people and groups are: for `portal init`,
before there are settings. A bounded look, without changing anything.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from portal.directory.connections import (
    BASE,
    FAILURES,
    SUBTREE,
    Link,
    ServerTrouble,
    explain,
    open_link,
)
from portal.directory.mapping import texts
from portal.settings import Settings

Kind = Literal["openldap", "active-directory", "freeipa", "other"]
ACTIVE_DIRECTORY = "1.2.840.113556.1.4.800"
"""LDAP_CAP_ACTIVE_DIRECTORY_OID, among supportedCapabilities."""
LOOK_AT = 400
ROOT = (
    "namingContexts",
    "defaultNamingContext",
    "supportedCapabilities",
    "vendorName",
    "objectClass",
    "ipaDomainLevel",
)
PEOPLE = {"active-directory": "(&(objectClass=user)(!(objectClass=computer))(sAMAccountName=*))"}
GROUPS = {"active-directory": "(objectClass=group)", "freeipa": "(objectClass=ipaUserGroup)"}
ANY_PEOPLE = "(objectClass=posixAccount)"
ANY_GROUPS = "(|(objectClass=posixGroup)(objectClass=groupOfNames)(objectClass=groupOfUniqueNames))"
MEMBERS = ("memberUid", "member", "uniqueMember")


@dataclass(frozen=True)
class Address:
    """How the server is asked. `bind_dn` None: anonymously."""

    url: str
    start_tls: bool = True
    ca_file: Path | None = None
    bind_dn: str | None = None
    bind_password_file: Path | None = None


@dataclass(frozen=True)
class GroupFound:
    """A group by its name, and how many members its entry names."""

    name: str
    members: int


@dataclass(frozen=True)
class DirectoryFound:
    """`people` and `groups` count what was looked at, at most LOOK_AT of each."""

    kind: Kind
    suffix: str | None
    user_base: str | None
    group_base: str | None
    people: int
    groups: tuple[GroupFound, ...]
    member_attribute: str | None
    lowest_uid: int | None


class NotFound(Exception):
    """One sentence: why nothing could be found out."""


async def discover(address: Address, base: str | None) -> DirectoryFound:
    """Raises NotFound. `base` is where to look; without it, what the server says."""
    return await asyncio.to_thread(_discover, address, base)


def _discover(address: Address, base: str | None) -> DirectoryFound:
    # What the rest of the portal needs of its settings isn't there yet.
    settings = Settings.model_construct(
        ldap_urls=[address.url],
        ldap_start_tls=address.start_tls,
        ldap_ca_file=address.ca_file,
        ldap_bind_dn=address.bind_dn,
        ldap_bind_password_file=address.bind_password_file,
    )
    try:
        link = open_link(address.url, settings)
        try:
            link.bind_reader()
            return _look(link, base)
        finally:
            link.close()
    except (*FAILURES, ValueError) as error:
        raise NotFound(f"{address.url}: {explain(error)}") from error


def _look(link: Link, base: str | None) -> DirectoryFound:
    entries = link.search("", "(objectClass=*)", BASE, list(ROOT), size_limit=1)
    if not entries:
        raise ServerTrouble("it doesn't show its root entry")
    root = entries[0]
    kind, suffix = kind_of(root), base or suffix_of(root)
    if suffix is None:
        return DirectoryFound(kind, None, None, None, 0, (), None, None)
    people = link.search(
        suffix, PEOPLE.get(kind, ANY_PEOPLE), SUBTREE, ["uidNumber"], size_limit=LOOK_AT
    )
    groups = link.search(
        suffix, GROUPS.get(kind, ANY_GROUPS), SUBTREE, ["cn", *MEMBERS], size_limit=LOOK_AT
    )
    return found(kind, suffix, people, groups)


def kind_of(root: dict[str, Any]) -> Kind:
    """By what the server's root entry says."""
    if ACTIVE_DIRECTORY in texts(root, "supportedCapabilities"):
        return "active-directory"
    if texts(root, "ipaDomainLevel"):
        return "freeipa"
    if any(name.lower() == "openldaprootdse" for name in texts(root, "objectClass")):
        return "openldap"
    return "other"


def suffix_of(root: dict[str, Any]) -> str | None:
    """The tree's top: what the server calls the default, or the first that holds people."""
    named = [*texts(root, "defaultNamingContext"), *texts(root, "namingContexts")]
    trees = [dn for dn in named if not dn.lower().startswith(("cn=", "o=ipaca"))]
    return next(iter(trees), None)


def found(
    kind: Kind, suffix: str, people: Iterable[dict[str, Any]], groups: Iterable[dict[str, Any]]
) -> DirectoryFound:
    """Pure: what the entries say together."""
    people, groups = list(people), list(groups)
    uids = [int(text) for one in people for text in texts(one, "uidNumber") if text.isdecimal()]
    used = Counter(name for one in groups for name in MEMBERS if texts(one, name))
    named = [
        GroupFound(name, max(len(texts(one, member)) for member in MEMBERS))
        for one in groups
        for name in texts(one, "cn")[:1]
    ]
    return DirectoryFound(
        kind,
        suffix,
        _common(str(one["dn"]) for one in people),
        _common(str(one["dn"]) for one in groups),
        len(people),
        tuple(sorted(named, key=lambda group: group.name)),
        used.most_common(1)[0][0] if used else None,
        min(uids, default=None),
    )


def _common(names: Iterable[str]) -> str | None:
    """The entry below which all of these are. Commas within a name are escaped in a DN."""
    common: list[str] | None = None
    for name in names:
        above = list(reversed(_parts(name)[1:]))
        if common is None:
            common = above
            continue
        same = 0
        while same < min(len(common), len(above)) and common[same].lower() == above[same].lower():
            same += 1
        common = common[:same]
    return ",".join(reversed(common)) if common else None


def _parts(name: str) -> list[str]:
    parts, current, escaped = list[str](), "", False
    for char in name:
        if char == "," and not escaped:
            parts.append(current)
            current = ""
            continue
        escaped = char == "\\" and not escaped
        current += char
    return [*parts, current]
