"""The behavior of forms when the portal refuses a request or does not answer.

The form shows a clear message in a visible place, keeps its content, sends one request for repeated
clicks, and works on a retry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from tests.browser.refused import LOGIN_ENDED, REFUSALS, Refusal, RefusingPortal, at_field

ODD = "<b>Zoë</b> 数据 & co."
TOO_LONG = "x" * 5000
RESTORED = "Your earlier entries are restored."
# internal messages of programs
GIBBERISH = re.compile("undefined|null|NaN|TypeError|Failed to fetch|Object]|<html|urn:portal")


@dataclass(frozen=True)
class Form:
    """A form as a user sees it.

    `field`: one that the portal may reject, and its label. `wrong`: by label, values that are
    rejected at the field before sending, or by the portal. `blocked`: the reason why there is
    nothing to send. `at_field`: the portal's message is shown at that field.
    """

    address: str
    button: str
    typed: Mapping[str, str]
    field: tuple[str, str] | None = None
    wrong: tuple[tuple[str, str], ...] = ()
    blocked: tuple[tuple[str, str], ...] = ()
    inside: str = "main"
    method: str = "POST"
    at_field: bool = False

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

    def error_message(self, page: Page, refusal: Refusal) -> Locator:
        if self.at_field or (refusal.field is not None and self.field is not None):
            return self.whole(page).get_by_text(refusal.text)
        return self.whole(page).get_by_role("alert").filter(has_text=refusal.text)


def wrong_at_once(page: Page, form: Form, refusing: RefusingPortal) -> None:
    """Check that the error is shown at the field, which gets the focus, and that all input is
    kept."""
    refusing.answer = None
    for label, value in form.wrong:
        form.labelled(page, label).fill(value)
        form.send(page).click()
        expect(form.labelled(page, label)).to_be_focused()
        form.fill(page)
    for label, value in form.blocked:
        form.labelled(page, label).fill(value)
        expect(form.send(page)).to_be_disabled()
        form.labelled(page, label).press("Enter")
        form.fill(page)


def refused(page: Page, form: Form, refusing: RefusingPortal, refusal: Refusal) -> None:
    """Check one refusal: the message is visible, the input unchanged, and the button enabled."""
    refusing.answer = refusal
    form.send(page).click()
    alert = form.error_message(page, refusal)
    expect(alert).to_be_in_viewport()
    expect(alert).not_to_contain_text(GIBBERISH)
    if refusal.field is not None and form.field is not None:
        expect(form.labelled(page, form.field[1])).to_be_focused()
    form.keeps(page)
    expect(form.send(page)).to_be_enabled()


def impatient(page: Page, form: Form, refusing: RefusingPortal) -> None:
    """Click twice, and press Enter twice, before the response: only one request is sent."""
    for act in (lambda: form.send(page).dblclick(), lambda: _enter_twice(page, form)):
        refusing.answer = REFUSALS[0]
        refusing.while_held(act)
        expect(form.error_message(page, REFUSALS[0])).to_be_visible()
        assert len(refusing.asked) == 1
        form.keeps(page)


def _enter_twice(page: Page, form: Form) -> None:
    """Press Enter twice in the last field if it has one line, else on the button."""
    where = form.send(page)
    if form.typed:
        last = form.labelled(page, [*form.typed][-1])
        where = last if last.evaluate("field => field.tagName === 'INPUT'") else where
    where.press("Enter")
    page.keyboard.press("Enter")


def login_ends(page: Page, form: Form, refusing: RefusingPortal, password: str) -> None:
    """Check that the password is requested in place and the request repeated, which is refused
    again."""
    refusing.answer = LOGIN_ENDED
    refusing.asked.clear()
    form.send(page).click()
    dialog = page.get_by_role("dialog", name=LOGIN_ENDED.text)
    dialog.get_by_label("Password", exact=True).fill(password)
    refusing.answer = REFUSALS[1]
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(form.error_message(page, REFUSALS[1])).to_be_in_viewport()
    assert [each.post_data for each in refusing.asked] == [refusing.asked[0].post_data] * 2
    form.keeps(page)


def endure(page: Page, form: Form, password: str | None) -> RefusingPortal:
    """Run all failures on a form, before it succeeds.

    `password`: that of the logged-in user, to continue after the login has ended.
    """
    refusing = RefusingPortal(page, form.address, form.method)
    form.fill(page)
    wrong_at_once(page, form, refusing)
    fields = () if form.field is None else (at_field(form.field[0]),)
    for refusal in (*REFUSALS, *fields):
        refused(page, form, refusing, refusal)
    impatient(page, form, refusing)
    if password is not None:
        login_ends(page, form, refusing, password)
    refusing.answer = None
    refusing.asked.clear()
    return refusing


@dataclass(frozen=True)
class Button:
    """An action without a form: its trigger, and the message at the foot of the page."""

    address: str
    method: str
    press: Locator
    before: tuple[Locator, ...] = ()

    def act(self) -> None:
        for step in (*self.before, self.press):
            step.click()


def endure_button(page: Page, button: Button) -> RefusingPortal:
    """Check that each refusal has a clear message that can be dismissed, and that a retry is
    possible."""
    refusing = RefusingPortal(page, button.address, button.method)
    for refusal in REFUSALS:
        refusing.answer = refusal
        button.act()
        alert = page.get_by_role("alert").filter(has_text=refusal.text)
        expect(alert).to_be_in_viewport()
        expect(alert).not_to_contain_text(GIBBERISH)
        alert.get_by_role("button").click()
        expect(alert).to_have_count(0)
    assert len(refusing.asked) == len(REFUSALS)
    refusing.answer = None
    refusing.asked.clear()
    return refusing
