"""Forms of a user's files, setups, sessions and jobs, when requests are refused or not answered.

See tests/browser/forms.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.forms import ODD, TOO_LONG, Button, Form, endure, endure_button
from tests.browser.scenes import SMALL, Api
from tests.live import Live

WHO = "bob"
NAME = f"refused-{token_hex(3)}"
DIALOG = "[role=dialog]:has(form)"
SCRIPT = f"#!/bin/bash\necho '{ODD}'\n"
START = "/start?environment=python3&partition=cpu&gpus=0"


@pytest.fixture
def page(logged_in: Callable[[str], Page]) -> Page:
    return logged_in(WHO)


@pytest.fixture
def folder(portal: Live) -> Iterator[str]:
    """A folder in his home directory, with a file and a folder in it."""
    make = f"mkdir -p {NAME}/inner && printf before > {NAME}/a.txt"
    portal.exec_as(WHO, ["/bin/sh", "-c", make])
    yield NAME
    portal.exec_as(WHO, ["/bin/rm", "-rf", NAME])


def test_files(portal: Live, page: Page, folder: str) -> None:
    page.goto(f"{portal.base_url}/files?path={folder}")
    a_new_folder(page, portal.users[WHO])
    another_name(page, portal.users[WHO])
    another_place(page, portal.users[WHO])
    assert portal.exec_as(WHO, ["/bin/cat", f"{folder}/inner/b.txt"]) == "before"
    page.goto(f"{portal.base_url}/files?path={folder}/inner&show=b.txt")
    another_text(page, portal.users[WHO])
    assert portal.exec_as(WHO, ["/bin/cat", f"{folder}/inner/b.txt"]) == ODD


def a_new_folder(page: Page, password: str) -> None:
    page.get_by_role("button", name="New folder").click()
    form = Form(
        "/api/v1/files/folders",
        "Create",
        {"Name": ODD.replace("/", "-")},
        blocked=(("Name", ""), ("Name", "a/b")),
        inside=DIALOG,
    )
    endure(page, form, password)
    form.send(page).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name=form.typed["Name"])).to_be_visible()


def another_name(page: Page, password: str) -> None:
    page.get_by_role("checkbox", name="Select a.txt").check()
    page.get_by_role("button", name="Rename").click()
    form = Form(
        "/api/v1/files/move",
        "Rename",
        {"New name": "b.txt"},
        blocked=(("New name", ""),),
        inside=DIALOG,
    )
    endure(page, form, password)
    form.send(page).click()
    expect(page.get_by_role("grid").get_by_role("button", name="b.txt")).to_be_visible()


def another_place(page: Page, password: str) -> None:
    """The chosen destination is kept."""
    page.get_by_role("checkbox", name="Select b.txt").check()
    page.get_by_role("button", name="Move", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="inner").click()
    form = Form("/api/v1/files/move", "Move here", {}, inside=DIALOG)
    endure(page, form, password)
    expect(dialog).to_contain_text(f"{NAME}/inner")
    form.send(page).click()
    expect(dialog).to_have_count(0)


def another_text(page: Page, password: str) -> None:
    def leave(dialog: Dialog) -> None:
        dialog.accept()

    page.on("dialog", leave)
    page.get_by_role("button", name="Edit", exact=True).click()
    form = Form("/api/v1/files/text", "Save", {"Text": ODD}, method="PUT")
    endure(page, form, password)
    form.send(page).click()
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_visible()


@pytest.fixture
def setups(api: Api) -> Iterator[None]:
    yield
    for one in api.ask("GET", "/setups")["items"]:
        if NAME in one["name"]:
            api.ask("DELETE", f"/setups/{one['id']}")


@pytest.mark.usefixtures("setups")
def test_a_setup(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}{START}")
    page.get_by_role("button", name="Save this setup").click()
    label = "Name of the setup"
    form = Form(
        "/api/v1/setups",
        "Save",
        {label: f"{NAME} {ODD}"},
        blocked=((label, " "),),
        inside=DIALOG,
    )
    endure(page, form, portal.users[WHO])
    form.send(page).click()
    yours = page.get_by_role("region", name="Your setups")
    expect(yours.get_by_text(f"{NAME} {ODD}")).to_be_visible()

    with page.expect_response("**/api/v1/setups") as listed:
        page.reload()
    setup = next(one for one in listed.value.json()["items"] if NAME in one["name"])
    page.get_by_role("button", name=f"Rename or delete {NAME} {ODD}").click()
    page.get_by_role("menuitem", name="Rename…").click()
    form = Form(
        f"/api/v1/setups/{setup['id']}",
        "Rename",
        {label: f"{NAME} again"},
        blocked=((label, ""),),
        inside=DIALOG,
        method="PATCH",
    )
    endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(yours.get_by_text(f"{NAME} again")).to_be_visible()


@pytest.fixture
def session(api: Api) -> Iterator[str]:
    """The id of a running session."""
    body = {"environment": "python3", "name": NAME, "resources": SMALL | {"memory_gb": 1}}
    id_ = str(api.ask("POST", "/sessions", body)["id"])
    yield id_
    api.ask("DELETE", f"/sessions/{id_}")


def test_more_time(portal: Live, page: Page, api: Api, session: str) -> None:
    api.until(f"/sessions/{session}", "running")
    page.goto(f"{portal.base_url}/sessions/{session}")
    more = page.get_by_role("main").get_by_role("button", name=f"More time for {NAME}")
    hour = page.get_by_role("menuitem", name="1 h more")
    button = Button(f"/api/v1/sessions/{session}/extend", "POST", hour, before=(more,))
    refusing = endure_button(page, button)
    before = api.ask("GET", f"/sessions/{session}")["expires_at"]
    with page.expect_response(f"**/sessions/{session}/extend") as answered:
        button.act()
    assert answered.value.json()["expires_at"] > before
    assert len(refusing.asked) == 1


@pytest.fixture
def no_jobs(portal: Live) -> Iterator[None]:
    """Cancel the user's jobs afterwards."""
    yield
    portal.exec_as(WHO, ["scancel", f"--user={WHO}"])


@pytest.mark.usefixtures("no_jobs")
def test_a_script_of_one_s_own(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}/jobs/new?own=true")
    page.locator(".cm-content").wait_for()
    name = "Name, optional"
    typed = {"Script": SCRIPT.strip(), "Memory (GB)": "1", name: f"{NAME} own"}
    wrong = (("Script", ""), (name, TOO_LONG))
    form = Form("/api/v1/jobs", "Submit job", typed, ("script", "Script"), wrong)
    endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(page.get_by_role("heading", name=f"{NAME} own", level=1)).to_be_visible()
    expect(page.get_by_role("region", name="stdout")).to_contain_text(ODD)


@pytest.fixture
def job(api: Api, no_jobs: None) -> str:
    body = {"template": "python-training", "name": NAME, "resources": SMALL}
    return str(api.ask("POST", "/jobs", body | {"parameters": {"epochs": 1}})["id"])


def test_sharing(portal: Live, page: Page, job: str) -> None:
    page.goto(f"{portal.base_url}/jobs/{job}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Share TensorBoard…").click()
    user = "User name"
    form = Form(
        f"/api/v1/jobs/{job}/shares/alice",
        "Share",
        {user: "alice"},
        ("username", user),
        ((user, ""),),
        inside=DIALOG,
        method="PUT",
        at_field=True,
    )
    refusing = endure(page, form, portal.users[WHO])
    form.send(page).click()
    expect(page.get_by_role("button", name="Stop sharing with alice")).to_be_visible()
    expect(form.labelled(page, user)).to_have_value("")
    assert len(refusing.asked) == 1
