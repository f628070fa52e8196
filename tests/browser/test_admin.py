"""A user's first and last day from an administrator's view: everything through the pages."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chromium import window
from tests.live import Live

LogIn = Callable[[Page, str], None]
GONE = re.compile("locked|disabled")
NEWS = "Maintenance on Monday"
PARTS = (
    "Database",
    "Directory",
    "Slurm",
    "Slurm's accounting",
    "JupyterHub",
    "Reverse proxy (nginx)",
)


@pytest.fixture
def newcomer(chromium: Browser) -> Iterator[Page]:
    """The browser of a new user."""
    context = window(chromium, viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def admin(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """carol's browser; the test's announcements are removed afterwards."""
    page = context.new_page()
    log_in(page, "carol")
    yield page
    api = f"{portal.base_url}/api/v1/admin/announcements"
    for item in page.request.get(api).json()["items"]:
        if item["title"] == NEWS:
            page.request.delete(f"{api}/{item['id']}", headers={"Origin": portal.base_url})


def test_a_first_and_a_last_day(portal: Live, admin: Page, newcomer: Page) -> None:
    username = f"eve{secrets.token_hex(3)}"
    first_password = join(portal, admin, username)
    password = choose_password(portal, newcomer, username, first_password)
    make_viewer(admin, newcomer)
    limit_to_one_gpu(portal, admin, newcomer)
    announce(portal, admin, newcomer)
    look_at_audit_and_status(portal, admin, username)
    leave(portal, admin, newcomer, username, password)


def join(portal: Live, admin: Page, username: str) -> str:
    """carol creates eve, and is shown her one-time password."""
    admin.goto(f"{portal.base_url}/admin/users")
    admin.get_by_role("link", name="New user").click()
    form = admin.get_by_role("form", name="New user")
    form.get_by_label("Given name").fill("Eve")
    form.get_by_label("Surname").fill("Example")
    form.get_by_label("User name").fill(username)
    expect(form.get_by_label("Login group")).to_have_value("portal-users")
    expect(form.get_by_label("Slurm account")).to_have_value("research")
    form.get_by_role("button", name="Create user").click()
    password = admin.get_by_test_id("one-time-password").inner_text()
    admin.get_by_role("link", name=f"Go to {username}").click()
    expect(admin.get_by_role("heading", name="Eve Example")).to_be_visible()
    lights = admin.get_by_role("region", name=f"Readiness of {username}")
    expect(lights.get_by_text("Yes", exact=True)).to_have_count(3)
    return password


def choose_password(portal: Live, newcomer: Page, username: str, first: str) -> str:
    """eve logs in with it, must choose another one, and gets access."""
    fill_login(portal, newcomer, username, first)
    expect(newcomer.get_by_role("heading", name="Choose a new password")).to_be_visible()
    password = f"quite-{secrets.token_hex(6)}-long"
    newcomer.get_by_label("New password", exact=True).fill(password)
    newcomer.get_by_label("New password again").fill(password)
    newcomer.get_by_role("button", name="Change password and log in").click()
    expect(newcomer.get_by_role("heading", name="Your sessions")).to_be_visible()
    return password


def fill_login(portal: Live, page: Page, username: str, password: str) -> None:
    page.goto(f"{portal.base_url}/login")
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")


def make_viewer(admin: Page, newcomer: Page) -> None:
    """The new view permissions apply at her next request; change permissions are not granted."""
    admin.get_by_label("Role given in the portal").select_option("viewer")
    expect(admin.locator("section", has_text="Role given in the portal")).to_contain_text("Viewer.")
    newcomer.goto(re.sub(r"(//[^/]+)/.*", r"\1/admin/users", newcomer.url))
    expect(newcomer.get_by_role("link", name=re.compile("^Alice")).first).to_be_visible()
    expect(newcomer.get_by_role("link", name="New user")).to_have_count(0)


def limit_to_one_gpu(portal: Live, admin: Page, newcomer: Page) -> None:
    """carol gives eve one GPU; eve sees that on her account page."""
    admin.get_by_role("navigation", name=re.compile("^More about")).get_by_role(
        "link", name="Limits", exact=True
    ).click()
    admin.get_by_label("GPUs at once", exact=True).fill("1")
    admin.get_by_role("button", name="Save", exact=True).click()
    expect(admin.get_by_text("Saved. It takes effect immediately.")).to_be_visible()
    newcomer.goto(f"{portal.base_url}/account/limits")
    expect(newcomer.get_by_text(re.compile(r"of 1( GPU)?$")).first).to_be_visible()


def announce(portal: Live, admin: Page, newcomer: Page) -> None:
    """carol's announcement appears on eve's open page without a reload."""
    admin.goto(f"{portal.base_url}/admin/announcements")
    admin.get_by_role("button", name="New announcement").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Title").fill(NEWS)
    dialog.get_by_label("Text").fill("<b>Jobs</b> wait until it is over.")
    dialog.get_by_role("button", name="Announce").click()
    banners = newcomer.get_by_role("region", name="Announcements")
    expect(banners).to_contain_text(NEWS)
    expect(banners).to_contain_text("<b>Jobs</b> wait")


def look_at_audit_and_status(portal: Live, admin: Page, username: str) -> None:
    """Everything is recorded with its previous value, and every service answers."""
    admin.goto(f"{portal.base_url}/admin/audit?target={username}")
    table = admin.get_by_role("table", name=re.compile("^Events"))
    for title in ("Created a user", "Granted a role", "Set a limit"):
        expect(table.get_by_role("row").filter(has_text=title).first).to_contain_text("carol")
    table.get_by_role("button", name=re.compile("^Set a limit")).first.click()
    expect(table.get_by_text("limit.set")).to_be_visible()
    admin.get_by_role("link", name="Status", exact=True).click()
    for part in PARTS:
        item = admin.get_by_role("listitem").filter(
            has=admin.get_by_role("heading", name=re.compile(f"^{re.escape(part)}( ldap.*)?$"))
        )
        expect(item.first).to_contain_text("Works")


def leave(portal: Live, admin: Page, newcomer: Page, username: str, password: str) -> None:
    """carol disables eve: her open page loses access, and a new login is refused."""
    admin.goto(f"{portal.base_url}/admin/users/{username}")
    admin.get_by_role("button", name="More actions").click()
    admin.get_by_role("menuitem", name="Disable…").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("moved away")
    dialog.get_by_role("button", name="Disable", exact=True).click()
    expect(admin.get_by_role("button", name="Enable…")).to_be_visible()
    again = newcomer.get_by_role("dialog", name="Please log in again")
    again.get_by_label("Password", exact=True).fill(password)
    newcomer.keyboard.press("Enter")
    expect(again.get_by_role("alert")).to_contain_text(GONE)
    again.get_by_role("button", name="Log in as another user").click()
    newcomer.wait_for_url(re.compile("/login"))
    fill_login(portal, newcomer, username, password)
    expect(newcomer.get_by_role("alert").first).to_contain_text(GONE)
