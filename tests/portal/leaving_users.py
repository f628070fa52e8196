"""Users who leave: disabled, deleted, removed from the directory; and their jobs."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from portal.errors import DirectoryUnavailable
from portal.models import BatchJob, Job, JobState, User, Wanted, new_id
from portal.services.deprovision.directory_sync import DirectorySync
from tests.polling import until
from tests.portal.conftest import Answer, Browser, Portal
from tests.portal.users_portal import USERS

WAIT_S = 120


async def disable(admin: Browser, username: str, jobs: str = "cancel", why: str = "") -> Answer:
    return await admin.post(f"{USERS}/{username}/disable", {"jobs": jobs, "why": why})


async def enable(admin: Browser, username: str) -> Answer:
    return await admin.post(f"{USERS}/{username}/enable")


async def delete(admin: Browser, username: str, **body: str) -> Answer:
    asked = {"files": "keep", "jobs": "cancel", "confirm": username, **body}
    return await admin.send("DELETE", f"{USERS}/{username}", json=asked)


async def wait_for_user(admin: Browser, username: str, condition: Callable[[Any], Any]) -> Any:
    """Return the user once a condition holds."""
    answer = await until(
        lambda: admin.get(f"{USERS}/{username}"),
        f"the condition for {username}",
        done=lambda answer: answer.status == 200 and condition(answer.body),
    )
    return answer.body


async def closed(admin: Browser, username: str) -> Any:
    return await wait_for_user(admin, username, lambda user: user["deprovisioned_at"])


async def row(portal: Portal, username: str) -> User:
    async with portal.context.db.session() as db:
        found: User | None = await db.scalar(select(User).where(User.username == username))
    assert found is not None
    return found


async def made(admin: Browser, username: str) -> str:
    """Create a user for one test; return the one-time password."""
    body = {"username": username, "surname": "Test", "given_name": "A"}
    answer = await admin.post(USERS, body)
    assert answer.status == 201, answer
    return str(answer.body["password"]["password"])


async def job(portal: Portal, username: str, kind: type[Job] = BatchJob, **columns: Any) -> str:
    user = await row(portal, username)
    given: dict[str, Any] = {
        "id": new_id(), "user_id": user.id, "name": new_id()[:8], "state": JobState.RUNNING,
        "resources": {}, "job_id": 7, **columns,
    }  # fmt: skip
    if kind is BatchJob:
        given |= {"owner_id": user.id, "parameters": {}, "files": {}, "nodes": []}
    async with portal.context.db.session() as db:
        db.add(kind(**given))
        await db.commit()
    return str(given["id"])


async def wanted(portal: Portal, row_id: str) -> Wanted:
    async with portal.context.db.session() as db:
        return (await db.get_one(Job, row_id)).wanted


async def end(portal: Portal, *job_ids: str) -> None:
    async with portal.context.db.session() as db:
        for row_id in job_ids:
            found = await db.get_one(Job, row_id)
            found.state = JobState.ENDED
        await db.commit()


def directory_sync(portal: Portal) -> DirectorySync:
    return DirectorySync(portal.context)


def _silent(*_: Any, **__: Any) -> Any:
    raise DirectoryUnavailable("silent")
