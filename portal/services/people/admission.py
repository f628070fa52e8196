"""Whether the portal's people still are in a group that lets them in: part of the few minutes' look
of services/people/presence.py, so that it counts of those who stay logged in too.

The members of the few groups that matter are asked for, and only whose standing differs from what
the portal remembers is looked up by name, as a login would: what that says is written down.
"""

import random
from collections.abc import Collection

import structlog

from portal.errors import NotFound
from portal.models import User
from portal.services.login.accounts import Accounts
from portal.services.people import people, roles
from portal.settings import Settings

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 200
"""People looked up by name in one look; the others' turn comes at the next."""


async def look(accounts: Accounts, users: Collection[User]) -> None:
    """Bring up to date who of these may enter. Raises DirectoryUnavailable; who was looked up
    until then has been written down."""
    inside = await _inside(accounts)
    differing = [user for user in users if _differs(user, inside)]
    random.shuffle(differing)  # who always differs, by a primary group say, holds nobody up
    for user in differing[:MOST_AT_ONCE]:
        person = await accounts.directory.find(user.username)
        if person is None or not people.is_same(user, person):
            continue  # they are gone, which services/people/presence.py says
        async with accounts.database.session() as db:
            row = await db.get_one(User, user.id)
            before = roles.is_admitted(row)
            await people.learn(db, accounts.settings, row, person.groups)
            after = roles.is_admitted(row)
            await db.commit()
        if before is not after:
            log.info("groups let someone in or out", username=user.username, admitted=after)


def groups_that_let_in(settings: Settings) -> set[str]:
    """Names of the groups whose members may use the portal; empty where everybody may."""
    if not settings.ldap_user_groups:
        return set()
    admins, viewers = settings.ldap_admin_groups, settings.ldap_viewer_groups
    return {*settings.ldap_user_groups, *admins, *viewers}


def _differs(user: User, inside: frozenset[str] | None) -> bool:
    """Whether someone's remembered standing isn't what `inside` says, None: everybody."""
    if user.groups_at is None:
        return False
    return (inside is None or user.username.lower() in inside) is not roles.is_admitted(user)


async def _inside(accounts: Accounts) -> frozenset[str] | None:
    """Usernames of all who may use the portal; None where that is everybody."""
    names = groups_that_let_in(accounts.settings)
    if not names:
        return None
    found: set[str] = set()
    for name in sorted(names):
        try:
            found |= await accounts.directory.members(name)
        except NotFound:
            log.warning("a group that lets people in isn't in the directory", group=name)
    return frozenset(found)
