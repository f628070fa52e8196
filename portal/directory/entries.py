"""Lookups of a single entry by name."""

from typing import Any

import structlog

from portal.directory.connections import SUBTREE, OpenConnection
from portal.directory.mapping import DESCRIPTION, Entry, Mapping
from portal.errors import NotFound

log = structlog.get_logger(__name__)


def find_one(
    link: OpenConnection, base: str, query: str, scope: Any, attributes: list[str]
) -> Entry | None:
    """Return the one entry that matches; None if there are several, because it would be
    ambiguous.
    """
    entries = link.search(base, query, scope, attributes, size_limit=2)
    if len(entries) > 1:
        log.warning("several entries match one name", base=base)
    return entries[0] if len(entries) == 1 else None


def for_change(link: OpenConnection, username: str) -> Entry | None:
    """Return the user's entry as visible to the account that is bound on the link."""
    if not username or not username.isprintable():
        return None
    mapping = Mapping(link.settings)
    attributes = [*mapping.user_attributes, DESCRIPTION]
    base = link.settings.ldap_user_base or ""
    return find_one(link, base, mapping.one_user(username), SUBTREE, attributes)


def entry_of(link: OpenConnection, username: str) -> Entry:
    """Return the user's entry. Raises NotFound."""
    entry = for_change(link, username)
    if entry is None:
        raise NotFound(f"There is no user {username[:64]} in the directory.")
    return entry
