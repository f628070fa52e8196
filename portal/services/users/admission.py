"""Check that the portal's users are still in an admitted group.

It is part of the directory poll in services/deprovision/directory_sync.py, so that it also covers
users who stay logged in. The members of the admitting groups are fetched, and only users whose
status differs from the stored one are looked up by name, as in a login, and updated.
"""

import random
from collections.abc import Collection

import structlog

from portal.config.settings import Settings
from portal.context import AppContext
from portal.errors import NotFound
from portal.models import User
from portal.services.identity import memberships, roles

log = structlog.get_logger(__name__)

MAX_USERS_PER_POLL = 200
"""Maximum number of users looked up by name in one poll; the others follow in the next."""


async def refresh_admission(context: AppContext, users: Collection[User]) -> None:
    """Update which of these users are admitted.

    Raises DirectoryUnavailable; users looked up until then have been updated.
    """
    admitted_names = await _load_admitted(context)
    differing = [user for user in users if _differs(user, admitted_names)]
    random.shuffle(differing)  # users who always differ (primary groups) must not block others
    for user in differing[:MAX_USERS_PER_POLL]:
        entry = await context.directory.find(user.username)
        if entry is None or not memberships.is_same(user, entry):
            continue  # they are gone, which services/deprovision/directory_sync.py handles
        async with context.db.session() as db:
            row = await db.get_one(User, user.id)
            before = roles.is_admitted(row)
            await memberships.store_groups_and_role(db, context.settings, row, entry.groups)
            after = roles.is_admitted(row)
            await db.commit()
        if before is not after:
            log.info(
                "admission changed with a user's groups", username=user.username, admitted=after
            )


def list_admitting_groups(settings: Settings) -> set[str]:
    """Return the groups whose members may use the portal; empty if all users may."""
    if not settings.ldap_user_groups:
        return set()
    admins, viewers = settings.ldap_admin_groups, settings.ldap_viewer_groups
    return {*settings.ldap_user_groups, *admins, *viewers}


def _differs(user: User, admitted_names: frozenset[str] | None) -> bool:
    """Return whether the stored admission differs from `admitted_names` (None: all users)."""
    if user.groups_at is None:  # never looked up yet: the first login decides
        return False
    return (
        admitted_names is None or user.username.lower() in admitted_names
    ) is not roles.is_admitted(user)


async def _load_admitted(context: AppContext) -> frozenset[str] | None:
    """Return the user names of all members of admitting groups; None if all users may log in."""
    names = list_admitting_groups(context.settings)
    if not names:
        return None
    usernames: set[str] = set()
    for name in sorted(names):
        try:
            usernames |= await context.directory.members(name)
        except NotFound:
            log.warning(
                "a group whose members may use the portal isn't in the directory", group=name
            )
    return frozenset(usernames)
