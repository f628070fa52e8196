"""What each form does when the portal says no, or nothing: it says so in plain words where one
looks, keeps what was typed, asks once however often one clicks, and works when tried again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from secrets import token_hex

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.refused import LOGIN_ENDED, REFUSALS, Refusal, Stand, at_field
from tests.browser.scenes import Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
NAME = f"refused-{token_hex(3)}"
ODD = "<b>Zoë</b> 数据 & co."
SCRIPT = f"#!/bin/bash\necho '{ODD}'\n"
TOO_LONG = "x" * 5000
# what a program says to itself
GIBBERISH = re.compile("undefined|null|NaN|TypeError|Failed to fetch|Object]|<html|urn:portal")


@dataclass(frozen=True)
class Form:
    """A form as a person meets it. `field`: one that the portal may find wrong, and its label;
    `needed`: what mustn't be empty; `bounded`: what may be too long."""

    address: str
    button: str
    field: tuple[str, str]
    needed: str
    bounded: str
    typed: dict[str, str]
    inside: str = "main"

    def whole(self, page: Page) -> Locator:
        return page.locator(self.inside)

    def labelled(self, page: Page, label: str) -> Locator:
        return self.whole(page).get_by_label(label, exact=True)

    def fill(self, page: Page) -> None:
        for label, value in self.typed.items():
            self.labelled(page, label).fill(value)

    def keeps(self, page: Page) -> None:
        for label, value in self.typed.items():
            found = self.labelled(page, label)
            if found.get_attribute("contenteditable") is None:
                expect(found).to_have_value(value)
            else:
                expect(found).to_contain_text(value.splitlines()[-1])

    def send(self, page: Page) -> Locator:
        return self.whole(page).get_by_role("button", name=self.button, exact=True)


def wrong_at_once(page: Page, form: Form, stand: Stand) -> None:
    """Empty and too long: said at the field, to which the focus goes, and all is kept."""
    stand.answer = None
    empty, full = form.labelled(page, form.needed), form.labelled(page, form.bounded)
    empty.fill("")
    form.send(page).click()
    expect(empty).to_be_focused()
    assert stand.asked == []
    form.fill(page)
    full.fill(TOO_LONG)
    form.send(page).click()
    expect(full).to_be_focused()
    for field in (empty, full):
        field.fill(form.typed[form.needed if field is empty else form.bounded])


def refused(page: Page, form: Form, stand: Stand, refusal: Refusal) -> None:
    """Once: the words in sight, what was typed as it was, and the button ready for another try."""
    stand.answer = refusal
    form.send(page).click()
    if refusal.field is None:
        said = form.whole(page).get_by_role("alert").filter(has_text=refusal.said)
    else:
        said = form.whole(page).get_by_text(refusal.said)
        expect(form.labelled(page, form.field[1])).to_be_focused()
    expect(said).to_be_in_viewport()
    expect(said).not_to_contain_text(GIBBERISH)
    form.keeps(page)


def impatient(page: Page, form: Form, stand: Stand) -> None:
    """Clicks twice, and presses Enter twice, before there is an answer: asked for once."""
    last = form.labelled(page, [*form.typed][-1])
    for act in (lambda: form.send(page).dblclick(), lambda: _enter_twice(form.send(page), last)):
        stand.answer = REFUSALS[0]
        assert stand.while_held(act) == 1
        stand.release()
        expect(form.whole(page).get_by_role("alert").filter(has_text="no")).to_be_visible()
        assert len(stand.asked) == 1
        form.keeps(page)


def _enter_twice(button: Locator, last: Locator) -> None:
    """In a field of one line, else on the button."""
    where = last if last.evaluate("field => field.tagName === 'INPUT'") else button
    where.press("Enter")
    where.page.keyboard.press("Enter")


def login_ends(page: Page, form: Form, stand: Stand, password: str) -> None:
    """It is asked for in place, and the same request made once more: here to hear another no."""
    stand.answer = LOGIN_ENDED
    stand.asked.clear()
    form.send(page).click()
    dialog = page.get_by_role("dialog", name=LOGIN_ENDED.said)
    dialog.get_by_label("Password", exact=True).fill(password)
    stand.answer = REFUSALS[1]
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    said = form.whole(page).get_by_role("alert").filter(has_text=REFUSALS[1].said)
    expect(said).to_be_in_viewport()
    assert [each.post_data for each in stand.asked] == [stand.asked[0].post_data] * 2
    form.keeps(page)


def endure(page: Page, form: Form, password: str | None) -> Stand:
    """Everything that may happen to a form, before it succeeds. `password`: who is logged in has
    one, to go on when the login has ended."""
    stand = Stand(page, form.address)
    form.fill(page)
    wrong_at_once(page, form, stand)
    for refusal in (*REFUSALS, at_field(form.field[0])):
        refused(page, form, stand, refusal)
    impatient(page, form, stand)
    if password is not None:
        login_ends(page, form, stand, password)
    stand.answer = None
    return stand


@pytest.fixture
def alice(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """What she starts here ends with the test."""
    page = context.new_page()
    log_in(page, "alice")
    yield page
    api = Api(context.request, portal.base_url)
    for session in api.ask("GET", "/sessions?state=live")["items"]:
        if session["name"] == NAME:
            api.ask("DELETE", f"/sessions/{session['id']}")
    portal.exec_as("alice", ["scancel", "--user=alice"])


def test_starting_a_session(portal: Live, alice: Page) -> None:
    page = alice
    page.goto(f"{portal.base_url}/start?environment=python3&partition=cpu&gpus=0")
    name = "Name (optional)"
    typed = {"Memory (GB)": "1", "CPUs": "1", name: NAME}
    form = Form("/api/v1/sessions", "Start session", ("name", name), "CPUs", name, typed)
    endure(page, form, portal.users["alice"])
    form.send(page).click()
    expect(page.get_by_role("article").filter(has_text=NAME)).to_contain_text("Running")


def test_a_job_from_a_template(portal: Live, alice: Page) -> None:
    page = alice
    page.goto(f"{portal.base_url}/jobs/new?template=python-training")
    name = "Name, optional"
    typed = {"Epochs": "7", "Memory (GB)": "1", name: f"{NAME} {ODD}"}
    form = Form(
        "/api/v1/jobs", "Submit job", ("parameters.epochs", "Epochs"), "Epochs", name, typed
    )
    stand = endure(page, form, portal.users["alice"])
    stand.asked.clear()
    form.send(page).click()
    expect(page.get_by_role("heading", name=f"{NAME} {ODD}", level=1)).to_be_visible()
    assert len(stand.asked) == 1


def test_a_script_of_one_s_own(portal: Live, alice: Page) -> None:
    page = alice
    page.goto(f"{portal.base_url}/jobs/new?own=true")
    page.locator(".cm-content").wait_for()
    name = "Name, optional"
    typed = {"Script": SCRIPT.strip(), "Memory (GB)": "1", name: f"{NAME} own"}
    form = Form("/api/v1/jobs", "Submit job", ("script", "Script"), "Script", name, typed)
    endure(page, form, portal.users["alice"])
    form.send(page).click()
    expect(page.get_by_role("heading", name=f"{NAME} own", level=1)).to_be_visible()
    expect(page.get_by_role("region", name="Output")).to_contain_text(ODD)


def test_logging_in(portal: Live, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{portal.base_url}/login")
    typed = {"User name": "alice", "Password": portal.users["alice"]}
    form = Form(
        "/api/v1/login", "Log in", ("username", "User name"), "Password", "User name", typed
    )
    endure(page, form, None)
    form.send(page).click()
    expect(page.get_by_role("heading", name="Your sessions")).to_be_visible()


@pytest.fixture
def carol(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """An administrator; what she announces and whom she creates here goes with the test."""
    page = context.new_page()
    log_in(page, "carol")
    yield page
    api = Api(context.request, portal.base_url)
    for one in api.ask("GET", "/admin/announcements")["items"]:
        if NAME in one["title"]:
            api.ask("DELETE", f"/admin/announcements/{one['id']}")


def test_an_announcement(portal: Live, carol: Page) -> None:
    page = carol
    page.goto(f"{portal.base_url}/admin/announcements")
    page.get_by_role("button", name="New announcement").click()
    typed = {"Text": f"{ODD}\nTwo lines.", "Title": f"{NAME} {ODD}"}
    place = "[role=dialog]:has(textarea)"
    form = Form(
        "/api/v1/admin/announcements", "Announce", ("title", "Title"), "Title", "Text", typed, place
    )
    endure(page, form, portal.users["carol"])
    form.send(page).click()
    expect(page.get_by_role("region", name="Announcements")).to_contain_text(f"{NAME} {ODD}")


def test_a_person(portal: Live, carol: Page) -> None:
    page = carol
    page.goto(f"{portal.base_url}/admin/new/person")
    username = NAME.replace("-", "")
    typed = {"Given name": ODD, "Surname": "O’Example", "User name": username}
    form = Form(
        "/api/v1/admin/users",
        "Create person",
        ("username", "User name"),
        "Surname",
        "Given name",
        typed,
    )
    endure(page, form, portal.users["carol"])
    form.send(page).click()
    expect(page.get_by_test_id("one-time-password")).to_be_visible()
    api = Api(page.context.request, portal.base_url)
    goodbye = {"files": "keep", "jobs": "cancel", "confirm": username}
    api.ask("DELETE", f"/admin/users/{username}", goodbye)
