"""Read-only directories: Active Directory's structure, nested groups, cycles."""

from typing import Any

import pytest

from portal.config.settings import Settings
from portal.directory import mapping
from portal.directory.contract import Ability, Edit, NewDirectoryUser, NewGroup
from portal.directory.service import LdapDirectory
from portal.errors import DirectoryReadOnly, NotFound, WrongCredentials
from tests.portal.conftest import MakeSettings
from tests.servers.directory import AD_BASE, OpenHere
from tests.servers.slapd import PASSWORD

pytest_plugins = ["tests.portal.directory_fixtures"]
pytestmark = pytest.mark.anyio

AD = {
    "ldap_directory": "active-directory",
    "ldap_user_base": f"ou=staff,{AD_BASE}",
    "ldap_group_base": f"ou=roles,{AD_BASE}",
    "ldap_write_dn": None,
    "ldap_write_password_file": None,
}


@pytest.fixture
def ad(open_here: OpenHere) -> LdapDirectory:
    return open_here(**AD)


async def test_a_user_has_the_names_of_active_directory(ad: LdapDirectory) -> None:
    ada = await ad.find("ADA")
    assert ada is not None
    assert (ada.username, ada.display_name) == ("ada", "Ada Example")
    assert (ada.uid, ada.home, ada.email) == (60001, "/home/ada", "ada@ad.example")
    assert (ada.locked, ada.disabled, ada.must_change) == (False, False, False)


async def test_states_are_active_directorys(ad: LdapDirectory) -> None:
    bo = await ad.find("bo")
    assert bo is not None
    assert (bo.locked, bo.disabled, bo.must_change) == (True, True, True)


async def test_computers_are_no_users(ad: LdapDirectory) -> None:
    users = [user.username async for user in ad.everyone()]
    assert sorted(users) == ["ada", "bo", "cy"]
    assert await ad.find("node01$") is None


async def test_someone_is_in_the_groups_around_their_groups(ad: LdapDirectory) -> None:
    """team is in lab, lab in site, and lab in team again."""
    groups = {name: (await ad.find(name)) for name in ("ada", "bo", "cy")}
    assert {name: found.groups for name, found in groups.items() if found} == {
        "ada": {"team", "lab", "site"},
        "bo": {"lab", "site", "team"},
        "cy": frozenset(),
    }


async def test_members_are_those_of_the_groups_within_too(ad: LdapDirectory) -> None:
    assert await ad.members("site") == {"ada", "bo"}
    assert await ad.members("team") == {"ada", "bo"}
    assert await ad.members("empty") == frozenset()
    with pytest.raises(NotFound):
        await ad.members("nosuch")


async def test_group_separates_members_from_nested_groups(ad: LdapDirectory) -> None:
    lab = await ad.group("lab")
    assert lab is not None
    assert (lab.members, lab.groups) == (frozenset({"bo"}), frozenset({"team"}))


async def test_groups_are_listed(ad: LdapDirectory) -> None:
    page = await ad.groups()
    assert sorted(group.name for group in page.groups) == ["empty", "lab", "site", "team"]
    assert [group.name for group in (await ad.groups("EMP")).groups] == ["empty"]
    assert (await ad.groups("*")).groups == ()


async def test_without_nesting_only_the_own_groups_count(open_here: OpenHere) -> None:
    flat = open_here(**AD, ldap_nested_groups=False)
    ada = await flat.find("ada")
    assert ada is not None
    assert ada.groups == {"team"}
    assert await flat.members("site") == frozenset()


async def test_nesting_is_followed_without_member_of(open_here: OpenHere) -> None:
    """By the DNs that groups contain, as in a directory without that attribute."""
    plain = open_here(**AD, ldap_member_of_attribute=None)
    assert await plain.members("site") == {"ada", "bo"}
    lab = await plain.group("lab")
    assert lab is not None
    assert (lab.members, lab.groups) == (frozenset({"bo"}), frozenset({"team"}))


async def test_every_change_is_refused_with_the_reason(ad: LdapDirectory) -> None:
    able = await ad.capabilities()
    assert set(able.missing) == set(Ability)
    assert "Active Directory" in able.missing[Ability.CREATE]
    for change in (
        ad.create(NewDirectoryUser("dan", "Dan", "Example")),
        ad.edit("ada", Edit(surname="X"), ""),
        ad.delete("ada"),
        ad.set_password("ada"),
        ad.lock("ada"),
        ad.unlock("ada"),
        ad.disable("ada"),
        ad.enable("ada"),
        ad.create_group(NewGroup("new")),
        ad.delete_group("empty"),
        ad.add_member("empty", "ada"),
        ad.remove_member("team", "ada"),
    ):
        with pytest.raises(DirectoryReadOnly) as caught:
            await change
        assert "Active Directory" in caught.value.detail
    assert await ad.find("ada") is not None


def test_active_directory_is_asked_by_its_own_rule() -> None:
    assert (
        mapping.in_chain("memberOf", "cn=a(b)*,dc=x")
        == "(memberOf:1.2.840.113556.1.4.1941:=cn=a\\28b\\29\\2a,dc=x)"
    )


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        ({}, "ldap_group_filter", "(memberUid={username})"),
        ({"ldap_group_filter": "(member={dn})"}, "ldap_group_member_attribute", "member"),
        ({"ldap_group_member_attribute": "member"}, "ldap_group_filter", "(member={dn})"),
        ({"ldap_directory": "freeipa"}, "ldap_group_filter", "(member={dn})"),
        ({"ldap_directory": "freeipa"}, "ldap_nested_groups", True),
        ({"ldap_directory": "active-directory"}, "ldap_username_attribute", "sAMAccountName"),
        (
            {"ldap_directory": "active-directory", "ldap_username_attribute": "cn"},
            "ldap_username_attribute",
            "cn",
        ),
    ],
)
def test_a_kind_brings_its_names(
    make_settings: MakeSettings, changes: dict[str, Any], name: str, value: object
) -> None:
    settings: Settings = make_settings(**changes)
    assert getattr(settings, name) == value


async def test_users_log_in_by_their_names_there(ad: LdapDirectory) -> None:
    ada = await ad.authenticate("ADA", PASSWORD)
    assert ada == await ad.find("ada")
    with pytest.raises(WrongCredentials):
        await ad.authenticate("bo", "wrong")
