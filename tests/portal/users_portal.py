"""A directory of 2,000 users that a portal may change, for the tests of users and groups."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from sqlalchemy import select

from portal.models import AuditEvent
from tests.portal.conftest import Answer, Browser, Portal
from tests.servers import directory as directory_server
from tests.servers.slapd import BASE, SUFFIX, USER_ENTRIES, Content

MANY = directory_server.MANY
USERS = "/api/v1/admin/users"
GROUPS = "/api/v1/admin/groups"


def dn(username: str, number: int) -> str:
    return f"cn={username} {number},ou=people,{SUFFIX}"


def content() -> Content:
    """The users of the other tests, an account that writes, p0000 to p1999, and nested groups.

    The group of bob and carol is within a group of alice.
    """
    whole = directory_server.content()
    members = {"inner": [dn("bob", 20002), dn("carol", 20003)]}
    members["outer"] = [dn("alice", 20001), f"cn=inner,ou=groups,{SUFFIX}"]
    nested = "".join(
        f"\ndn: cn={name},ou=groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: {name}\n"
        + "".join(f"member: {one}\n" for one in some)
        for name, some in members.items()
    )
    many = directory_server.many(f"ou=people,{SUFFIX}")
    return Content(whole.config, BASE + directory_server.writer() + USER_ENTRIES + many + nested)


class RunHere(Protocol):
    """`async with run_here(home_command=[…]) as portal`."""

    def __call__(self, **changes: Any) -> AbstractAsyncContextManager[Portal]: ...


@asynccontextmanager
async def logged_in(portal: Portal, username: str, **password: str) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        answer = await browser.login(username, **password)
        assert answer.status == 200, answer
        whole = answer.body["second_factor"] != "required"
        if whole and not answer.body["password_change_required"]:
            await browser.confirm(**password)
        yield browser


def fields(answer: Answer) -> dict[str, str]:
    """Return the validation errors by field."""
    assert answer.status == 422, answer
    return {error["field"]: error["message"] for error in answer.body["errors"]}


async def audited(portal: Portal, action: str, target: str) -> list[dict[str, Any]]:
    """Return the audit events' details and actors, oldest first."""
    query = select(AuditEvent).where(AuditEvent.action == action, AuditEvent.target == target)
    async with portal.context.db.session() as db:
        rows = (await db.scalars(query.order_by(AuditEvent.id))).all()
    return [{"actor": row.actor, **row.detail} for row in rows]
