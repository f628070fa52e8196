"""Sharing of a TensorBoard with users and groups, checked at every request."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import delete, select, update

from portal.db import utcnow
from portal.models import (
    AuditEvent,
    GroupMembership,
    JobState,
    Session,
    Share,
    Tensorboard,
    TensorboardState,
    User,
    WebSession,
)
from portal.services.hashes import hash_token
from portal.services.identity import memberships
from portal.services.tensorboards import access
from portal.services.tensorboards.runs import MOVES
from tests.polling import until
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.servers.nginx import GUARD_KEY, ReceivedRequest, Upstream, reply
from tests.servers.slapd import free_port

pytestmark = pytest.mark.anyio
PAGE = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
LONG_AGO = timedelta(hours=3)


def _board(_seen: ReceivedRequest, _connection: socket.socket) -> bytes:
    return reply(200, "Content-Type: text/html\r\n", b"TB")


@pytest.fixture
def node() -> Iterator[Upstream]:
    upstream = Upstream(_board)
    yield upstream
    upstream.stop()


@dataclass(frozen=True)
class SharePortal:
    """A portal with users, and a session of alice's whose TensorBoard responds."""

    portal: Portal
    alice: Browser
    bob: Browser
    carol: Browser
    session: str
    board: str

    async def at(self, who: Browser) -> str:
        """Return the address at which this browser views it, or would if it were permitted."""
        path = f"/api/v1/tensorboards/{self.board}/open"
        answer = await who.send("POST", path)
        if answer.status == 200:
            return str(urlsplit(answer.body["url"]).path)
        return f"/tensorboard/{self.board}/{'0' * 32}/"

    async def share(self, with_: str, method: str = "PUT") -> Any:
        return await self.alice.send(method, f"/api/v1/sessions/{self.session}/shares/{with_}")

    async def status(self, who: Browser) -> int:
        return (await who.get(await self.at(who))).status

    async def listed(self, who: Browser) -> list[Any]:
        answer = await who.get("/api/v1/tensorboards?shared=true")
        assert answer.status == 200
        return list(answer.body["items"])

    async def run(self, *statements: Any) -> None:
        async with self.portal.context.db.session() as db:
            for statement in statements:
                await db.execute(statement)
            await db.commit()

    async def one(self, query: Any) -> Any:
        async with self.portal.context.db.session() as db:
            return await db.scalar(query)

    async def closed(self, name: str) -> None:
        """Wait until a disabled user's open TensorBoards have been stopped."""
        wanted = select(Tensorboard.id).join(User).where(User.username == name, Tensorboard.wanted)
        await until(
            lambda: self.one(wanted),
            "the TensorBoard is unwanted",
            done=lambda answer: answer is None,
        )

    async def put_in_group(self, name: str, group: str, known: datetime) -> None:
        """Add a membership as if the directory had reported it at that time."""
        async with self.portal.context.db.session() as db:
            user = await db.scalar(select(User).where(User.username == name))
            assert user is not None
            db.add(GroupMembership(user_id=user.id, name=group))
            user.groups_at = known
            await db.commit()


async def add_board(portal: Portal, node: Upstream, name: str = "s1") -> tuple[str, str]:
    """Return the ids of a session of alice's and of its TensorBoard."""
    async with portal.context.db.session() as db:
        owner = await db.scalar(select(User).where(User.username == "alice"))
        assert owner is not None
        session = Session(user_id=owner.id, name=name, state=JobState.RUNNING, logdir="/x")
        db.add(session)
        await db.flush()
        board = Tensorboard(
            parent_id=session.id,
            user_id=owner.id,
            logdir="/x",
            state=TensorboardState.RUNNING,
            host="127.0.0.1",
            port=node.port,
            guard_key=GUARD_KEY,
            last_request_at=utcnow(),
        )
        db.add(board)
        await db.commit()
        return session.id, board.id


@pytest.fixture
async def shares(portal: Portal, node: Upstream) -> AsyncIterator[SharePortal]:
    async with AsyncExitStack() as stack:
        found = {}
        for name in ("alice", "bob", "carol"):
            found[name] = await stack.enter_async_context(portal.browser())
            assert (await found[name].login(name)).status == 200
        session, board = await add_board(portal, node)
        yield SharePortal(portal, **found, session=session, board=board)


class TestGroups:
    async def test_groups_follow_the_directory_at_login(self, shares: SharePortal) -> None:
        answer = await shares.alice.get("/api/v1/me/groups")
        assert answer.body["items"] == ["scientists"]
        assert datetime.fromisoformat(answer.body["as_of"]) <= utcnow()
        carol = (await shares.carol.get("/api/v1/me/groups")).body["items"]
        assert carol == ["portal-admins", "scientists"]
        assert (await shares.bob.get("/api/v1/me/groups")).body["items"] == []

    async def test_a_login_forgets_those_that_one_has_left(self, shares: SharePortal) -> None:
        await shares.put_in_group("alice", "left-long-ago", utcnow())
        assert (await shares.alice.login("alice")).status == 200
        assert (await shares.alice.get("/api/v1/me/groups")).body["items"] == ["scientists"]

    async def test_they_are_looked_up_again_after_a_while(self, shares: SharePortal) -> None:
        await shares.put_in_group("alice", "left-since", utcnow() - LONG_AGO)
        assert (await shares.alice.get("/api/v1/me/groups")).body["items"] == ["scientists"]
        await shares.put_in_group("alice", "left-just-now", utcnow())
        both = (await shares.alice.get("/api/v1/me/groups")).body["items"]
        assert both == ["left-just-now", "scientists"]

    def test_so_many_and_so_long(self) -> None:
        assert memberships.select_storable({"a", "", "x" * 201, "a\nb", "ä b/c"}) == {"a", "ä b/c"}
        assert len(memberships.select_storable(f"group-{number}" for number in range(2000))) == 1000


class TestAUser:
    async def test_from_being_given_to_being_taken_back(self, shares: SharePortal) -> None:
        assert (await shares.status(shares.bob), await shares.listed(shares.bob)) == (404, [])
        answer = await shares.share("bob")
        assert answer.body == {"shared_with": ["bob"], "shared_groups": []}
        assert (await shares.share("bob")).body == answer.body
        assert await shares.status(shares.bob) == 200
        (seen,) = await shares.listed(shares.bob)
        assert (seen["id"], seen["owner"], seen["name"]) == (shares.board, "alice", "s1")
        assert (seen["kind"], seen["state"], seen["url"]) == (
            "session",
            "running",
            f"/tensorboards/{shares.board}",
        )
        assert (seen["shared_with_you"], seen["shared_groups"]) == (True, [])
        taken = await shares.share("bob", "DELETE")
        assert taken.body == {"shared_with": [], "shared_groups": []}
        assert (await shares.status(shares.bob), await shares.listed(shares.bob)) == (404, [])

    async def test_they_see_nothing_else(self, shares: SharePortal) -> None:
        await shares.share("bob")
        for path in ("", "/tensorboard", "/shares", "/log"):
            answer = await shares.bob.get(f"/api/v1/sessions/{shares.session}{path}")
            assert answer.status == 404, path
        for method in ("PUT", "DELETE"):
            path = f"/api/v1/sessions/{shares.session}/shares/heidi"
            assert (await shares.bob.send(method, path)).status == 404

    async def test_an_admin_is_let_in_no_more_than_others(self, shares: SharePortal) -> None:
        await shares.share("bob")
        assert (await shares.status(shares.carol), await shares.listed(shares.carol)) == (404, [])

    async def test_names_that_cannot_be_shared_with(self, shares: SharePortal) -> None:
        for name, message in (
            ("alice", "You already own this."),
            ("unknown-user", "There is no user with this username. Check the spelling."),
            ("Ä b", "This is not a valid username."),
            ("x" * 33, "This is not a valid username."),
        ):
            answer = await shares.share(name)
            assert answer.status == 422, name
            assert answer.body["errors"] == [{"field": "username", "message": message}]

    async def test_one_who_has_never_logged_in(self, shares: SharePortal) -> None:
        assert (await shares.share("judy")).body["shared_with"] == ["judy"]
        async with shares.portal.browser() as judy:
            await judy.login("judy")
            assert await shares.status(judy) == 200

    async def test_a_record_is_kept(self, shares: SharePortal) -> None:
        await shares.share("bob")
        await shares.share("groups/scientists")
        for _ in range(2):  # the second finds nothing to revoke
            await shares.share("bob", "DELETE")
        query = (
            select(AuditEvent).where(AuditEvent.action.startswith("share.")).order_by(AuditEvent.id)
        )
        async with shares.portal.context.db.session() as db:
            found = (await db.scalars(query)).all()
        assert [(event.action, event.actor, event.target, event.detail) for event in found] == [
            ("share.add", "alice", "alice/s1", {"with": "bob"}),
            ("share.add", "alice", "alice/s1", {"with_group": "scientists"}),
            ("share.remove", "alice", "alice/s1", {"with": "bob"}),
        ]

    async def test_so_many_and_no_more(self, shares: SharePortal) -> None:
        async with shares.portal.context.db.session() as db:
            db.add_all(Share(parent_id=shares.session, username=f"u{n}") for n in range(50))
            await db.commit()
        assert (await shares.share("bob")).status == 409


class TestAGroup:
    async def test_who_is_in_it_sees_it_until_it_is_taken_back(self, shares: SharePortal) -> None:
        answer = await shares.share("groups/scientists")
        assert answer.body == {"shared_with": [], "shared_groups": ["scientists"]}
        shown = await shares.alice.get(f"/api/v1/sessions/{shares.session}/shares")
        assert shown.body == answer.body
        assert (await shares.status(shares.carol), await shares.status(shares.bob)) == (200, 404)
        (seen,) = await shares.listed(shares.carol)
        assert (seen["shared_with_you"], seen["shared_groups"]) == (False, ["scientists"])
        assert await shares.listed(shares.bob) == await shares.listed(shares.alice) == []
        await shares.share("groups/scientists", "DELETE")
        assert (await shares.status(shares.carol), await shares.listed(shares.carol)) == (404, [])

    async def test_only_one_of_ones_own(self, shares: SharePortal) -> None:
        for name in ("portal-admins", "none-such", "Scientists", "a%2Fb", "x" * 201):
            answer = await shares.share(f"groups/{name}")
            assert answer.status == 422, name
            (error,) = answer.body["errors"]
            assert (error["field"], "not a member of this group" in error["message"]) == (
                "group",
                True,
            )

    async def test_a_name_with_a_slash(self, shares: SharePortal) -> None:
        await shares.put_in_group("alice", "lab/one two", utcnow())
        answer = await shares.share("groups/lab%2Fone%20two")
        assert answer.body["shared_groups"] == ["lab/one two"]
        answer = await shares.share("groups/lab%2Fone%20two", "DELETE")
        assert answer.body["shared_groups"] == []

    async def test_who_has_left_is_out_although_still_logged_in(self, shares: SharePortal) -> None:
        """For some minutes the directory is not queried again; after them it is, at once."""
        await shares.share("groups/scientists")
        await shares.put_in_group("bob", "scientists", utcnow())
        assert await shares.status(shares.bob) == 200
        await shares.run(update(User).values(groups_at=utcnow() - LONG_AGO))
        assert await shares.status(shares.bob) == 404
        gone = select(GroupMembership).join(User).where(User.username == "bob")
        assert await shares.one(gone) is None
        assert await shares.status(shares.carol) == 200

    async def test_who_has_joined_is_in_without_a_new_login(self, shares: SharePortal) -> None:
        await shares.share("groups/scientists")
        carol = select(User.id).where(User.username == "carol").scalar_subquery()
        await shares.run(
            delete(GroupMembership).where(GroupMembership.user_id == carol),
            update(User).values(groups_at=utcnow() - LONG_AGO),
        )
        (seen,) = await shares.listed(shares.carol)
        assert seen["shared_groups"] == ["scientists"]

    async def test_by_name_and_by_group_at_once(self, shares: SharePortal) -> None:
        await shares.share("groups/scientists")
        await shares.share("carol")
        (seen,) = await shares.listed(shares.carol)
        assert (seen["shared_with_you"], seen["shared_groups"]) == (True, ["scientists"])
        await shares.share("carol", "DELETE")
        assert await shares.status(shares.carol) == 200

    async def test_last_known_groups_count_while_directory_is_away(
        self, run_portal: RunPortal, node: Upstream
    ) -> None:
        away = [f"ldap://127.0.0.1:{free_port()}"]
        async with run_portal(ldap_urls=away) as portal, portal.browser() as bob:
            async with portal.context.db.session() as db:
                db.add_all([User(username="alice"), User(username="bob", directory_role="user")])
                await db.commit()
            session, board = await add_board(portal, node)
            async with portal.context.db.session() as db:
                user = await db.scalar(select(User).where(User.username == "bob"))
                assert user is not None
                user.groups_at = utcnow() - LONG_AGO
                end = utcnow() + timedelta(hours=1)
                db.add_all(
                    [
                        WebSession(user_id=user.id, token_hash=hash_token("bobs"), expires_at=end),
                        GroupMembership(user_id=user.id, name="scientists"),
                        Share(parent_id=session, group_name="scientists"),
                    ]
                )
                await db.commit()
            cookie = {"Cookie": f"{portal.settings.cookie_name}=bobs"}
            opened = await bob.send("POST", f"/api/v1/tensorboards/{board}/open", headers=cookie)
            path = urlsplit(opened.body["url"]).path
            assert (await bob.get(path, headers=cookie)).status == 200


class TestOpening:
    async def test_one_that_moves_opens_at_the_same_address(self, shares: SharePortal) -> None:
        running = await shares.at(shares.alice)
        moving = {"state": TensorboardState.STARTING, "host": None, "port": None, "reason": MOVES}
        await shares.run(update(Tensorboard).values(**moving))
        opened = await shares.alice.send("POST", f"/api/v1/tensorboards/{shares.board}/open")
        assert (opened.status, urlsplit(opened.body["url"]).path) == (200, running)
        page = await shares.alice.get(running, headers={"Sec-Fetch-Mode": "navigate"})
        assert page.status == 424
        assert 'http-equiv="refresh"' in page.body
        assert MOVES in page.body

    @pytest.mark.parametrize("state", [TensorboardState.STOPPED, TensorboardState.FAILED])
    async def test_one_that_does_not_run_is_refused_with_its_reason(
        self, shares: SharePortal, state: TensorboardState
    ) -> None:
        ended = {"state": state, "wanted": False, "host": None, "port": None, "reason": "Why."}
        await shares.run(update(Tensorboard).values(**ended))
        refused = await shares.alice.send("POST", f"/api/v1/tensorboards/{shares.board}/open")
        assert (refused.status, refused.body["detail"]) == (
            424,
            "This TensorBoard isn't running. Why.",
        )


class TestWhatIsShared:
    async def test_stopped_board_names_its_owner(self, shares: SharePortal) -> None:
        await shares.share("bob")
        theirs_at, own_at = await shares.at(shares.bob), await shares.at(shares.alice)
        stopped = {"state": TensorboardState.STOPPED, "wanted": False, "host": None, "port": None}
        await shares.run(update(Tensorboard).values(**stopped))
        (seen,) = await shares.listed(shares.bob)
        assert (seen["state"], seen["url"]) == ("stopped", None)
        theirs = await shares.bob.get(theirs_at, headers=PAGE)
        assert (theirs.status, "Ask alice to start it." in theirs.body) == (424, True)
        own = await shares.alice.get(own_at, headers=PAGE)
        assert "You can start it again in the portal." in own.body

    async def test_removed_board_is_no_longer_shared(self, shares: SharePortal) -> None:
        await shares.share("bob")
        await shares.run(update(Session.metadata.tables["jobs"]).values(removed_at=utcnow()))
        assert (await shares.status(shares.bob), await shares.listed(shares.bob)) == (404, [])

    async def test_it_ends_with_its_owners_account(self, shares: SharePortal) -> None:
        await shares.share("bob")
        theirs_at = await shares.at(shares.bob)
        alice = User.username == "alice"
        await shares.run(update(User).where(alice).values(disabled_at=utcnow()))
        assert (await shares.status(shares.bob), await shares.listed(shares.bob)) == (404, [])
        await shares.closed("alice")
        await shares.run(update(User).where(alice).values(disabled_at=None, deprovisioned_at=None))
        theirs = await shares.bob.get(theirs_at, headers=PAGE)
        assert (theirs.status, "Ask alice to start it." in theirs.body) == (424, True)

    async def test_sharing_makes_it_known_before_it_ever_ran(self, shares: SharePortal) -> None:
        await shares.run(delete(Tensorboard))
        await shares.share("bob")
        (seen,) = await shares.listed(shares.bob)
        assert (seen["name"], seen["state"]) == ("s1", "stopped")

    async def test_pages(self, shares: SharePortal, node: Upstream) -> None:
        for name in ("s2", "s3"):
            await add_board(shares.portal, node, name)
        own = (await shares.alice.get("/api/v1/tensorboards")).body
        assert ([seen["name"] for seen in own["items"]], own["next_cursor"]) == (
            ["s3", "s2", "s1"],
            None,
        )
        alice = await shares.one(select(User).where(User.username == "alice"))
        database = shares.portal.context.db
        first = await access.page(database, alice, shared=False, limit=1)
        assert [seen.name for seen in first] == ["s3", "s2"]
        cursor = access.cursor_of(first[0])
        rest = await access.page(database, alice, shared=False, cursor=cursor)
        assert [seen.name for seen in rest] == ["s2", "s1"]
        bad = await shares.alice.get("/api/v1/tensorboards?cursor=x")
        assert (bad.status, bad.body["errors"][0]["field"]) == (422, "cursor")
