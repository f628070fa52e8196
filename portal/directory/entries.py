"""One entry, found by its name."""

from typing import Any

import structlog

from portal.directory.connections import SUBTREE, Link
from portal.directory.mapping import DESCRIPTION, Entry, Mapping
from portal.errors import NotFound

log = structlog.get_logger(__name__)


def one(link: Link, base: str, query: str, scope: Any, attributes: list[str]) -> Entry | None:
    """The one entry that matches; none when there are several, for then nobody knows whose."""
    entries = link.search(base, query, scope, attributes, size_limit=2)
    if len(entries) > 1:
        log.warning("several entries match one name", base=base)
    return entries[0] if len(entries) == 1 else None


def for_change(link: Link, username: str) -> Entry | None:
    """The person's entry, as the account that writes sees it."""
    if not username or not username.isprintable():
        return None
    mapping = Mapping(link.settings)
    attributes = [*mapping.person_attributes, DESCRIPTION]
    base = link.settings.ldap_user_base or ""
    return one(link, base, mapping.one_person(username), SUBTREE, attributes)


def entry_of(link: Link, username: str) -> Entry:
    """Raises NotFound."""
    entry = for_change(link, username)
    if entry is None:
        raise NotFound(f"There is nobody called {username[:64]} in the directory.")
    return entry
