"""Settings of the directory whose defaults the other tests use, each with another value."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from portal.directory.contract import NewDirectoryUser, NewGroup
from portal.directory.service import LdapDirectory
from portal.errors import DirectoryUnavailable
from tests.servers.directory import GROUP_BASE, USERS_BASE, OpenHere

pytest_plugins = ["tests.portal.directory_fixtures"]
pytestmark = pytest.mark.anyio
_numbers = count(1)


@pytest.fixture
def name() -> str:
    """Return a username that is unique among the tests."""
    return f"grete{next(_numbers)}"


def someone(name: str, **changes: Any) -> NewDirectoryUser:
    return NewDirectoryUser(name, **{"given_name": "Grete", "surname": "Hermann", **changes})


@pytest.mark.parametrize(
    ("setting", "attribute", "field", "expected"),
    [
        ("ldap_mail_attribute", "displayName", "email", "Alice Example"),
        ("ldap_uid_attribute", "gidNumber", "uid", 30001),
        ("ldap_gid_attribute", "uidNumber", "gid", 20001),
        ("ldap_home_attribute", "mail", "home", "alice@test.example"),
        ("ldap_shell_attribute", "homeDirectory", "shell", "/home/alice"),
    ],
)
async def test_a_field_is_read_from_the_attribute_of_its_setting(
    open_here: OpenHere, setting: str, attribute: str, field: str, expected: object
) -> None:
    assert getattr(await open_here().find("alice"), field) != expected
    found = await open_here(**{setting: attribute}).find("alice")
    assert getattr(found, field) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (["displayName", "cn"], "Alice Example"),
        (["cn", "displayName"], "alice 20001"),
        (["title", "mail"], "alice@test.example"),
        (["title"], "alice"),
    ],
)
async def test_the_first_name_attribute_with_a_value_counts(
    open_here: OpenHere, attributes: list[str], expected: str
) -> None:
    found = await open_here(ldap_name_attributes=attributes).find("alice")
    assert found is not None
    assert found.display_name == expected


async def group_names(directory: LdapDirectory) -> set[str]:
    """Return the names of all pages: other tests leave groups behind."""
    page = await directory.groups()
    names = {group.name for group in page.groups}
    while page.cursor is not None:
        page = await directory.groups(cursor=page.cursor)
        names |= {group.name for group in page.groups}
    return names


async def test_groups_are_those_of_the_filter_with_the_name_of_the_attribute(
    open_here: OpenHere, directory: LdapDirectory
) -> None:
    await directory.create_group(NewGroup("filtered", None, "Physics"))
    assert {"filtered", "scientists"} <= await group_names(directory)
    only = open_here(ldap_groups_filter="(description=*)")
    names = await group_names(only)
    assert "filtered" in names
    assert "scientists" not in names
    described = open_here(
        ldap_groups_filter="(description=Physics)", ldap_group_name_attribute="description"
    )
    assert await group_names(described) == {"Physics"}
    await directory.delete_group("filtered")


async def test_a_new_user_gets_place_home_and_shell_of_the_settings(
    open_here: OpenHere, name: str
) -> None:
    directory = open_here(
        ldap_new_user_base=f"ou=more,{USERS_BASE}",
        ldap_home_template="/lab/{username}/home",
        ldap_new_shell="/bin/zsh",
    )
    user = (await directory.create(someone(name))).entry
    assert user.dn.endswith(f",ou=more,{USERS_BASE}")
    assert (user.home, user.shell) == (f"/lab/{name}/home", "/bin/zsh")


async def test_the_next_number_is_kept_below_the_base_of_the_setting(
    open_here: OpenHere, name: str
) -> None:
    async def take_number(base: str) -> int | None:
        spans = {"ldap_uid_range": (60_000, 60_009), "ldap_gid_range": (60_010, 60_019)}
        directory = open_here(ldap_numbers_base=base, **spans)
        made = (await directory.create(someone(name))).entry
        await directory.delete(name)
        return made.uid

    bases = [f"ou=more,{USERS_BASE}", f"ou=more,{USERS_BASE}", GROUP_BASE]
    assert [await take_number(base) for base in bases] == [60_000, 60_001, 60_000]


async def test_a_disabled_user_has_the_shell_of_the_setting(open_here: OpenHere, name: str) -> None:
    directory = open_here(ldap_disabled_shell="/usr/bin/nologin-here")
    await directory.create(someone(name))
    await directory.disable(name)
    disabled = await directory.find(name)
    assert disabled is not None
    assert (disabled.shell, disabled.disabled) == ("/usr/bin/nologin-here", True)
    other = await open_here().find(name)
    assert other is not None
    assert not other.disabled, "the shell isn't the one that these settings name"
    await directory.enable(name)
    enabled = await directory.find(name)
    assert enabled is not None
    assert (enabled.shell, enabled.disabled) == ("/bin/bash", False)


async def test_a_certificate_is_verified_unless_the_setting_is_off(open_here: OpenHere) -> None:
    unknown: dict[str, Any] = {"ldap_ca_file": None}
    with pytest.raises(DirectoryUnavailable) as caught:
        await open_here(**unknown).find("alice")
    assert "certificate" in caught.value.cause
    assert await open_here(**unknown, ldap_verify_certificate=False).find("alice") is not None


async def test_plain_text_is_used_only_if_the_setting_permits_it(
    open_here: OpenHere,
) -> None:
    plain: dict[str, Any] = {"ldap_start_tls": False, "ldap_ca_file": None}
    with pytest.raises(ValueError, match="ldap_allow_plaintext"):
        open_here(**plain)
    with pytest.raises(DirectoryUnavailable) as caught:
        await open_here(**plain, ldap_allow_plaintext=True).find("alice")
    assert "confidentialityRequired" in caught.value.cause, "this slapd wants TLS"
