"""Users who are missing from the directory, or whose name belongs to another user now."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import select, update

from portal.directory.contract import NewDirectoryUser
from portal.models import User
from tests.fakes.hub import PlayedHub, played_hub
from tests.polling import until
from tests.portal.conftest import Browser, Portal
from tests.portal.leaving_users import (
    closed,
    delete,
    directory_sync,
    disable,
    enable,
    made,
    row,
)
from tests.portal.users_portal import USERS, RunHere, audited, fields, logged_in
from tests.servers.slapd import PASSWORD

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("slurm")]


@pytest.fixture
async def hub() -> AsyncIterator[PlayedHub]:
    async with played_hub() as hub:
        yield hub


@pytest.fixture
async def here(run_here: RunHere, hub: PlayedHub) -> AsyncIterator[Portal]:
    async with run_here(hub_url=hub.url) as portal:
        yield portal


# --- missing from the directory -------------------------------------------------------------------


async def test_who_has_gone_is_shut_out_at_the_second_look_and_let_in_again(
    here: Portal, carol: Browser
) -> None:
    directory = here.context.directory
    password = await made(carol, "roamer")
    before = await directory.find("roamer")
    assert before is not None
    await directory.delete("roamer")
    await directory_sync(here).poll()
    first = await row(here, "roamer")
    assert first.missing_since and first.disabled_at is None
    await directory_sync(here).poll()
    user = await closed(carol, "roamer")
    assert (user["disabled_by"], user["disabled_jobs"]) == ("the directory", "leave")
    assert (await enable(carol, "roamer")).status == 404, "they couldn't log in"
    assert (await disable(carol, "roamer")).status == 200, "an administrator may say the same"
    await closed(carol, "roamer")
    async with here.context.db.session() as db:
        await db.execute(
            update(User).values(disabled_by="the directory").where(User.id == first.id)
        )
        await db.commit()
    await directory.create(
        NewDirectoryUser("roamer", "A", "Test", uid=before.uid, password=password)
    )
    await directory_sync(here).poll()
    assert (await row(here, "roamer")).disabled_at is None
    assert [details["actor"] for details in await audited(here, "user.enable", "roamer")] == [
        "the directory"
    ]


async def test_the_portal_looks_by_itself_as_often_as_its_setting_says(
    run_here: RunHere, hub: PlayedHub
) -> None:
    async with run_here(hub_url=hub.url, directory_sweep_minutes=0.01) as portal:
        async with logged_in(portal, "carol") as admin:
            await made(admin, "quitter")
            await portal.context.directory.delete("quitter")
            user = await closed(admin, "quitter")
        assert user["disabled_by"] == "the directory"


async def test_who_is_switched_off_in_the_directory_is_shut_out(
    here: Portal, carol: Browser
) -> None:
    directory = here.context.directory
    await made(carol, "sleeper")
    await directory.disable("sleeper")
    await directory_sync(here).poll()
    assert (await closed(carol, "sleeper"))["disabled_why"] == "Disabled in the directory."
    await directory.enable("sleeper")
    await directory_sync(here).poll()
    assert (await row(here, "sleeper")).disabled_at is None


async def test_an_administrators_decision_is_not_undone(here: Portal, carol: Browser) -> None:
    await disable(carol, "p1903")
    await closed(carol, "p1903")
    await here.context.directory.enable("p1903")
    await directory_sync(here).poll()
    assert (await row(here, "p1903")).disabled_by == "carol"


async def test_a_directory_that_has_lost_many_is_not_believed(here: Portal, carol: Browser) -> None:
    for number in range(4):
        await carol.send("PUT", f"{USERS}/p190{number}/role", json={"role": "viewer"})
    async with here.context.db.session() as db:
        names = User.username.like("p190%")
        await db.execute(update(User).where(names).values(username=User.username + "x"))
        await db.commit()
    await directory_sync(here).poll()
    async with here.context.db.session() as db:
        assert not (await db.scalars(select(User).where(User.missing_since.is_not(None)))).all()


async def test_changed_uid_is_refused_until_an_admin_accepts_it(
    here: Portal, carol: Browser
) -> None:
    async with logged_in(here, "judy"):
        pass
    async with here.context.db.session() as db:
        await db.execute(update(User).where(User.username == "judy").values(uid=1234))
        await db.commit()
    async with here.browser() as judy:
        refused = await judy.login("judy")
        assert (refused.status, refused.slug) == (403, "forbidden"), refused
        assert "1234" in refused.body["detail"]
        assert (await row(here, "judy")).uid == 1234
        wrong = await carol.send("PUT", f"{USERS}/judy/number", json={"uid": 1})
        assert "20011" in fields(wrong)["uid"]
        right = await carol.send("PUT", f"{USERS}/judy/number", json={"uid": 20011})
        assert right.status == 200, right
        assert (await judy.login("judy", PASSWORD)).status == 200
    details = await audited(here, "user.number", "judy")
    assert details == [{"actor": "carol", "uid": {"old": 1234, "new": 20011}}]


async def test_who_had_the_name_before_is_deleted_for_who_has_it_now(
    here: Portal, carol: Browser
) -> None:
    """The directory's entry belongs to the new user and is left alone."""
    await made(carol, "heir")
    old = await row(here, "heir")
    async with here.context.db.session() as db:
        await db.execute(update(User).where(User.id == old.id).values(uid=1234))
        await db.commit()
    assert (await delete(carol, "heir")).status == 202
    await until(
        lambda: carol.get(f"{USERS}/heir"),
        "the user is deleted",
        done=lambda answer: not answer.body["known"],
    )
    shown = (await carol.get(f"{USERS}/heir")).body
    assert (shown["in_directory"], shown["disabled"], shown["uid"]) == (True, False, old.uid)
