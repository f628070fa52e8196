"""What administrators change about people: made, edited, locked, given one-time passwords.

The directory is changed first, for it is the truth; then the portal's row and the audit in one
transaction. What breaks off between leaves a person whom the portal doesn't know yet: their row is
made at the first login, or by the next change (docs/decisions/0008). Every change may be repeated.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

from sqlalchemy import delete, select

from portal.directory.contract import Created, Edit, NewPerson, OneTimePassword, Person
from portal.errors import (
    ChangedMeanwhile,
    DirectoryChanged,
    DirectoryUnfinished,
    FieldError,
    invalid_input,
)
from portal.models import AuditEvent, HalfLogin, HomeTask, WebSession
from portal.services.audit.audit import Action, By, changed, record
from portal.services.changes import LIMITS
from portal.services.login.accounts import Accounts
from portal.services.people import admins, homes, people, persons

T = TypeVar("T")

OUTSIDE = "somebody outside the portal"
_OTHER_SHELL = Action.PERSON_DISABLE, Action.PERSON_ENABLE


async def create(accounts: Accounts, new: NewPerson, by: By) -> Created:
    """A new person in the directory, known here at once, their home directory asked for.

    Raises what `Directory.create` raises, and InvalidInput for the name of someone deleted.
    """
    await _refuse_reused(accounts, new)
    act = accounts.directory.create
    made = await _told(accounts, by, Action.PERSON_CREATE, new.username, lambda: act(new))
    async with accounts.database.session() as db:
        user = await persons.ensure(db, accounts.settings, made.person)
        user.missing_since = None
        detail = {"uid": made.person.uid, "groups": sorted(made.person.groups)}
        record(
            db, Action.PERSON_CREATE, actor=by.actor, target=new.username, detail=detail, ip=by.ip
        )
        await homes.request_once(db, accounts.settings, user, made.person, by=by.name)
        await db.commit()
    accounts.changes.notify(LIMITS)
    return made


async def _refuse_reused(accounts: Accounts, new: NewPerson) -> None:
    """Whoever gets the name of somebody the portal remembers gets what is recorded of them too: so
    only they. Of the deleted the name is free once all is over."""
    async with accounts.database.session() as db:
        before = await persons.user_of(db, new.username)
    if before is None or await accounts.directory.find(new.username) is not None:
        return  # of those who exist the directory has a sentence
    if before.deleted_at is not None:
        message = f"{new.username} is being deleted at the moment. Wait for the end of it."
    elif before.uid is not None and before.uid != new.uid:
        message = (
            f"There was a {new.username} in the directory, with the number {before.uid}. If this is"
            " the same person, give that number; otherwise delete the old one here first."
        )
    else:
        return
    raise invalid_input([FieldError("username", message)])


async def edit(accounts: Accounts, username: str, wanted: Edit, version: str, by: By) -> Person:
    """The person afterwards. Raises ChangedMeanwhile, which says by whom and when, if the entry
    isn't any more what it was when `version` was read."""
    before = await persons.person_of(accounts, username)
    try:
        after = await _told(
            accounts,
            by,
            Action.PERSON_EDIT,
            username,
            lambda: accounts.directory.edit(username, wanted, version),
        )
    except DirectoryChanged as error:
        raise await _changed_by(accounts, username) from error
    fields = [name for name, value in asdict(wanted).items() if value is not None]
    old, new = ({name: getattr(person, name) for name in fields} for person in (before, after))
    async with accounts.database.session() as db:
        user = await persons.user_of(db, username)
        if user is not None and people.is_same(user, after):
            user.display_name, user.email = after.display_name, after.email
        detail = {"version": after.version, **changed(old, new)}
        record(db, Action.PERSON_EDIT, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    return after


async def _changed_by(accounts: Accounts, username: str) -> ChangedMeanwhile:
    """Who changed somebody last: whoever left the version that is there now, if that is known.
    Who disables or enables leaves another login shell."""
    now = await accounts.directory.find(username)
    acts = [action.value for action in (Action.PERSON_EDIT, *_OTHER_SHELL)]
    query = select(AuditEvent).where(AuditEvent.target == username, AuditEvent.action.in_(acts))
    async with accounts.database.session() as db:
        last = await db.scalar(query.order_by(AuditEvent.id.desc()).limit(1))
    ours = last is not None and (
        last.action != Action.PERSON_EDIT.value
        or (now is not None and last.detail.get("version") == now.version)
    )
    who, at = (last.actor, last.at) if last is not None and ours else (OUTSIDE, None)
    words = f"{who}, on {at:%d %B %Y at %H:%M} UTC" if at is not None else who
    return ChangedMeanwhile(
        f"{username} was changed after you opened this, by {words}. Look at what is there now, and "
        "make your change again.",
        extension={"changed_by": who, "changed_at": at.isoformat() if at is not None else None},
    )


async def lock(accounts: Accounts, username: str, by: By) -> None:
    """Refuse the password until `unlock`. Raises Conflict for oneself, and LastAdmin."""
    admins.not_oneself(by, username, "lock your own account")
    await persons.person_of(accounts, username)
    act = accounts.directory.lock
    async with admins.keeping_one(accounts, username):
        await _told(accounts, by, Action.PERSON_LOCK, username, lambda: act(username))
    await _record(accounts, by, Action.PERSON_LOCK, username)


async def unlock(accounts: Accounts, username: str, by: By) -> None:
    """End a lock, an administrator's or that after too many wrong passwords."""
    await persons.person_of(accounts, username)
    act = accounts.directory.unlock
    await _told(accounts, by, Action.PERSON_UNLOCK, username, lambda: act(username))
    await _record(accounts, by, Action.PERSON_UNLOCK, username)


async def reset_password(accounts: Accounts, username: str, by: By) -> OneTimePassword:
    """A one-time password, to hand over; every browser of theirs is logged out."""
    await persons.person_of(accounts, username)
    act = accounts.directory.set_password
    made = await _told(accounts, by, Action.PERSON_PASSWORD, username, lambda: act(username))
    async with accounts.database.session() as db:
        user = await persons.user_of(db, username)
        if user is not None:
            for table in (WebSession, HalfLogin):
                await db.execute(delete(table).where(table.user_id == user.id))
        detail = {"must_change": made.must_change}
        record(db, Action.PERSON_PASSWORD, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    return made


async def provision(accounts: Accounts, username: str, by: By) -> None:
    """Have the home directory made, again if it was before. Raises Conflict where the portal makes
    none."""
    homes.must_be_on(accounts.settings, HomeTask.CREATE)
    person = await persons.person_of(accounts, username)
    async with accounts.database.session() as db:
        user = await persons.ensure(db, accounts.settings, person)
        await homes.request_for(db, user, person, HomeTask.CREATE, by=by.name)
        detail = {"task": HomeTask.CREATE.value, "home": person.home}
        record(db, Action.HOME_REQUEST, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()


# --- inside ---------------------------------------------------------------------------------------


async def _told(
    accounts: Accounts, by: By, action: Action, username: str, act: Callable[[], Awaitable[T]]
) -> T:
    """A change of the directory; one that broke off in the middle is written down as well, for
    something of it may be so."""
    try:
        return await act()
    except DirectoryUnfinished as error:
        await _record(accounts, by, action, username, {"unfinished": error.detail})
        raise


async def _record(
    accounts: Accounts, by: By, action: Action, target: str, detail: dict[str, Any] | None = None
) -> None:
    async with accounts.database.session() as db:
        record(db, action, actor=by.actor, target=target, detail=detail, ip=by.ip)
        await db.commit()
