"""Changing groups in OpenLDAP: groups with member names, and groups with member DNs."""

import asyncio
from itertools import count

import pytest

from portal.directory.connections import OpenConnection
from portal.directory.contract import DirectoryGroup, NewDirectoryUser, NewGroup
from portal.directory.service import LdapDirectory
from portal.errors import Conflict, InvalidInput, NotFound
from tests.servers.directory import OpenHere

pytest_plugins = ["tests.portal.directory_fixtures"]
pytestmark = pytest.mark.anyio

_numbers = count(1)


@pytest.fixture
def name() -> str:
    """Return a group name that is unique among the tests."""
    return f"team{next(_numbers)}"


@pytest.fixture
def by_dn(open_here: OpenHere) -> LdapDirectory:
    """A directory with groups of class groupOfNames."""
    return open_here(ldap_group_member_attribute="member", ldap_primary_gid=30001)


async def test_a_group_is_made_joined_left_and_removed(directory: LdapDirectory, name: str) -> None:
    made = await directory.create_group(NewGroup(name, description="Those who test"))
    assert made.gid is not None
    assert made.gid >= 20000
    assert made == DirectoryGroup(name, made.dn, made.gid, "Those who test")
    for _ in range(2):  # each operation is repeatable
        await directory.add_member(name, "alice")
    await directory.add_member(name, "bob")
    alice = await directory.find("alice")
    assert alice is not None
    assert name in alice.groups
    for _ in range(2):
        await directory.remove_member(name, "alice")
        assert await directory.members(name) == {"bob"}
    assert await directory.delete_group(name)
    assert not await directory.delete_group(name)
    assert await directory.group(name) is None


async def test_a_group_may_be_made_with_members_and_a_number(
    directory: LdapDirectory, name: str
) -> None:
    gid = 50000 + next(_numbers)
    made = await directory.create_group(NewGroup(name, gid, members=frozenset({"alice", "bob"})))
    assert (made.gid, made.members) == (gid, frozenset({"alice", "bob"}))


@pytest.mark.parametrize(
    ("new", "fields"),
    [
        (NewGroup(""), ["name"]),
        (NewGroup("Team"), ["name"]),
        (NewGroup("a,ou=people"), ["name"]),
        (NewGroup("root"), ["name"]),
        (NewGroup("scientists"), ["name"]),
        (NewGroup("fresh", 0), ["gid"]),
        (NewGroup("fresh", 30001), ["gid"]),
        (NewGroup("fresh", 2**40), ["gid"]),
        (NewGroup("fresh", description="a\nb"), ["description"]),
        (NewGroup("fresh", members=frozenset({"nosuch", "*"})), ["members", "members"]),
        (NewGroup("Fresh", 1, members=frozenset({"nosuch"})), ["gid", "members", "name"]),
    ],
)
async def test_what_cannot_be_names_its_field(
    directory: LdapDirectory, new: NewGroup, fields: list[str]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await directory.create_group(new)
    assert sorted(error.field for error in caught.value.errors) == fields
    assert await directory.group("fresh") is None


async def test_a_primary_group_stays(directory: LdapDirectory) -> None:
    with pytest.raises(Conflict, match="primary group of alice, bob"):
        await directory.delete_group("scientists")


async def test_no_group_cannot_be_joined(directory: LdapDirectory) -> None:
    for group in ("nosuch", "", "*", "scientists)(cn=*"):
        with pytest.raises(NotFound):
            await directory.add_member(group, "alice")


async def test_many_groups_at_once_have_many_numbers(open_here: OpenHere, name: str) -> None:
    portals = [open_here(), open_here()]
    made = await asyncio.gather(
        *(portals[n % 2].create_group(NewGroup(f"{name}x{n}")) for n in range(12))
    )
    assert len({group.gid for group in made}) == 12


async def test_all_who_join_at_once_are_in(
    directory: LdapDirectory, open_here: OpenHere, name: str
) -> None:
    await directory.create_group(NewGroup(name))
    other = open_here()
    await asyncio.gather(
        directory.add_member(name, "alice"),
        other.add_member(name, "bob"),
        other.add_member(name, "alice"),
    )
    assert await directory.members(name) == {"alice", "bob"}


async def test_a_group_of_names_is_never_empty(by_dn: LdapDirectory, name: str) -> None:
    with pytest.raises(InvalidInput, match="can't be empty"):
        await by_dn.create_group(NewGroup(name))
    made = await by_dn.create_group(NewGroup(name, members=frozenset({"alice"})))
    assert (made.gid, made.members) == (None, frozenset({"alice"}))
    with pytest.raises(Conflict, match=f"alice is the last member of {name}"):
        await by_dn.remove_member(name, "alice")
    for _ in range(2):
        await by_dn.add_member(name, "bob")
    for _ in range(2):
        await by_dn.remove_member(name, "alice")
    assert await by_dn.members(name) == {"bob"}
    bob = await by_dn.find("bob")
    assert bob is not None
    assert name in bob.groups
    with pytest.raises(InvalidInput) as caught:
        await by_dn.create_group(NewGroup(f"{name}x", 51000, members=frozenset({"bob"})))
    assert [error.field for error in caught.value.errors] == ["gid"]


async def test_the_last_member_of_a_group_is_not_removed_from_the_directory(
    by_dn: LdapDirectory, name: str
) -> None:
    last, other = f"{name}-last", f"{name}-other"
    await by_dn.create(NewDirectoryUser(last, "The", "Last"))
    await by_dn.create_group(NewGroup(name, members=frozenset({last})))
    await by_dn.create_group(NewGroup(other, members=frozenset({last, "alice"})))
    with pytest.raises(Conflict, match=f"last member of {name}"):
        await by_dn.delete(last)
    user = await by_dn.find(last)
    assert user is not None
    assert user.groups == {name, other}  # nothing has changed
    await by_dn.add_member(name, "alice")
    assert await by_dn.delete(last)
    assert await by_dn.members(other) == {"alice"}


async def test_groups_within_groups_and_round_again(open_here: OpenHere, name: str) -> None:
    """A cycle created by another program: the portal only reads it."""
    nested = open_here(
        ldap_group_member_attribute="member", ldap_primary_gid=30001, ldap_nested_groups=True
    )
    inner = await nested.create_group(NewGroup(f"{name}i", members=frozenset({"alice"})))
    outer = await nested.create_group(NewGroup(f"{name}o", members=frozenset({"bob"})))

    def put(group: DirectoryGroup, into: DirectoryGroup) -> None:
        def modify(link: OpenConnection) -> None:
            link.bind_writer()
            assert link.connection.modify(into.dn, {"member": [("MODIFY_ADD", [group.dn])]})

        nested.servers.use(modify)

    put(inner, into=outer)
    put(outer, into=inner)
    assert await nested.members(outer.name) == {"alice", "bob"}
    assert await nested.members(inner.name) == {"alice", "bob"}
    found = await nested.group(outer.name)
    assert found is not None
    assert (found.members, found.groups) == (frozenset({"bob"}), frozenset({inner.name}))
    alice = await nested.find("alice")
    assert alice is not None
    assert {inner.name, outer.name} <= alice.groups
    # removed together with its membership in the other one
    assert await nested.delete_group(inner.name)
    assert await nested.members(outer.name) == {"bob"}
