"""A user who cannot work yet: the page gives the reasons, and its buttons fix them.

Imports mark administrators.
"""

import re
import secrets
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.live import Live

NONE = ""


@pytest.fixture
def carol(logged_in: Callable[[str], Page]) -> Page:
    return logged_in("carol")


def create(portal: Live, page: Page, username: str) -> None:
    """Create a user without a login group and without a Slurm account."""
    page.goto(f"{portal.base_url}/admin/new/user")
    form = page.get_by_role("form", name="New user")
    form.get_by_label("Surname").fill("Example")
    form.get_by_label("User name").fill(username)
    expect(form.get_by_label("Home directory")).to_have_value(re.compile(f"/{username}$"))
    form.get_by_label("Login group").select_option(NONE)
    form.get_by_label("Slurm account").select_option(NONE)
    assert findings(page) == []
    form.get_by_role("button", name="Create user").click()
    page.get_by_role("link", name=f"Go to {username}").click()


def light(page: Page, question: str) -> Locator:
    box = page.get_by_role("region", name=re.compile("^Readiness of"))
    return box.locator("dl > div").filter(has_text=question)


def test_missing_group_and_account_are_fixed_by_their_buttons(portal: Live, carol: Page) -> None:
    page, username = carol, f"eva{secrets.token_hex(3)}"
    create(portal, page, username)
    login, session = light(page, "Can log in"), light(page, "Can start a session")
    expect(login).to_contain_text(
        "They are in none of the groups that are allowed to log in: portal-users."
    )
    expect(session).to_contain_text("They have no Slurm account.")
    expect(page.get_by_text("Can't log in", exact=True)).to_be_visible()
    assert findings(page) == []
    login.get_by_role("button", name="Add to portal-users").click()
    expect(login.get_by_text("Yes", exact=True)).to_be_visible()
    session.get_by_label("Slurm account").select_option("teaching")
    session.get_by_role("button", name="Add to Slurm account teaching").click()
    expect(session).to_contain_text("Slurm accounts: teaching.")
    expect(light(page, "Has a home directory").get_by_text("Yes", exact=True)).to_be_visible()


def test_limits_offer_the_accounts_and_say_what_empty_means(portal: Live, carol: Page) -> None:
    page = carol
    page.goto(f"{portal.base_url}/admin/limits?user=alice")
    field = page.get_by_label("Slurm accounts that may be used")
    empty = "If empty: the Slurm accounts that the user has; without any, nothing can be started."
    expect(page.get_by_text(empty)).to_be_visible()
    field.click()
    page.get_by_role("option", name="research").click()
    field.press_sequentially("te")
    page.get_by_role("option", name="teaching").click()
    expect(field).to_have_value("research, teaching, ")


def test_dry_run_shows_group_account_and_administrators(portal: Live, carol: Page) -> None:
    page, name = carol, f"csv{secrets.token_hex(3)}"
    page.goto(f"{portal.base_url}/admin/new/users")
    lines = f"username,surname,groups\n{name}a,Amy,\n{name}b,Ben,portal-admins\n{name}c,=C,x\n"
    page.get_by_label("The file's lines").fill(lines)
    page.get_by_role("button", name="Check it").click()
    table = page.get_by_role("table", name="Lines of the file")
    expect(table.get_by_role("row")).to_have_count(4)
    amy, ben, third = (table.get_by_role("row").filter(has_text=f"{name}{one}") for one in "abc")
    expect(amy).to_contain_text("portal-users")
    expect(amy).to_contain_text("research")
    expect(ben).to_contain_text("Administrator")
    expect(third).to_contain_text("There is no group x.")
    expect(third).to_contain_text("A name can't begin with =")
    assert findings(page) == []
