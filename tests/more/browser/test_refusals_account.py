"""The forms of a user's account, when a request is refused or not answered
(tests/browser/forms.py)."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from portal.services.auth import totp
from tests.browser import scenes
from tests.browser.chromium import window
from tests.browser.forms import ODD, Form, endure
from tests.live import Live

ADMIN = "carol"
EVE = f"eve{token_hex(3)}"
DIALOG = "[role=dialog]:has(form)"


@pytest.fixture
def password(portal: Live, chromium: Browser, context: BrowserContext) -> Iterator[str]:
    """The password of eve, who is logged in, and is deleted after the test."""
    office = window(chromium)
    admin = scenes.log_in(office, portal.base_url, ADMIN, portal.users[ADMIN])
    body = {"username": EVE, "surname": "Example", "groups": [scenes.GROUP]}
    try:
        first = admin.ask("POST", "/admin/users", body)["password"]["password"]
        chosen = f"quite-{token_hex(6)}-long"
        eve = scenes.log_in(context, portal.base_url, EVE, first)
        change = {"current_password": first, "new_password": chosen}
        whole = eve.ask("POST", "/login/password", change)
        scenes.remember_login(context, portal.base_url, whole["login_id"])
        yield chosen
    finally:
        goodbye = {"files": "keep", "jobs": "cancel", "confirm": EVE}
        admin.ask("DELETE", f"/admin/users/{EVE}", goodbye)
        office.close()


def test_one_s_account(portal: Live, context: BrowserContext, password: str) -> None:
    """A token, another password, a second factor: each refused in every way, then completed."""
    page = context.new_page()
    page.goto(f"{portal.base_url}/account/tokens")
    a_token(page, password)
    page.goto(f"{portal.base_url}/account/password")
    a_password(page, password)
    page.goto(f"{portal.base_url}/account/second-factor")
    a_second_factor(page)


def a_token(page: Page, password: str) -> None:
    page.get_by_role("button", name="New token…").click()
    form = Form(
        "/api/v1/tokens",
        "Create token",
        {"Name": ODD},
        ("name", "Name"),
        (("Name", ""),),
        inside=DIALOG,
    )
    endure(page, form, password)
    form.send(page).click()
    again = page.get_by_role("dialog", name="Confirm your password")
    again.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("token")).to_be_visible()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("rowheader", name=ODD, exact=True)).to_be_visible()
    a_token_after_the_login_has_ended(page, password)


def a_token_after_the_login_has_ended(page: Page, password: str) -> None:
    """The login in place confirms the password for the token that waits for it."""
    page.get_by_role("button", name="New token…").click()
    form = page.locator(DIALOG)
    form.get_by_label("Name", exact=True).fill("second")
    page.context.clear_cookies()
    form.get_by_role("button", name="Create token", exact=True).click()
    login = page.get_by_role("dialog", name="Please log in again")
    login.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("token")).to_be_visible()
    page.get_by_role("button", name="Done").click()


def a_password(page: Page, password: str) -> None:
    fresh = f"another-{token_hex(6)}-long"
    typed = {"Current password": password, "New password": fresh, "New password again": fresh}
    wrong = (("Current password", ""), ("New password", password), ("New password again", "x"))
    form = Form(
        "/api/v1/me/password", "Change password", typed, ("new_password", "New password"), wrong
    )
    refusing = endure(page, form, password)
    form.send(page).click()
    expect(form.labelled(page, "Current password")).to_have_value("")
    assert len(refusing.asked) == 1


def a_second_factor(page: Page) -> None:
    """Set up with an app's code, and disabled with one of the recovery codes."""
    page.get_by_role("button", name="Set up…").click()
    secret = page.locator("[role=dialog] code").inner_text().replace(" ", "")
    code = "Verification code"
    form = Form(
        "/api/v1/second-factor/confirm",
        "Turn on",
        {code: "000000"},
        ("code", code),
        inside=DIALOG,
        at_field=True,
    )
    endure(page, form, None)
    form.labelled(page, code).fill(now_on_the_app(secret))
    form.send(page).click()
    codes = page.get_by_role("list", name="Recovery codes").get_by_role("listitem")
    spare = codes.first.inner_text()
    page.get_by_role("button", name="I've saved these codes").click()

    page.get_by_role("button", name="Turn off…").click()
    code = "Code from your app, or a recovery code"
    form = Form(
        "/api/v1/second-factor/turn-off",
        "Turn off",
        {code: spare},
        ("code", code),
        inside=DIALOG,
        at_field=True,
    )
    endure(page, form, None)
    form.send(page).click()
    expect(page.get_by_role("button", name="Set up…")).to_be_visible()


def now_on_the_app(secret: str) -> str:
    whole = secret.upper() + "=" * (-len(secret) % 8)
    return totp.compute_code(base64.b32decode(whole), totp.step_at(time.time()))
