"""Reading users: in pages, by search term, all of them; and changes between two pages."""

import pytest

from portal.directory import reading
from portal.directory.contract import Ability, DirectoryUserPage
from portal.directory.service import LdapDirectory
from portal.errors import DirectoryReadOnly, DirectoryUnavailable, InvalidInput
from tests.servers.directory import MANY, MANY_BASE, WRITER_DN, OpenHere
from tests.servers.slapd import SUFFIX, free_port

pytest_plugins = ["tests.portal.directory_fixtures"]
pytestmark = pytest.mark.anyio


@pytest.fixture
def many(open_here: OpenHere) -> LdapDirectory:
    return open_here(ldap_user_base=MANY_BASE)


async def read_all(many: LdapDirectory, query: str = "", limit: int = 400) -> list[str]:
    names: list[str] = []
    page = DirectoryUserPage((), None)
    while True:
        page = await many.page(query, page.cursor, limit)
        assert len(page.users) <= limit
        assert page.incomplete is None
        names += [user.username for user in page.users]
        if page.cursor is None:
            return names


async def test_pages_hold_everybody_once(many: LdapDirectory) -> None:
    names = await read_all(many)
    assert sorted(names) == [f"p{n:04}" for n in range(MANY)]


async def test_everyone_is_read_in_pages(many: LdapDirectory) -> None:
    users = {user.username: user async for user in many.everyone()}
    assert len(users) == MANY
    assert (users["p0042"].uid, users["p0042"].email) == (40042, "p0042@many.example")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("p0007", 1),
        ("P0007", 1),
        ("user 001", 10 + 2),  # 0010 … 0019, 0001 and 1001
        ("1999 user", 1),
        ("0123@many", 1),
        ("nobody", 0),
        ("*", 0),
        (")(uid=*", 0),
        ("\\2a", 0),
        ("é", 0),
    ],
)
async def test_a_word_finds_names_usernames_and_mail(
    many: LdapDirectory, query: str, count: int
) -> None:
    assert len(await read_all(many, query)) == count


@pytest.mark.parametrize("query", ["x" * 201, "a b c d e f g h i", "a\nb", "\0"])
async def test_a_search_that_is_too_much_is_refused(many: LdapDirectory, query: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await many.page(query)
    assert [error.field for error in caught.value.errors] == ["query"]


@pytest.mark.parametrize("limit", [0, -1, 501])
async def test_a_page_has_its_bounds(many: LdapDirectory, limit: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        await many.page(limit=limit)
    assert [error.field for error in caught.value.errors] == ["limit"]


async def test_a_cursor_holds_in_another_portal(many: LdapDirectory, open_here: OpenHere) -> None:
    first = await many.page("user 00", limit=30)
    other = open_here(ldap_user_base=MANY_BASE)
    second = await other.page("user 00", first.cursor, 30)
    here = await many.page("user 00", first.cursor, 30)
    assert second.users == here.users
    assert not set(first.users) & set(second.users)


async def test_a_cursor_holds_when_its_connection_is_gone(many: LdapDirectory) -> None:
    first = await many.page(limit=30)
    expected = (await many.page(cursor=first.cursor, limit=30)).users
    again = await many.page(limit=30)
    many.close()
    assert (await many.page(cursor=again.cursor, limit=30)).users == expected


async def test_more_lists_than_connections_are_read_side_by_side(many: LdapDirectory) -> None:
    lists = reading.MAX_PLACES + 3
    pages = [await many.page(limit=10) for _ in range(lists)]
    nexts = [await many.page(cursor=page.cursor, limit=10) for page in pages]
    assert len({page.users for page in nexts}) == 1


@pytest.mark.parametrize("cursor", ["", "x", "W10", "é", "bnVsbA", "WyJhIiwgImIiLCAiYyIsICJkIl0"])
async def test_a_made_up_cursor_is_refused(many: LdapDirectory, cursor: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await many.page(cursor=cursor)
    assert [error.field for error in caught.value.errors] == ["cursor"]


async def test_a_cursor_belongs_to_its_search(many: LdapDirectory) -> None:
    page = await many.page("user", limit=10)
    with pytest.raises(InvalidInput):
        await many.page("0001", page.cursor, 10)


async def test_incomplete_search_result_is_reported(open_here: OpenHere) -> None:
    """This account has slapd's default limit of 500 entries per search."""
    some = open_here(
        ldap_user_base=MANY_BASE,
        ldap_bind_dn=WRITER_DN,
        ldap_bind_password_file=open_here().settings.ldap_write_password_file,
    )
    page = await some.page(limit=400)
    while page.cursor is not None:
        page = await some.page(cursor=page.cursor, limit=400)
    assert page.incomplete is not None
    with pytest.raises(DirectoryUnavailable):
        _ = [user async for user in some.everyone()]


async def test_some_are_looked_up_at_once(many: LdapDirectory) -> None:
    names = [f"P{n:04}" for n in range(0, 200, 2)]
    found = await many.find_many([*names, "nobody", "*", ""])
    assert set(found) == {name.lower() for name in names}


@pytest.mark.parametrize("username", ["", "*", "p0001)(uid=*", "a" * 257, "p0001\0", "nobody"])
async def test_unknown_name_finds_no_user(many: LdapDirectory, username: str) -> None:
    assert await many.find(username) is None


async def test_another_server_reads_when_the_first_is_dead(
    open_here: OpenHere, many: LdapDirectory
) -> None:
    live = many.settings.ldap_urls
    both = open_here(ldap_user_base=MANY_BASE, ldap_urls=[f"ldap://127.0.0.1:{free_port()}", *live])
    assert len(await read_all(both, "p000", 4)) == 10


async def test_a_dead_directory_is_unavailable(open_here: OpenHere) -> None:
    dead = open_here(ldap_urls=[f"ldap://127.0.0.1:{free_port()}"])
    with pytest.raises(DirectoryUnavailable):
        await dead.page()
    with pytest.raises(DirectoryUnavailable):
        await dead.lock("alice")
    assert [health.cause is None for health in await dead.health()] == [False]


async def test_an_account_that_writes_and_is_refused_is_named(open_here: OpenHere) -> None:
    wrong = open_here(ldap_write_dn=f"cn=unknown,{SUFFIX}")
    (health,) = await wrong.health()
    assert f"cn=unknown,{SUFFIX} is refused" in str(health.cause)
    with pytest.raises(DirectoryUnavailable):
        await wrong.lock("alice")
    assert await wrong.find("alice") is not None


async def test_dn_template_disables_lookups(open_here: OpenHere) -> None:
    alone = open_here(
        ldap_user_dn_template=f"uid={{username}},ou=people,{SUFFIX}",
        ldap_write_dn=None,
        ldap_write_password_file=None,
    )
    assert not alone.can_look_up_users
    for question in (alone.page(), alone.find("alice"), alone.members("x"), alone.lock("alice")):
        with pytest.raises(DirectoryReadOnly):
            await question


async def test_without_an_account_that_writes_nothing_can_be_changed(open_here: OpenHere) -> None:
    reader = open_here(ldap_write_dn=None, ldap_write_password_file=None)
    able = await reader.capabilities()
    assert not any(able.can(ability) for ability in Ability)
    assert "ldap_write_dn" in able.missing[Ability.CREATE]
    with pytest.raises(DirectoryReadOnly):
        await reader.lock("alice")


async def test_with_one_everything_can(directory: LdapDirectory) -> None:
    able = await directory.capabilities()
    assert (able.kind, dict(able.missing)) == ("openldap", {})
