"""People disabled, enabled and deleted: each is one transaction, which counts at the next request.

The transaction shuts someone out of the portal and says what should be; services/people/closing.py
makes it so, in Slurm, the hub and the directory, and goes on until it is. Nothing here waits for
any of them, so that someone can be shut out whatever doesn't answer.
"""

from dataclasses import dataclass

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import utcnow
from portal.directory.contract import Person
from portal.errors import Conflict, DirectoryUnavailable, FieldError, NotFound, invalid_input
from portal.models import AccountState, HomeTask, JobsPolicy, User
from portal.services.audit.audit import Action, By, record
from portal.services.changes import CLOSING, RECONCILE, Changes
from portal.services.login import web_sessions
from portal.services.login.accounts import Accounts
from portal.services.people import admins, homes, people, persons

log = structlog.get_logger(__name__)

THE_DIRECTORY = "the directory"
"""Who disables someone whom the directory doesn't know any more, or has switched off itself."""
MAX_WHY = 500


@dataclass(frozen=True)
class Leaving:
    """What somebody who is deleted leaves behind. `files` None keeps the home directory."""

    files: HomeTask | None
    jobs: JobsPolicy


async def disable(
    accounts: Accounts, changes: Changes, username: str, jobs: JobsPolicy, why: str, by: By
) -> None:
    """Shut someone out, at once and everywhere; also someone whom the directory doesn't know any
    more. Repeated it tells what is to become of the jobs anew.

    Raises NotFound; Conflict for oneself, the deleted and system accounts; LastAdmin.
    """
    admins.not_oneself(by, username, "disable yourself")
    await _named(accounts, username)
    async with (
        admins.keeping_one(accounts, username) as able,
        accounts.database.session() as db,
    ):
        await admins.hold(db)
        user = await admins.row_of(db, username)
        _refuse_leaving(user)
        await admins.check(db, user, able)
        await shut_out(db, user, jobs, why, by.name)
        user.directory_wants = AccountState.DISABLED
        detail = {"jobs": jobs.value, "why": why}
        record(db, Action.PERSON_DISABLE, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    _tell(changes, user)


async def shut_out(db: AsyncSession, user: User, jobs: JobsPolicy, why: str, by_name: str) -> None:
    """The portal's own part of disabling, in the caller's transaction: from its end on nothing of
    theirs opens anything."""
    user.disabled_at = user.disabled_at or utcnow()
    user.disabled_by, user.disabled_why, user.disabled_jobs = by_name[:100], why[:MAX_WHY], jobs
    user.closed_at = None
    await web_sessions.end_all(db, user.id)


async def enable(accounts: Accounts, changes: Changes, username: str, by: By) -> None:
    """Undo `disable`, in the directory too. What was ended stays so: logins, tokens, jobs.

    Raises NotFound, Conflict for the deleted and for whom the directory doesn't know.
    """
    await _named(accounts, username)
    person = await _person(accounts, username)
    async with accounts.database.session() as db:
        await admins.hold(db)
        user = await admins.row_of(db, username)
        _refuse_leaving(user)
        if accounts.directory.finds:
            _must_be(user, person)
        await let_in(db, user)
        user.directory_wants = AccountState.ENABLED
        record(db, Action.PERSON_ENABLE, actor=by.actor, target=username, ip=by.ip)
        await db.commit()
    _tell(changes, user)


async def let_in(db: AsyncSession, user: User) -> None:
    """The portal's own part of enabling, in the caller's transaction."""
    user.disabled_at = user.disabled_by = user.disabled_why = user.disabled_jobs = None
    user.closed_at = user.missing_since = None
    # A login that was under way while they were disabled may have left something.
    await web_sessions.end_all(db, user.id)


async def delete(
    accounts: Accounts, changes: Changes, username: str, leaving: Leaving, by: By
) -> None:
    """Disable someone, and have their files seen to and their entry deleted once all is closed.

    What the portal has recorded stays. Where the directory is only read, it is the portal's account
    alone. Raises what `disable` raises, DirectoryUnavailable, and InvalidInput for files that the
    portal can't see to.
    """
    admins.not_oneself(by, username, "delete yourself")
    await _named(accounts, username)
    person = await accounts.directory.find(username) if accounts.directory.finds else None
    async with (
        admins.keeping_one(accounts, username) as able,
        accounts.database.session() as db,
    ):
        await admins.hold(db)
        user = await admins.row_of(db, username)
        _check_files(accounts, user, person, leaving)
        await admins.check(db, user, able)
        await shut_out(db, user, leaving.jobs, "deleted", by.name)
        user.directory_wants, user.files_wanted = AccountState.DELETED, leaving.files
        files = leaving.files.value if leaving.files is not None else "keep"
        detail = {"jobs": leaving.jobs.value, "files": files}
        record(db, Action.PERSON_DELETE, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    _tell(changes, user)


def _check_files(accounts: Accounts, user: User, person: Person | None, leaving: Leaving) -> None:
    if leaving.files is None:
        return
    homes.must_be_on(accounts.settings, leaving.files)
    message = None
    if leaving.jobs is JobsPolicy.LEAVE:
        message = "Jobs that go on need their files: keep the files, or cancel the jobs."
    elif person is None or not people.is_same(user, person):
        message = (
            "The directory doesn't know this person any more, so the portal doesn't know where "
            "their files are. Choose to keep them, and see to them yourself."
        )
    if message is not None:
        raise invalid_input([FieldError("files", message)])


async def confirm_number(
    accounts: Accounts, changes: Changes, username: str, uid: int, by: By
) -> None:
    """Say that the person whom the directory now gives this number is who had the name before.

    Raises NotFound, and InvalidInput unless it is the number that the directory gives.
    """
    person = await persons.person_of(accounts, username)
    if person.uid != uid:
        message = f"The directory says {person.uid}. Look at what is there now."
        raise invalid_input([FieldError("uid", message)])
    async with accounts.database.session() as db:
        user = await admins.row_of(db, username)
        detail = {"uid": {"old": user.uid, "new": uid}}
        user.uid = uid
        record(db, Action.PERSON_NUMBER, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    _tell(changes, user)


# --- inside ---------------------------------------------------------------------------------------


async def _named(accounts: Accounts, username: str) -> None:
    """That there is a row to write to, also of someone who has never logged in; nothing is changed
    of whom the portal doesn't manage."""
    await admins.ensure(accounts, username)
    person = await _person(accounts, username)
    if person is not None:
        persons.check_managed(accounts.settings, person)


async def _person(accounts: Accounts, username: str) -> Person | None:
    """The directory's entry; None where there is none, and while nobody can say."""
    if not accounts.directory.finds:
        return None
    try:
        return await accounts.directory.find(username)
    except DirectoryUnavailable as error:
        log.warning("somebody is not known anew", username=username, cause=error.cause[:300])
        return None


def _must_be(user: User, person: Person | None) -> None:
    if person is None:
        raise NotFound(
            f"The directory doesn't know {user.username} at the moment, so they couldn't log in. "
            "Make them there first, or try again when it answers."
        )
    if not people.is_same(user, person):
        raise Conflict(
            f"The directory gives {user.username} the number {person.uid}; the portal knows "
            f"{user.uid}. If this is the same person, confirm the new number first."
        )


def _refuse_leaving(user: User) -> None:
    if user.directory_wants is AccountState.DELETED:
        raise Conflict(f"{user.username} is being deleted.")


def _tell(changes: Changes, user: User) -> None:
    """Wake who makes it so, and every stream of theirs, which then ends."""
    changes.notify(CLOSING, user.id, RECONCILE)
