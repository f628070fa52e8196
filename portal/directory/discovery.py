"""Discovery of a directory's kind, and of where its users and groups are, for `portal init`, which
runs before there are settings.

Reads a bounded number of entries and changes nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from portal.config.settings import Settings
from portal.directory.connections import (
    BASE,
    FAILURES,
    SUBTREE,
    OpenConnection,
    ServerTrouble,
    explain,
    open_link,
)
from portal.directory.groups import ACTIVE_DIRECTORY
from portal.directory.mapping import texts

Kind = Literal["openldap", "active-directory", "freeipa", "other"]
MAX_SAMPLED_ENTRIES = 400
ROOT = (
    "namingContexts",
    "defaultNamingContext",
    "supportedCapabilities",
    "vendorName",
    "objectClass",
    "ipaDomainLevel",
)
USERS = {"active-directory": "(&(objectClass=user)(!(objectClass=computer))(sAMAccountName=*))"}
GROUPS = {"active-directory": "(objectClass=group)", "freeipa": "(objectClass=ipaUserGroup)"}
ANY_USERS = "(objectClass=posixAccount)"
ANY_GROUPS = "(|(objectClass=posixGroup)(objectClass=groupOfNames)(objectClass=groupOfUniqueNames))"
MEMBERS = ("memberUid", "member", "uniqueMember")


@dataclass(frozen=True)
class Address:
    """The address of the server and the account for the searches. `bind_dn` None: anonymous."""

    url: str
    start_tls: bool = True
    ca_file: Path | None = None
    bind_dn: str | None = None
    bind_password_file: Path | None = None


@dataclass(frozen=True)
class GroupFound:
    """A group's name, and the number of members that its entry names."""

    name: str
    members: int


@dataclass(frozen=True)
class DirectoryFound:
    """The result of a discovery.

    `users` and `groups` are from at most MAX_SAMPLED_ENTRIES entries of each kind.
    """

    kind: Kind
    suffix: str | None
    user_base: str | None
    group_base: str | None
    users: int
    groups: tuple[GroupFound, ...]
    member_attribute: str | None
    lowest_uid: int | None


class DiscoveryFailed(Exception):
    """A discovery failed; the message is one sentence with the reason."""


async def discover(address: Address, base: str | None) -> DirectoryFound:
    """Inspect a directory.

    Raises DiscoveryFailed. `base` is where to search; by default the server's suffix.
    """
    return await asyncio.to_thread(_discover, address, base)


def _discover(address: Address, base: str | None) -> DirectoryFound:
    # The settings that the rest of the portal needs do not exist yet.
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
            return _inspect(link, base)
        finally:
            link.close()
    except (*FAILURES, ValueError) as error:
        raise DiscoveryFailed(f"{address.url}: {explain(error)}") from error


def _inspect(link: OpenConnection, base: str | None) -> DirectoryFound:
    entries = link.search("", "(objectClass=*)", BASE, list(ROOT), size_limit=1)
    if not entries:
        raise ServerTrouble("its root entry can't be read")
    root = entries[0]
    kind, suffix = kind_of(root), base or suffix_of(root)
    if suffix is None:
        return DirectoryFound(kind, None, None, None, 0, (), None, None)
    users = link.search(
        suffix, USERS.get(kind, ANY_USERS), SUBTREE, ["uidNumber"], size_limit=MAX_SAMPLED_ENTRIES
    )
    groups = link.search(
        suffix,
        GROUPS.get(kind, ANY_GROUPS),
        SUBTREE,
        ["cn", *MEMBERS],
        size_limit=MAX_SAMPLED_ENTRIES,
    )
    return summarize(kind, suffix, users, groups)


def kind_of(root: dict[str, Any]) -> Kind:
    """Return the kind of directory according to the server's root entry."""
    if ACTIVE_DIRECTORY in texts(root, "supportedCapabilities"):
        return "active-directory"
    if texts(root, "ipaDomainLevel"):
        return "freeipa"
    if any(name.lower() == "openldaprootdse" for name in texts(root, "objectClass")):
        return "openldap"
    return "other"


def suffix_of(root: dict[str, Any]) -> str | None:
    """Return the tree's top: the server's default naming context, or the first one that is not an
    internal tree.
    """
    suffixes = [*texts(root, "defaultNamingContext"), *texts(root, "namingContexts")]
    trees = [dn for dn in suffixes if not dn.lower().startswith(("cn=", "o=ipaca"))]
    return next(iter(trees), None)


def summarize(
    kind: Kind, suffix: str, users: Iterable[dict[str, Any]], groups: Iterable[dict[str, Any]]
) -> DirectoryFound:
    """Summarize the entries. Pure."""
    users, groups = list(users), list(groups)
    uids = [int(text) for user in users for text in texts(user, "uidNumber") if text.isdecimal()]
    used = Counter(name for group in groups for name in MEMBERS if texts(group, name))
    group_names = [
        GroupFound(name, max(len(texts(group, member)) for member in MEMBERS))
        for group in groups
        for name in texts(group, "cn")[:1]
    ]
    return DirectoryFound(
        kind,
        suffix,
        _find_common_parent(str(user["dn"]) for user in users),
        _find_common_parent(str(group["dn"]) for group in groups),
        len(users),
        tuple(sorted(group_names, key=lambda group: group.name)),
        used.most_common(1)[0][0] if used else None,
        min(uids, default=None),
    )


def _find_common_parent(names: Iterable[str]) -> str | None:
    """Return the lowest common parent of these DNs. Commas within a name are escaped in a DN."""
    common: list[str] | None = None
    for name in names:
        above = list(reversed(_split_dn(name)[1:]))
        if common is None:
            common = above
            continue
        same = 0
        while same < min(len(common), len(above)) and common[same].lower() == above[same].lower():
            same += 1
        common = common[:same]
    return ",".join(reversed(common)) if common else None


def _split_dn(name: str) -> list[str]:
    parts, current, escaped = list[str](), "", False
    for char in name:
        if char == "," and not escaped:
            parts.append(current)
            current = ""
            continue
        escaped = char == "\\" and not escaped
        current += char
    return [*parts, current]
