"""An administrator's forms, when a request is refused or not answered (tests/browser/forms.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Page, expect

from tests.browser.forms import ODD, TOO_LONG, Button, Form, endure, endure_button
from tests.browser.scenes import Api
from tests.live import Live

WHO, OTHER = "carol", "alice"
GROUP = f"refused{token_hex(3)}"
NEWCOMER = f"newcomer{token_hex(3)}"
TITLE = f"refused-{token_hex(3)} {ODD}"
DIALOG = "[role=dialog]:has(form)"


@pytest.fixture
def page(logged_in: Callable[[str], Page]) -> Page:
    return logged_in(WHO)


@pytest.fixture
def unlimited(api: Api) -> Iterator[None]:
    """Remove the user's own limits, before and after."""

    def remove() -> None:
        for one in api.ask("GET", "/admin/limits")["items"]:
            if (one["scope"], one["name"]) == ("user", OTHER):
                api.ask("DELETE", f"/admin/limits/user/{OTHER}?version={one['version']}")

    remove()
    yield
    remove()


@pytest.mark.usefixtures("unlimited")
def test_limits(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}/admin/limits?user={OTHER}")
    gpus = "GPUs at once"
    form = Form(
        f"/api/v1/admin/limits/user/{OTHER}",
        "Save",
        {"Sessions at once": "3", gpus: "2"},
        ("gpus", gpus),
        ((gpus, "two"),),
        method="PUT",
    )
    refusing = endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(page.get_by_text("Saved. It takes effect immediately.")).to_be_visible()
    form.keeps(page)
    assert len(refusing.asked) == 1


@pytest.fixture
def no_group(api: Api) -> Iterator[None]:
    yield
    if any(one["name"] == GROUP for one in api.ask("GET", f"/admin/groups?q={GROUP}")["items"]):
        api.ask("DELETE", f"/admin/groups/{GROUP}")


@pytest.mark.usefixtures("no_group")
def test_a_group_and_its_members(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}/admin/groups")
    page.get_by_role("button", name="New group").click()
    purpose = "Description, optional"
    form = Form(
        "/api/v1/admin/groups",
        "Create group",
        {purpose: ODD, "Name": GROUP},
        ("name", "Name"),
        (("Name", ""),),
        inside=DIALOG,
    )
    endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(page.get_by_role("heading", name=GROUP, level=1)).to_be_visible()

    field = page.get_by_label("Add a user")
    field.fill(OTHER)
    member = page.get_by_role("option").filter(has_text=OTHER)
    button = Button(f"/members/{OTHER}", "PUT", member, before=(field,))
    endure_button(page, button)
    expect(field).to_have_value(OTHER)
    button.act()
    members = page.get_by_role("list", name=f"Members of {GROUP}")
    expect(members).to_contain_text(OTHER)
    expect(field).to_have_value("")


def test_imports(portal: Live, page: Page) -> None:
    """The import of users, as a dry run only, and that of an image that does not exist."""
    page.goto(f"{portal.base_url}/admin/new/users")
    lines = "The file's lines"
    form = Form(
        "/api/v1/admin/users/import",
        "Check it",
        {lines: f"username,surname\nx{token_hex(3)},{ODD}\n"},
        ("csv", lines),
        ((lines, ""),),
        at_field=True,
    )
    refusing = endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(page.get_by_role("heading", name="Preview of the import")).to_be_focused()
    assert len(refusing.asked) == 1

    page.goto(f"{portal.base_url}/admin/images")
    form = Form(
        "/api/v1/admin/catalog/images",
        "Import",
        {"Reference": "docker://127.0.0.1:1/nothing/there:1", "File": f"{GROUP}.sif"},
        ("reference", "Reference"),
        (("Reference", "no reference"), ("File", "../up.sif")),
    )
    endure(page, form, portal.users[WHO])


@pytest.fixture
def no_announcement(api: Api) -> Iterator[None]:
    yield
    for one in api.ask("GET", "/admin/announcements")["items"]:
        if one["title"] == TITLE:
            api.ask("DELETE", f"/admin/announcements/{one['id']}")


@pytest.mark.usefixtures("no_announcement")
def test_an_announcement(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}/admin/announcements")
    page.get_by_role("button", name="New announcement").click()
    typed = {"Text": f"{ODD}\nTwo lines.", "Title": TITLE}
    form = Form(
        "/api/v1/admin/announcements",
        "Announce",
        typed,
        ("title", "Title"),
        (("Title", ""), ("Text", TOO_LONG)),
        inside="[role=dialog]:has(textarea)",
    )
    endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(page.get_by_role("region", name="Announcements")).to_contain_text(TITLE)


@pytest.fixture
def no_newcomer(api: Api) -> Iterator[None]:
    yield
    if api.request.get(f"{api.base_url}/api/v1/admin/users/{NEWCOMER}").ok:
        goodbye = {"files": "keep", "jobs": "cancel", "confirm": NEWCOMER}
        api.ask("DELETE", f"/admin/users/{NEWCOMER}", goodbye)


@pytest.mark.usefixtures("no_newcomer")
def test_a_user(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}/admin/new/user")
    typed = {"Given name": ODD, "Surname": "O’Example", "User name": NEWCOMER}
    form = Form(
        "/api/v1/admin/users",
        "Create user",
        typed,
        ("username", "User name"),
        (("Surname", ""), ("Given name", TOO_LONG)),
    )
    endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(page.get_by_test_id("one-time-password")).to_be_visible()
