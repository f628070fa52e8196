"""Changes to users by administrators: create, edit, lock, unlock, reset the password.

The directory is the source of truth and is changed first; then the portal's row and the audit event
in one transaction. If the process dies in between, the portal does not know the user yet: the row
is created at the first login, or by the next change (docs/decisions/0008). Every change may be
repeated.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

from sqlalchemy import delete, select

from portal.background.notifier import LIMITS
from portal.context import AppContext
from portal.directory.contract import (
    CreatedUser,
    DirectoryUser,
    Edit,
    NewDirectoryUser,
    OneTimePassword,
)
from portal.errors import (
    DirectoryChanged,
    DirectoryUnfinished,
    EditConflict,
    FieldError,
    invalid_input,
)
from portal.models import AuditEvent, HalfLogin, HomeTask, WebSession
from portal.services.audit.audit import (
    Action,
    Actor,
    list_changes,
    list_recorded_actions,
    record,
    to_current_action,
)
from portal.services.auth import attempts
from portal.services.identity import home_directories, memberships
from portal.services.users import lookup, role_changes

T = TypeVar("T")

OUTSIDE = "another program"
_SHELL_CHANGES = Action.USER_DISABLE, Action.USER_ENABLE


async def create(context: AppContext, new: NewDirectoryUser, by: Actor) -> CreatedUser:
    """Create a user in the directory and the portal, and request their home directory.

    Raises what `Directory.create` raises, and InvalidInput for a name whose user is being
    deleted or had another UID.
    """
    await _refuse_reused(context, new)
    act = context.directory.create
    created = await _change_directory(
        context, by, Action.USER_CREATE, new.username, lambda: act(new)
    )
    async with context.db.session() as db:
        user = await lookup.ensure(db, context.settings, created.entry)
        user.missing_since = None
        detail = {"uid": created.entry.uid, "groups": sorted(created.entry.groups)}
        record(db, Action.USER_CREATE, actor=by.actor, target=new.username, detail=detail, ip=by.ip)
        await home_directories.request_once(db, context.settings, user, created.entry, by=by.name)
        await db.commit()
    # groups decide limits: wake the loop that writes them to Slurm
    context.notifier.notify(LIMITS)
    return created


async def _refuse_reused(context: AppContext, new: NewDirectoryUser) -> None:
    """Raise InvalidInput for a name that the portal has records of under another user.

    A new user with that name would inherit these records. A deleted user's name is free once the
    deletion is complete.
    """
    async with context.db.session() as db:
        before = await lookup.load_user(db, new.username)
    if before is None or await context.directory.find(new.username) is not None:
        return  # an existing user: the directory's own error is clearer
    if before.deleted_at is not None:
        message = f"{new.username} is being deleted. Wait until this is done."
    elif before.uid is not None and before.uid != new.uid:
        message = (
            f"The directory had a user {new.username} with the UID {before.uid}. If this "
            "is the same user, enter that UID. Otherwise, delete the old user here first."
        )
    else:
        return
    raise invalid_input([FieldError("username", message)])


async def edit(
    context: AppContext, username: str, changes: Edit, version: str, by: Actor
) -> DirectoryUser:
    """Change a user's attributes. Return the entry afterwards.

    Raises EditConflict, with the author and time, if the entry has changed since `version` was
    read.
    """
    before = await lookup.fetch_entry(context, username)
    try:
        after = await _change_directory(
            context,
            by,
            Action.USER_EDIT,
            username,
            lambda: context.directory.edit(username, changes, version),
        )
    except DirectoryChanged as error:
        raise await _build_conflict(context, username) from error
    fields = [name for name, value in asdict(changes).items() if value is not None]
    old, new = ({name: getattr(entry, name) for name in fields} for entry in (before, after))
    async with context.db.session() as db:
        user = await lookup.load_user(db, username)
        if user is not None and memberships.is_same(user, after):
            user.display_name, user.email = after.display_name, after.email
        detail = {"version": after.version, **list_changes(old, new)}
        record(db, Action.USER_EDIT, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    return after


async def _build_conflict(context: AppContext, username: str) -> EditConflict:
    """Return the error that names who left the entry's current version, if that is known.

    Disabling and enabling also change the entry: they set the login shell.
    """
    now = await context.directory.find(username)
    acts = [
        recorded
        for action in (Action.USER_EDIT, *_SHELL_CHANGES)
        for recorded in list_recorded_actions(action.value)
    ]
    query = select(AuditEvent).where(AuditEvent.target == username, AuditEvent.action.in_(acts))
    async with context.db.session() as db:
        last = await db.scalar(query.order_by(AuditEvent.id.desc()).limit(1))
    ours = last is not None and (
        to_current_action(last.action) != Action.USER_EDIT.value
        or (now is not None and last.detail.get("version") == now.version)
    )
    who, at = (last.actor, last.at) if last is not None and ours else (OUTSIDE, None)
    words = f"{who}, on {at:%d %B %Y at %H:%M} UTC" if at is not None else who
    return EditConflict(
        f"{username} was changed after you opened this, by {words}. Review the current "
        "values, then make your change again.",
        extension={"changed_by": who, "changed_at": at.isoformat() if at is not None else None},
    )


async def lock(context: AppContext, username: str, by: Actor) -> None:
    """Refuse the user's password until `unlock`. Raises Conflict for oneself, and LastAdmin."""
    role_changes.refuse_oneself(by, username, "lock your own account")
    await lookup.fetch_entry(context, username)
    act = context.directory.lock
    async with role_changes.guard_last_admin(context, username):
        await _change_directory(context, by, Action.USER_LOCK, username, lambda: act(username))
    await _record(context, by, Action.USER_LOCK, username)


async def unlock(context: AppContext, username: str, by: Actor) -> None:
    """End a lock, whether by an administrator or after too many wrong passwords.

    Applies to the portal and the directory.
    """
    await lookup.fetch_entry(context, username)
    act = context.directory.unlock
    await _change_directory(context, by, Action.USER_UNLOCK, username, lambda: act(username))
    await _record(context, by, Action.USER_UNLOCK, username, forgive=True)


async def reset_password(context: AppContext, username: str, by: Actor) -> OneTimePassword:
    """Set a one-time password and return it; all web sessions of the user end."""
    await lookup.fetch_entry(context, username)
    act = context.directory.set_password
    password = await _change_directory(
        context, by, Action.USER_PASSWORD, username, lambda: act(username)
    )
    async with context.db.session() as db:
        user = await lookup.load_user(db, username)
        if user is not None:
            for table in (WebSession, HalfLogin):  # also logins that still need a step
                await db.execute(delete(table).where(table.user_id == user.id))
        await attempts.delete_failures(db, username)
        detail = {"must_change": password.must_change}
        record(db, Action.USER_PASSWORD, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    return password


async def request_home(context: AppContext, username: str, by: Actor) -> None:
    """Request the creation of the home directory, even if it was requested before.

    Raises Conflict if the portal has no command for it.
    """
    home_directories.require_command(context.settings, HomeTask.CREATE)
    entry = await lookup.fetch_entry(context, username)
    async with context.db.session() as db:
        user = await lookup.ensure(db, context.settings, entry)
        await home_directories.request_for(db, user, entry, HomeTask.CREATE, by=by.name)
        detail = {"task": HomeTask.CREATE.value, "home": entry.home}
        record(db, Action.HOME_REQUEST, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()


# --- internals ------------------------------------------------------------------------------------


async def _change_directory(
    context: AppContext, by: Actor, action: Action, username: str, act: Callable[[], Awaitable[T]]
) -> T:
    """Change the directory. Record a change that stopped halfway: part of it may be applied."""
    try:
        return await act()
    except DirectoryUnfinished as error:
        await _record(context, by, action, username, {"unfinished": error.detail})
        raise


async def _record(
    context: AppContext,
    by: Actor,
    action: Action,
    target: str,
    detail: dict[str, Any] | None = None,
    *,
    forgive: bool = False,
) -> None:
    """Record an event. `forgive` also deletes the account's failed logins."""
    async with context.db.session() as db:
        if forgive:
            await attempts.delete_failures(db, target)
        record(db, action, actor=by.actor, target=target, detail=detail, ip=by.ip)
        await db.commit()
