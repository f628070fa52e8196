"""A CSV file of users: read completely, all mistakes reported together, then created one by one."""

import asyncio
import csv
import io
from typing import Any

import pytest

from portal.directory.contract import NewDirectoryUser
from portal.errors import FieldError, InvalidInput
from portal.services.users import csv_file
from portal.services.users.csv_file import CsvLine, ExistingAccounts
from tests.portal.conftest import Answer, Browser, Portal
from tests.portal.users_portal import USERS, audited, fields, logged_in

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio

IMPORT = f"{USERS}/import"
LINES = 3000
MISTAKES = 40


def nothing_wrong(_new: NewDirectoryUser) -> list[FieldError]:
    return []


def checked(text: str, known: ExistingAccounts | None = None) -> list[CsvLine]:
    return csv_file.check(csv_file.read(text), nothing_wrong, known or ExistingAccounts(), 100)


def refusal(text: str | bytes) -> str:
    with pytest.raises(InvalidInput) as caught:
        csv_file.read(csv_file.decode_file(text) if isinstance(text, bytes) else text)
    (error,) = caught.value.errors
    assert error.field == "csv"
    return error.message


def rows_of(found: list[CsvLine]) -> list[tuple[int, str]]:
    return [(line.number, one.field) for line in found for one in line.findings]


class TestReading:
    def test_comma_and_semicolon_and_a_mark_of_byte_order(self) -> None:
        comma = 'username,surname,groups,uid\nada,"Love, Lace",a;b,2001\n'
        semicolon = '\ufeffUsername;Surname;Groups;UID\r\n\r\nada;Love, Lace;"a;b";2001\r\n'
        for text in (comma, semicolon):
            (line,) = csv_file.read(csv_file.decode_file(text.encode()))
            assert line.user is not None
            user = line.user.entry
            assert (user.surname, user.uid) == ("Love, Lace", 2001)
            assert sorted(user.groups) == ["a", "b"]
            assert (user.given_name, user.email, user.home) == ("", None, None)
        assert line.number == 3, "as an editor counts"

    def test_what_is_no_such_file(self) -> None:
        latin = "username,surname\nada,Zoë\n".encode("latin-1")
        assert "UTF-8" in refusal(latin)
        assert "UTF-8" in refusal("username,surname\nada,Zo\ufffd\n"), "read as if it were UTF-8"
        assert "has no users" in refusal("username,surname\n")
        assert "username is missing" in refusal("")
        message = refusal("username,username,phone\nada,b,c\n")
        for part in ("surname is missing", "no column phone", "username is listed twice"):
            assert part in message
        assert "Line 3 can't be read" in refusal('username,surname\nada,B\neve,"C\nfay,D\n')
        many = "\n".join(f"u{n},N" for n in range(csv_file.MAX_LINES + 1))
        assert str(csv_file.MAX_LINES) in refusal(f"username,surname\n{many}\n")

    def test_each_line_reports_its_field(self) -> None:
        text = "username,surname,uid,gid\na,N,one,2\nb,N,1,1,1\na,N,3,-4\nc,N,٣,\n"
        assert rows_of(checked(text)) == [
            (2, "uid"),
            (3, ""),
            (4, "gid"),
            (4, "username"),
            (5, "uid"),
        ]

    def test_against_itself_and_the_directory(self) -> None:
        known = ExistingAccounts(frozenset({"old"}), frozenset({7}), {"lab": 9, "own": None})
        text = (
            "username,surname,uid,gid,groups\nold,N,7,,nowhere\na,N,7,,lab\nb,N,8,9,lab;none\n"
            "c,N,8,5,\nown,N,9,,\n"
        )
        assert rows_of(checked(text, known)) == [(3, "uid"), (4, "groups"), (5, "uid"), (5, "gid")]
        own_groups = csv_file.check(csv_file.read(text), nothing_wrong, known, None)
        assert (6, "username") in rows_of(own_groups)


# --- through the portal ---------------------------------------------------------------------------


def table(*users: dict[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, csv_file.COLUMNS)
    writer.writeheader()
    writer.writerows(users)
    return text.getvalue()


def three_thousand() -> tuple[str, dict[int, str]]:
    """Return a file, and its invalid lines with the field of each mistake."""
    users: list[dict[str, Any]] = [
        {"username": f"new{n}", "surname": f"Name {n}", "email": f"new{n}@x.org"}
        for n in range(LINES)
    ]
    wrong: list[tuple[str, Any]] = [
        ("username", "UPPER"), ("username", "root"), ("surname", ""), ("email", "no address"),
        ("uid", "12"), ("uid", "x"), ("groups", "nowhere"), ("home", "relative"),
    ]  # fmt: skip
    mistakes = {}
    for number in range(MISTAKES):
        field, value = wrong[number % len(wrong)]
        at = number * (LINES // MISTAKES)
        users[at][field] = value
        mistakes[at + 2] = field
    # the second UPPER and root repeat the first: those lines have two mistakes
    return table(*users), mistakes


async def ended(browser: Browser, answer: Answer) -> dict[str, Any]:
    """Return the finished import that `answer` started."""
    assert answer.status == 202, answer
    found: dict[str, Any] = answer.body
    async with asyncio.timeout(120):
        while found["state"] == "running":
            await asyncio.sleep(0.1)
            found = (await browser.get(f"{USERS}/imports/{found['id']}")).body
    return found


async def import_(browser: Browser, text: str, *, dry_run: bool = False) -> dict[str, Any]:
    return await ended(browser, await browser.post(IMPORT, {"csv": text, "dry_run": dry_run}))


def shown(row: dict[str, Any]) -> tuple[int, str, str, list[str | None]]:
    """Return a line's number, username, result, and the fields of its problems."""
    findings = [one["field"] for one in row["findings"]]
    return row["line"], row["username"], row["result"], findings


async def test_forty_mistakes_in_three_thousand_lines_are_reported_at_once(
    here: Portal, carol: Browser
) -> None:
    text, mistakes = three_thousand()
    assert len(text) < 1024 * 1024
    found = await import_(carol, text, dry_run=True)
    assert (found["state"], found["problem"]) == ("done", None)
    wrong = {row["line"]: row for row in found["rows"] if row["result"] == "error"}
    assert set(wrong) == set(mistakes)
    first_of_its_name = {2, 2 + LINES // MISTAKES}
    for line, field in mistakes.items():
        findings = {one["field"]: one["message"] for one in wrong[line]["findings"]}
        assert findings[field], line
    assert len(found["rows"]) == LINES, "a line with two mistakes is one row"
    assert first_of_its_name <= set(wrong)
    assert found["failed"] == MISTAKES
    assert found["created"] == LINES - MISTAKES
    assert found["passwords"] == 0
    assert {row["result"] for row in found["rows"]} == {"would_create", "error"}
    assert (await carol.get(f"{USERS}?query=new1")).body["items"] == [], "no user was created"
    assert await audited(here, "users.import", "") == []


async def test_what_can_be_made_is_and_a_second_time_it_exists(
    here: Portal, carol: Browser
) -> None:
    users: list[dict[str, Any]] = [
        {"username": "csv-ada", "surname": "Ada", "groups": "scientists"},
        {"username": "csv-eve", "surname": ""},
        {"username": "p0001", "surname": "Known"},
        {"username": "csv-fay", "surname": "Fay", "uid": 20001},
        {"username": "csv-gus", "surname": "Gus", "uid": 58001},
    ]
    found = await import_(carol, table(*users))
    assert [shown(row) for row in found["rows"]] == [
        (2, "csv-ada", "created", []),
        (3, "csv-eve", "error", ["surname"]),
        (4, "p0001", "exists", [None]),
        (5, "csv-fay", "error", ["uid"]),
        (6, "csv-gus", "created", []),
    ]
    counts = {"created": 2, "exists": 1, "failed": 2}
    assert {name: found[name] for name in counts} == counts
    assert await audited(here, "users.import", "") == [{"actor": "carol", **counts}]
    assert "password" not in str(found["rows"])

    take = f"{USERS}/imports/{found['id']}/passwords"
    given = await carol.post(take)
    assert given.headers["Cache-Control"] == "no-store"
    passwords = {one["username"]: one["password"] for one in given.body["items"]}
    assert set(passwords) == {"csv-ada", "csv-gus"}
    again = await carol.post(take)
    assert (again.status, again.slug) == (410, "gone"), "kept nowhere"

    ada = (await carol.get(f"{USERS}/csv-ada")).body
    assert (ada["groups"], ada["must_change_password"]) == (["scientists"], True)
    assert (await carol.get(f"{USERS}/csv-gus")).body["uid"] == 58001
    same = await import_(carol, table(*users))
    assert [row["result"] for row in same["rows"]] == [
        "exists",
        "error",
        "exists",
        "error",
        "exists",
    ]


async def test_only_the_importing_admin_gets_the_passwords(run_here: Any, users_slapd: Any) -> None:
    async with (
        run_here(ldap_admin_groups=["portal-admins", "scientists"]) as portal,
        logged_in(portal, "carol") as carol,
        logged_in(portal, "alice") as alice,
    ):
        found = await import_(carol, table({"username": "csv-ida", "surname": "Ida"}))
        take = f"{USERS}/imports/{found['id']}/passwords"
        assert (await alice.post(take)).status == 404
        assert len((await carol.post(take)).body["items"]) == 1


async def test_a_file_that_is_none_is_refused_with_the_field(carol: Browser) -> None:
    answer = await carol.post(IMPORT, {"csv": "name\nada\n", "dry_run": True})
    assert set(fields(answer)) == {"csv"}
    assert (await carol.get(f"{USERS}/imports/unknown")).status == 404
