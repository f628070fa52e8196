"""Two administrators edit the same user concurrently.

No input of either is lost, and nothing is reverted without a confirmation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Page, expect

from tests.browser.scenes import Api
from tests.live import Live


@pytest.fixture
def page(logged_in: Callable[[str], Page]) -> Page:
    return logged_in("carol")


@pytest.fixture
def user(api: Api) -> Iterator[str]:
    """A user for this test only."""
    name = f"edited{token_hex(3)}"
    api.ask("POST", "/admin/users", {"username": name, "given_name": "A", "surname": "B"})
    yield name
    goodbye = {"files": "keep", "jobs": "cancel", "confirm": name}
    api.ask("DELETE", f"/admin/users/{name}", goodbye)


def test_a_user_edited_by_two(portal: Live, page: Page, api: Api, user: str) -> None:
    path = f"/admin/users/{user}"
    page.goto(f"{portal.base_url}/admin/users/{user}")
    page.get_by_role("button", name="Edit…", exact=True).click()
    form = page.get_by_role("dialog")
    shown, given, surname = (
        form.get_by_label(label, exact=True) for label in ("Display name", "Given name", "Surname")
    )
    shown.fill("As typed")
    surname.fill("Typed too")
    version = api.ask("GET", path)["version"]
    theirs = {"given_name": "Theirs", "display_name": "As they say", "version": version}
    api.ask("PATCH", path, theirs)

    form.get_by_role("button", name="Save").click()
    alert = form.get_by_role("alert")
    expect(alert).to_contain_text("Updated with their values: Given name.")
    expect(alert).to_contain_text("You both changed: Display name.")
    for field, value in ((shown, "As typed"), (given, "Theirs"), (surname, "Typed too")):
        expect(field).to_have_value(value)

    form.get_by_role("button", name="Use this value").click()
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    now = api.ask("GET", path)
    assert (now["display_name"], now["given_name"], now["surname"]) == (
        *("As they say", "Theirs", "Typed too"),
    )
