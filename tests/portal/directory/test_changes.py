"""Changing users in OpenLDAP, verified in the directory and against its password policy."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from portal.directory.changes import DirectoryChange
from portal.directory.contract import Edit, NewDirectoryUser, NewGroup
from portal.directory.service import LdapDirectory
from portal.errors import (
    AccountDisabled,
    AccountLocked,
    Conflict,
    DirectoryChanged,
    DirectoryUnfinished,
    InvalidInput,
    NotFound,
    PasswordExpired,
    WrongCredentials,
)
from tests.servers.directory import OpenHere
from tests.servers.slapd import PASSWORD

pytest_plugins = ["tests.portal.directory_fixtures"]
pytestmark = pytest.mark.anyio

_numbers = count(1)


@pytest.fixture
def name() -> str:
    """Return a username that is unique among the tests."""
    return f"ada{next(_numbers)}"


def someone(name: str, **changes: Any) -> NewDirectoryUser:
    usual: dict[str, Any] = {"given_name": "Ada", "surname": "Example", "email": f"{name}@x.org"}
    return NewDirectoryUser(name, **{**usual, **changes})


def fields(caught: pytest.ExceptionInfo[InvalidInput]) -> list[str]:
    return sorted(error.field for error in caught.value.errors)


# --- creating -------------------------------------------------------------------------------------


async def test_a_new_user_has_everything_and_changes_the_password_first(
    directory: LdapDirectory, name: str
) -> None:
    made = await directory.create(someone(name, groups=frozenset({"scientists"})))
    user = made.entry
    assert await directory.find(name) == user
    assert (user.display_name, user.email) == ("Ada Example", f"{name}@x.org")
    assert (user.home, user.shell) == (f"/home/{name}", "/bin/bash")
    assert user.uid is not None
    assert user.gid == user.uid >= 20000
    assert user.groups == {"scientists"}
    own = await directory.group(name)
    assert own is not None
    assert (own.gid, own.members) == (user.gid, frozenset())
    assert made.password.must_change
    assert user.must_change
    assert repr(made).count(made.password.password) == 0
    with pytest.raises(PasswordExpired):
        await directory.authenticate(name, made.password.password)
    await directory.change_password(name, made.password.password, "a much better one")
    assert (await directory.authenticate(name, "a much better one")).username == name


async def test_a_primary_group_may_be_everybodys(open_here: OpenHere, name: str) -> None:
    directory = open_here(ldap_primary_gid=30001)
    made = await directory.create(someone(name, uid=25000 + next(_numbers), home=f"/data/{name}"))
    assert (made.entry.gid, made.entry.home) == (30001, f"/data/{name}")
    assert await directory.group(name) is None


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"surname": ""}, ["surname"]),
        ({"surname": "x" * 101}, ["surname"]),
        ({"given_name": "a\nb"}, ["given_name"]),
        ({"display_name": "\x1b[31m"}, ["display_name"]),
        ({"email": "nobody"}, ["email"]),
        ({"email": "é@x.org"}, ["email"]),
        ({"uid": 0}, ["uid"]),
        ({"uid": 999}, ["uid"]),
        ({"uid": -5}, ["uid"]),
        ({"uid": 65534}, ["uid"]),
        ({"uid": 2**31}, ["uid"]),
        ({"uid": 20001}, ["uid"]),  # alice's
        ({"uid": 30001}, ["uid"]),  # a group's number, and a private group is to be created
        ({"gid": 0}, ["gid"]),
        ({"gid": 31234}, ["gid"]),
        ({"home": "relative"}, ["home"]),
        ({"home": "/home/../etc"}, ["home"]),
        ({"home": "/"}, ["home"]),
        ({"gid": 30000}, ["gid"]),
        ({"home": "/etc"}, ["home"]),
        ({"home": "/var/lib/x"}, ["home"]),
        ({"home": "/home"}, ["home"]),
        ({"home": "/home/alice"}, ["home"]),
        ({"shell": "/bin/sh -c reboot"}, ["shell"]),
        ({"shell": "/bin/sh:x"}, ["shell"]),
        ({"password": ""}, ["password"]),
        ({"password": "x" * 1025}, ["password"]),
        ({"password": "short"}, ["password"]),
        ({"groups": frozenset({"nosuch", "*"})}, ["groups", "groups"]),
        ({"surname": " ", "uid": 1, "email": "x"}, ["email", "surname", "uid"]),
    ],
)
async def test_what_cannot_be_names_its_field_and_leaves_nothing(
    directory: LdapDirectory, name: str, changes: dict[str, Any], wrong: list[str]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await directory.create(someone(name, **changes))
    assert fields(caught) == wrong
    assert await directory.find(name) is None
    assert await directory.group(name) is None


@pytest.mark.parametrize(
    "username",
    [
        "", "Ada", "1ada", "-ada", "ada lovelace", "ada,ou=x", "ada*", "a" * 33, "adä", "ada\n",
        "ada$", "root", "slurm", "nobody", "alice", "scientists", "sync",
    ],
)  # fmt: skip
async def test_invalid_or_taken_name_is_refused(directory: LdapDirectory, username: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await directory.create(someone(username, email=None))
    assert fields(caught) == ["username"]


async def test_two_portals_assign_distinct_uids(open_here: OpenHere) -> None:
    portals = [open_here(), open_here()]
    names = [[f"many{portal}x{n}" for n in range(20)] for portal in (0, 1)]
    made = await asyncio.gather(
        *(
            portal.create(someone(name))
            for portal, some in zip(portals, names, strict=True)
            for name in some
        )
    )
    numbers = {one.entry.uid for one in made}
    assert len(numbers) == 40
    assert {one.entry.gid for one in made} == numbers


async def test_of_two_with_one_name_or_number_at_most_one_is_made(
    open_here: OpenHere, name: str
) -> None:
    portals = [open_here() for _ in range(4)]
    same_name = await asyncio.gather(
        *(portal.create(someone(name)) for portal in portals), return_exceptions=True
    )
    assert sum(not isinstance(one, BaseException) for one in same_name) == 1
    uid = 26000 + next(_numbers)
    same_number = await asyncio.gather(
        *(portal.create(someone(f"{name}n{n}", uid=uid)) for n, portal in enumerate(portals)),
        return_exceptions=True,
    )
    made = [one for one in same_number if not isinstance(one, BaseException)]
    assert len(made) <= 1
    assert all(isinstance(one, InvalidInput) for one in same_number if one not in made)
    users = [user async for user in portals[0].everyone() if user.uid == uid]
    assert len(users) == len(made)


async def test_exhausted_uid_range_is_reported(open_here: OpenHere, name: str) -> None:
    first = 27000 + 10 * next(_numbers)
    directory = open_here(ldap_uid_range=[first, first + 1])
    for n in range(2):
        made = await directory.create(someone(f"{name}n{n}"))
        assert made.entry.uid == first + n
    await directory.delete(f"{name}n0")
    with pytest.raises(Conflict, match="assigned"):
        await directory.create(someone(f"{name}n2"))


# --- editing --------------------------------------------------------------------------------------


async def test_an_edit_changes_what_it_names(directory: LdapDirectory, name: str) -> None:
    before = (await directory.create(someone(name))).entry
    edit = Edit(display_name="Countess", email="", shell="/bin/zsh", gid=30001)  # noqa: S604
    after = await directory.edit(name, edit, before.version)
    assert (after.display_name, after.email, after.shell) == ("Countess", None, "/bin/zsh")
    assert (after.gid, after.surname, after.home) == (30001, "Example", before.home)
    assert after.version != before.version
    assert await directory.find(name) == after
    assert await directory.edit(name, Edit(), after.version) == after


async def test_second_editor_gets_conflict(directory: LdapDirectory, name: str) -> None:
    seen = (await directory.create(someone(name))).entry.version
    await directory.edit(name, Edit(surname="First"), seen)
    with pytest.raises(DirectoryChanged):
        await directory.edit(name, Edit(surname="Second"), seen)
    found = await directory.find(name)
    assert found is not None
    assert found.surname == "First"
    assert (await directory.edit(name, Edit(surname="Third"), "")).surname == "Third"


async def test_of_editors_at_once_one_wins(open_here: OpenHere, name: str) -> None:
    portals = [open_here() for _ in range(6)]
    seen = (await portals[0].create(someone(name))).entry.version
    answers = await asyncio.gather(
        *(portal.edit(name, Edit(surname=f"Name{n}"), seen) for n, portal in enumerate(portals)),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, DirectoryChanged) for answer in answers) == 5


async def test_a_mistyped_password_stops_no_editor(directory: LdapDirectory, name: str) -> None:
    """Attributes written by the password policy do not count as a concurrent change."""
    seen = (await directory.create(someone(name))).entry.version
    with pytest.raises(WrongCredentials):
        await directory.authenticate(name, "wrong")
    assert (await directory.edit(name, Edit(surname="Free"), seen)).surname == "Free"


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (Edit(surname=""), "surname"),
        (Edit(email="x"), "email"),
        (Edit(gid=31234), "gid"),
        (Edit(home="x"), "home"),
        (Edit(home="/home/alice"), "home"),
        (Edit(display_name=" "), "display_name"),
    ],
)
async def test_a_bad_edit_names_its_field(directory: LdapDirectory, edit: Edit, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await directory.edit("bob", edit, "")
    assert fields(caught) == [field]


async def test_unknown_user_cannot_be_changed(directory: LdapDirectory) -> None:
    for change in (
        directory.edit("unknown-user", Edit(), ""),
        directory.set_password("unknown-user"),
        directory.lock("unknown-user"),
        directory.unlock(""),
        directory.disable("*"),
        directory.enable("a)(uid=*"),
        directory.add_member("scientists", "unknown-user"),
    ):
        with pytest.raises(NotFound):
            await change
    assert not await directory.delete("unknown-user")


# --- passwords, locks, disabling ------------------------------------------------------------------


async def make(directory: LdapDirectory, name: str, **changes: Any) -> None:
    """Create a user, and change the initial password."""
    made = await directory.create(someone(name, **changes))
    await directory.change_password(name, made.password.password, PASSWORD)


async def test_a_reset_password_is_good_for_one_change(directory: LdapDirectory, name: str) -> None:
    await make(directory, name)
    given = await directory.set_password(name, "given by the admin")
    assert (given.password, given.must_change) == ("given by the admin", True)
    with pytest.raises(PasswordExpired):
        await directory.authenticate(name, given.password)
    with pytest.raises(WrongCredentials):
        await directory.authenticate(name, PASSWORD)
    await directory.change_password(name, given.password, "one of their own")
    found = await directory.authenticate(name, "one of their own")
    assert not found.must_change


@pytest.mark.parametrize(("password", "words"), [("short", "short"), (PASSWORD, "used before")])
async def test_the_policys_answer_is_a_sentence(
    directory: LdapDirectory, name: str, password: str, words: str
) -> None:
    await make(directory, name)
    with pytest.raises(InvalidInput, match=words) as caught:
        await directory.set_password(name, password)
    assert fields(caught) == ["password"]
    await directory.authenticate(name, PASSWORD)


async def test_locked_until_unlocked(directory: LdapDirectory, name: str) -> None:
    await make(directory, name)
    for _ in range(2):  # each operation is repeatable
        await directory.lock(name)
        with pytest.raises(AccountLocked, match="An administrator"):
            await directory.authenticate(name, PASSWORD)
    found = await directory.find(name)
    assert found is not None
    assert (found.locked, found.disabled, found.shell) == (True, False, "/bin/bash")
    for _ in range(2):
        await directory.unlock(name)
        assert not (await directory.authenticate(name, PASSWORD)).locked


async def test_disabling_holds_for_ssh_too_and_is_undone(
    directory: LdapDirectory, name: str
) -> None:
    await make(directory, name, shell="/bin/zsh")  # noqa: S604
    for _ in range(2):
        await directory.disable(name)
        found = await directory.find(name)
        assert found is not None
        assert (found.locked, found.disabled, found.shell) == (True, True, "/usr/sbin/nologin")
    with pytest.raises(AccountDisabled):
        await directory.authenticate(name, PASSWORD)
    with pytest.raises(Conflict):
        await directory.unlock(name)
    with pytest.raises(Conflict):
        await directory.edit(name, Edit(shell="/bin/sh"), "")  # noqa: S604
    for _ in range(2):
        await directory.enable(name)
        found = await directory.authenticate(name, PASSWORD)
        assert (found.locked, found.disabled, found.shell) == (False, False, "/bin/zsh")


async def test_enabling_gives_no_shell_to_who_had_none(directory: LdapDirectory, name: str) -> None:
    await make(directory, name, shell="/usr/sbin/nologin")  # noqa: S604
    await directory.disable(name)
    await directory.enable(name)
    found = await directory.authenticate(name, PASSWORD)
    assert (found.locked, found.disabled, found.shell) == (False, False, "/usr/sbin/nologin")


async def test_enabling_keeps_an_administrators_lock(directory: LdapDirectory, name: str) -> None:
    await make(directory, name)
    await directory.lock(name)
    await directory.disable(name)
    await directory.enable(name)
    found = await directory.find(name)
    assert found is not None
    assert (found.locked, found.disabled, found.shell) == (True, False, "/bin/bash")


async def test_disabling_at_once_forgets_no_shell(open_here: OpenHere, name: str) -> None:
    portals = [open_here() for _ in range(4)]
    await make(portals[0], name, shell="/bin/zsh")  # noqa: S604
    await asyncio.gather(*(portal.disable(name) for portal in portals))
    await asyncio.gather(*(portal.enable(name) for portal in portals))
    assert (await portals[0].authenticate(name, PASSWORD)).shell == "/bin/zsh"


# --- deleting, and interruptions ------------------------------------------------------------------


async def test_a_removed_user_is_in_no_group(directory: LdapDirectory, name: str) -> None:
    await directory.create_group(NewGroup(f"{name}-team"))
    await directory.create(someone(name, groups=frozenset({"scientists", f"{name}-team"})))
    assert await directory.members(f"{name}-team") == {name}
    assert await directory.delete(name)
    assert not await directory.delete(name)
    assert await directory.find(name) is None
    assert await directory.group(name) is None
    assert await directory.members(f"{name}-team") == frozenset()
    assert name not in await directory.members("scientists")


Fail = Callable[[int], None]


@pytest.fixture
def fail_after(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """The connection breaks after the n-th step was sent: the server applies it, the reply is
    lost."""
    send = DirectoryChange.send

    def arm(steps: int) -> None:
        left = count(steps, -1)

        def broken(self: DirectoryChange, act: Callable[[], Any], words: str) -> Any:
            if next(left) != 1:
                return send(self, act, words)

            def lost() -> None:
                act()
                raise ConnectionResetError("the connection is gone")

            return send(self, lost, words)

        monkeypatch.setattr(DirectoryChange, "send", broken)

    return arm


async def test_unfinished_creation_lists_done_and_unknown_steps(
    directory: LdapDirectory, name: str, fail_after: Fail
) -> None:
    await directory.find("alice")
    fail_after(4)  # the number, the entry, the private group, the first group
    with pytest.raises(DirectoryUnfinished) as caught:
        await directory.create(someone(name, groups=frozenset({"scientists"})))
    done, _, unknown = caught.value.detail.partition("May or may not")
    assert f"the entry of {name} was created; the group {name} was created" in done
    assert f"{name} was added to scientists" in unknown
    # an incompletely created user cannot log in
    with pytest.raises(WrongCredentials):
        await directory.authenticate(name, "anything")
    assert await directory.delete(name)


async def test_a_change_without_an_answer_may_be_repeated(
    directory: LdapDirectory, name: str, fail_after: Fail
) -> None:
    await directory.create(someone(name))
    fail_after(1)
    with pytest.raises(DirectoryUnfinished, match=f"{name} was disabled"):
        await directory.disable(name)
    await directory.disable(name)
    found = await directory.find(name)
    assert found is not None
    assert found.disabled
