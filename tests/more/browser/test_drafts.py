"""Unsent form input is restored after a reload, another page, or another login of the same user.

Another user does not see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from secrets import token_hex

import pytest
from playwright.sync_api import BrowserContext, Dialog, Locator, Page, expect

from tests.browser import scenes
from tests.browser.forms import RESTORED
from tests.live import Live

WHO = "carol"
ODD = "<b>Zoë</b> 数据"
NOTES = "written before\n"


@dataclass(frozen=True)
class Form:
    """A form's address, the button that opens it, and its input by label."""

    name: str
    address: str
    typed: dict[str, str]
    opener: str | None = None

    def open(self, page: Page) -> Locator:
        """Open the form, and wait until it is there."""
        if self.opener is None:
            return page.locator("main")
        # A click is lost if the button moves under it while the page fills.
        page.get_by_role("button", name=self.opener, exact=True).press("Enter")
        return page.get_by_role("dialog")

    def fill(self, page: Page) -> None:
        whole = self.open(page)
        for label, value in self.typed.items():
            whole.get_by_label(label, exact=True).fill(value)
        expect(whole.get_by_text(RESTORED)).to_have_count(0)

    def is_as_left(self, page: Page) -> Locator:
        whole = self.open(page)
        for label, value in self.typed.items():
            expect(whole.get_by_label(label, exact=True)).to_have_value(value)
        expect(whole.get_by_text(RESTORED)).to_be_visible()
        return whole

    def is_new(self, page: Page) -> None:
        whole = self.open(page)
        for label, value in self.typed.items():
            expect(whole.get_by_label(label, exact=True)).not_to_have_value(value)
        expect(whole.get_by_text(RESTORED)).to_have_count(0)


ANNOUNCEMENT = Form(
    "announcement",
    "/admin/announcements",
    {"Title": ODD, "Text": f"{ODD}\nof two lines"},
    "New announcement…",
)
FORMS = (
    ANNOUNCEMENT,
    Form("user", "/admin/new/user", {"Given name": ODD, "Surname": "X", "User name": "x1"}),
    Form("edited-user", "/admin/users/alice", {"Display name": ODD}, "Edit…"),
    Form("users", "/admin/new/users", {"The file's lines": f"username\n{ODD}\n"}),
    Form("limits", "/admin/limits?user=alice", {"GPUs at once": "many"}),
    Form("group", "/admin/groups", {"Name": "x", "Description, optional": ODD}, "New group"),
    Form("image", "/admin/images", {"Reference": "docker://x/y:1", "File": "own.sif"}),
)


@pytest.fixture
def page(portal: Live, context: BrowserContext) -> Page:
    scenes.log_in(context, portal.base_url, WHO, portal.users[WHO])
    page = context.new_page()
    page.goto(portal.base_url)
    return page


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_waits_as_it_was_left(portal: Live, page: Page, form: Form) -> None:
    address = f"{portal.base_url}{form.address}"
    page.goto(address)
    form.fill(page)
    page.reload()
    form.is_as_left(page)
    page.goto(f"{portal.base_url}/glossary")
    page.go_back()
    whole = form.is_as_left(page)
    whole.get_by_role("button", name="Discard entries").click()
    question = page.get_by_role("dialog", name="Discard your entries?")
    question.get_by_role("button", name="Discard entries").click()
    expect(whole.get_by_text(RESTORED)).to_have_count(0)
    page.reload()
    form.is_new(page)


def test_a_form_waits_for_its_user_alone(
    portal: Live, page: Page, log_in: Callable[[Page, str], None]
) -> None:
    address = f"{portal.base_url}{ANNOUNCEMENT.address}"
    page.goto(address)
    ANNOUNCEMENT.fill(page)
    page.context.clear_cookies()
    log_in(page, WHO)
    page.goto(address)
    ANNOUNCEMENT.is_as_left(page)
    page.context.clear_cookies()
    log_in(page, "alice")
    page.wait_for_function("!JSON.stringify(sessionStorage).includes('Zoë')")


def test_cancelling_forgets_and_closing_does_not(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}{ANNOUNCEMENT.address}")
    ANNOUNCEMENT.fill(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    ANNOUNCEMENT.is_as_left(page).get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    ANNOUNCEMENT.is_new(page)


def test_no_password_is_kept(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}/account/password")
    secret = token_hex(8)
    for label in ("Current password", "New password", "New password again"):
        page.get_by_label(label, exact=True).fill(secret)
    for storage in ("sessionStorage", "localStorage"):
        assert secret not in page.evaluate(f"JSON.stringify({storage})")
    page.reload()
    expect(page.get_by_label("Current password")).to_have_value("")


@pytest.fixture
def notes(portal: Live) -> Iterator[str]:
    """The name of a file in her home directory."""
    name = f"notes-{token_hex(3)}.txt"
    portal.exec_as(WHO, ["/bin/sh", "-c", f"printf '%s' '{NOTES}' > {name}"])
    yield name
    portal.exec_as(WHO, ["/bin/rm", "-f", name])


def test_a_file_that_is_edited(portal: Live, page: Page, notes: str) -> None:
    """Leaving asks for confirmation, and the text is restored after a reload nevertheless."""
    asked: list[str] = []
    stay = True

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss() if stay and dialog.type == "confirm" else dialog.accept()

    page.on("dialog", answer)
    page.goto(f"{portal.base_url}/files?show={notes}")
    page.get_by_role("button", name="Edit", exact=True).click()
    text = page.get_by_label("Text", exact=True)
    expect(text).to_have_value(NOTES)
    text.fill(f"{NOTES}{ODD}")
    page.get_by_role("link", name="Home", exact=True).first.click()
    expect(text).to_have_value(f"{NOTES}{ODD}")
    page.reload()
    expect(text).to_have_value(f"{NOTES}{ODD}")
    expect(page.get_by_text(RESTORED)).to_be_visible()
    assert asked == ["confirm", "beforeunload"]

    portal.exec_as(WHO, ["/bin/sh", "-c", f"printf 'changed elsewhere' > {notes}"])
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("changed")
    expect(page.get_by_label("Yours")).to_have_value(f"{NOTES}{ODD}")
    page.get_by_role("button", name="Replace it with mine").click()
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_visible()
    assert portal.exec_as(WHO, ["/bin/cat", notes]) == f"{NOTES}{ODD}".strip()

    page.get_by_role("button", name="Edit", exact=True).click()
    text.fill("not wanted")
    stay = False
    page.get_by_role("link", name="Home", exact=True).first.click()
    page.get_by_role("heading", name="Your sessions").wait_for()
    page.go_back()
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(text).to_have_value(f"{NOTES}{ODD}")
    expect(page.get_by_text(RESTORED)).to_have_count(0)
