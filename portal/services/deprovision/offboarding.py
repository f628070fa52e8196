"""Disabling, enabling and deleting users: one transaction each, effective with the next request.

The transaction ends the user's access to the portal and stores the desired state.
services/deprovision/deprovision.py applies it in Slurm, JupyterHub and the directory, and retries
until complete. Nothing here waits for them, so a user can be disabled while any of them is down.
"""

from dataclasses import dataclass

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.notifier import DEPROVISION, RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.directory.contract import DirectoryUser
from portal.errors import Conflict, DirectoryUnavailable, FieldError, NotFound, invalid_input
from portal.models import AccountState, HomeTask, JobsPolicy, User
from portal.services.audit.audit import Action, Actor, record
from portal.services.auth import web_sessions
from portal.services.identity import home_directories, memberships
from portal.services.users import lookup, role_changes

log = structlog.get_logger(__name__)

THE_DIRECTORY = "the directory"
"""The actor for users that the directory no longer has, or has disabled itself."""
MAX_WHY = 500


@dataclass(frozen=True)
class DeletionOptions:
    """How a deleted user's files and jobs are handled; `files` None keeps the home directory."""

    files: HomeTask | None
    jobs: JobsPolicy


async def disable(
    context: AppContext, username: str, jobs: JobsPolicy, why: str, by: Actor
) -> None:
    """Disable a user everywhere at once, also one that is gone from the directory.

    Calling it again changes the decision about the jobs. Raises NotFound; Conflict for oneself,
    deleted users and system accounts; LastAdmin.
    """
    role_changes.refuse_oneself(by, username, "disable yourself")
    await _ensure_managed(context, username)
    async with (
        role_changes.guard_last_admin(context, username) as verified_admins,
        context.db.session() as db,
    ):
        await role_changes.lock_admins(db)
        user = await role_changes.load_row(db, username)
        _refuse_during_deletion(user)
        await role_changes.require_other_admin(db, user, verified_admins)
        await disable_in_portal(db, user, jobs, why, by.name)
        user.directory_wants = AccountState.DISABLED
        detail = {"jobs": jobs.value, "why": why}
        record(db, Action.USER_DISABLE, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    _notify(context, user)


async def disable_in_portal(
    db: AsyncSession, user: User, jobs: JobsPolicy, why: str, by_name: str
) -> None:
    """Disable a user in the portal, in the caller's transaction, and end all their logins."""
    user.disabled_at = user.disabled_at or utcnow()
    user.disabled_by, user.disabled_why, user.disabled_jobs = by_name[:100], why[:MAX_WHY], jobs
    user.deprovisioned_at = None
    await web_sessions.end_all(db, user.id)


async def enable(context: AppContext, username: str, by: Actor) -> None:
    """Undo `disable`, also in the directory. Ended logins, tokens and jobs stay ended.

    Raises NotFound, Conflict for deleted users and those unknown to the directory.
    """
    await _ensure_managed(context, username)
    entry = await _find_entry(context, username)
    async with context.db.session() as db:
        await role_changes.lock_admins(db)
        user = await role_changes.load_row(db, username)
        _refuse_during_deletion(user)
        if context.directory.can_look_up_users:
            _require_same_user(user, entry)
        await restore_access(db, user)
        user.directory_wants = AccountState.ENABLED
        record(db, Action.USER_ENABLE, actor=by.actor, target=username, ip=by.ip)
        await db.commit()
    _notify(context, user)


async def restore_access(db: AsyncSession, user: User) -> None:
    """Enable a user in the portal, in the caller's transaction."""
    user.disabled_at = user.disabled_by = user.disabled_why = user.disabled_jobs = None
    user.deprovisioned_at = user.missing_since = None
    # A login that was in progress while they were disabled may have left something.
    await web_sessions.end_all(db, user.id)


async def delete(context: AppContext, username: str, leaving: DeletionOptions, by: Actor) -> None:
    """Disable a user; then have their files processed and their directory entry deleted.

    The deletion follows once their sessions and jobs have ended. The portal's records stay. With a
    read-only directory only the portal's account is deleted. Raises what `disable` raises,
    DirectoryUnavailable, and InvalidInput for a file task that the portal cannot do.
    """
    role_changes.refuse_oneself(by, username, "delete yourself")
    await _ensure_managed(context, username)
    entry = await context.directory.find(username) if context.directory.can_look_up_users else None
    async with (
        role_changes.guard_last_admin(context, username) as verified_admins,
        context.db.session() as db,
    ):
        await role_changes.lock_admins(db)
        user = await role_changes.load_row(db, username)
        _check_files(context, user, entry, leaving)
        await role_changes.require_other_admin(db, user, verified_admins)
        await disable_in_portal(db, user, leaving.jobs, "deleted", by.name)
        user.directory_wants, user.files_wanted = AccountState.DELETED, leaving.files
        files = leaving.files.value if leaving.files is not None else "keep"
        detail = {"jobs": leaving.jobs.value, "files": files}
        record(db, Action.USER_DELETE, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    _notify(context, user)


def _check_files(
    context: AppContext, user: User, entry: DirectoryUser | None, leaving: DeletionOptions
) -> None:
    if leaving.files is None:
        return
    home_directories.require_command(context.settings, leaving.files)
    message = None
    if leaving.jobs is JobsPolicy.LEAVE:
        message = "Jobs that keep running need their files. Keep the files, or cancel the jobs."
    elif entry is None or not memberships.is_same(user, entry):
        message = (
            "This user is no longer in the directory, so the portal can't locate their "
            "files. Choose to keep the files, then handle them yourself."
        )
    if message is not None:
        raise invalid_input([FieldError("files", message)])


async def confirm_number(context: AppContext, username: str, uid: int, by: Actor) -> None:
    """Confirm that the user with the directory's new uid is the one who had the name before.

    Raises NotFound, and InvalidInput unless `uid` is the one that the directory reports.
    """
    entry = await lookup.fetch_entry(context, username)
    if entry.uid != uid:
        message = f"The directory now has the UID {entry.uid}. Review it before you confirm."
        raise invalid_input([FieldError("uid", message)])
    async with context.db.session() as db:
        user = await role_changes.load_row(db, username)
        detail = {"uid": {"old": user.uid, "new": uid}}
        user.uid = uid
        record(db, Action.USER_NUMBER, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    _notify(context, user)


# --- internals ------------------------------------------------------------------------------------


async def _ensure_managed(context: AppContext, username: str) -> None:
    """Ensure that the user has a row, also if they never logged in.

    Raises Conflict for users that the portal does not manage.
    """
    await role_changes.ensure(context, username)
    entry = await _find_entry(context, username)
    if entry is not None:
        lookup.check_managed(context.settings, entry)


async def _find_entry(context: AppContext, username: str) -> DirectoryUser | None:
    """Return the directory entry; None if there is none or the directory does not answer."""
    if not context.directory.can_look_up_users:
        return None
    try:
        return await context.directory.find(username)
    except DirectoryUnavailable as error:
        log.warning("a user can't be looked up", username=username, cause=error.cause[:300])
        return None


def _require_same_user(user: User, entry: DirectoryUser | None) -> None:
    if entry is None:
        raise NotFound(
            f"{user.username} isn't in the directory, so they couldn't log in. Create the "
            "user there first, or try again when the directory answers."
        )
    if not memberships.is_same(user, entry):
        raise Conflict(
            f"The UID of {user.username} is {entry.uid} in the directory but {user.uid} "
            "in the portal. If this is the same user, confirm the new UID first."
        )


def _refuse_during_deletion(user: User) -> None:
    if user.directory_wants is AccountState.DELETED:
        raise Conflict(f"{user.username} is being deleted.")


def _notify(context: AppContext, user: User) -> None:
    """Wake the loops that apply the change, and the user's event streams, which then end."""
    context.notifier.notify(DEPROVISION, user.id, RECONCILE)
