"""A user's files through the pages: dropped, interrupted, resumed, previewed, deleted, restored.

All operations run as the user in a real home directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request, Route, expect

from tests.live import Live

LogIn = Callable[[Page, str], None]
CHUNK = 8 << 20
LARGE = 2 * CHUNK - 100
MARKUP = "<script>document.title = 'caught'</script><b>bold?</b>"
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
    "cells": [{"cell_type": "code", "source": "print(6 * 7)", "metadata": {}, "outputs": []}],
}
# an image of one gray pixel
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)
DROPPED = """(names) => {
  const data = new DataTransfer();
  for (const name of names) data.items.add(new File([name], name, { type: 'text/plain' }));
  return data;
}"""


@pytest.fixture
def folder() -> str:
    return f"browser-{secrets.token_hex(4)}"


@pytest.fixture
def page(portal: Live, context: BrowserContext, log_in: LogIn, folder: str) -> Iterator[Page]:
    """alice's page; her files are removed afterwards."""
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())  # confirms that leaving ends an upload
    log_in(page, "alice")
    yield page
    context.set_offline(False)
    uploads = f"{portal.base_url}/api/v1/files/uploads"
    for upload in page.request.get(uploads).json()["items"]:
        if upload["path"].startswith(f"{folder}/"):
            page.request.delete(f"{uploads}/{upload['id']}", headers={"Origin": portal.base_url})
    portal.exec_as("alice", ["rm", "-rf", folder])


def test_files(portal: Live, page: Page, folder: str, tmp_path: Path) -> None:
    make_folder(portal, page, folder)
    drop(page, folder)
    expect(page.get_by_text(re.compile(r"are used on this disk\.$"))).to_be_visible()
    lose_the_network(portal, page, folder, large_file(tmp_path, f"weights-{folder}.bin"))
    leave_and_come_back(portal, page, folder, large_file(tmp_path, f"data-{folder}.bin"))
    look_inside(page, tmp_path)
    download(page, tmp_path)
    rename_delete_undo(portal, page, folder)


# as high as banners that push the list out of sight
BANNER = """() => {
  const banner = document.createElement('div');
  banner.id = 'banner';
  banner.style.height = '3000px';
  document.querySelector('main').prepend(banner);
}"""


def test_rows_are_drawn_when_what_stood_above_them_goes(
    portal: Live, page: Page, folder: str
) -> None:
    portal.exec_as("alice", ["mkdir", folder])
    page.goto(f"{portal.base_url}/files")
    row = page.get_by_role("link", name=folder)
    expect(row).to_be_visible()
    page.evaluate(BANNER)
    page.evaluate("dispatchEvent(new Event('resize'))")
    expect(row).to_have_count(0)
    page.evaluate("document.getElementById('banner').remove()")
    expect(row).to_be_visible()


def large_file(place: Path, name: str) -> Path:
    path = place / name
    path.write_bytes(os.urandom(LARGE))
    return path


def make_folder(portal: Live, page: Page, folder: str) -> None:
    page.goto(f"{portal.base_url}/files")
    page.get_by_role("button", name="New folder").click()
    dialog = page.get_by_role("dialog", name="New folder")
    dialog.get_by_label("Name").fill("a/b")
    expect(dialog.get_by_text("A name can't contain “/”.")).to_be_visible()
    dialog.get_by_label("Name").fill(folder)
    dialog.get_by_role("button", name="Create").click()
    page.get_by_role("link", name=folder).click()
    expect(page.get_by_text("This folder is empty.")).to_be_visible()


def drop(page: Page, folder: str) -> None:
    """Drop two files onto the list; a name that exists requires a confirmation."""
    area = page.locator("[data-label]")
    data = page.evaluate_handle(DROPPED, ["notes.txt", "<i>odd & ünïcode.txt"])
    area.dispatch_event("dragover", {"dataTransfer": data})
    expect(area).to_have_attribute("data-over", "true")
    area.dispatch_event("drop", {"dataTransfer": data})
    grid = page.get_by_role("grid", name=folder)
    expect(grid.get_by_role("button", name="<i>odd & ünïcode.txt")).to_be_visible()
    expect(grid.get_by_role("button", name="notes.txt")).to_be_visible()
    again = page.evaluate_handle(DROPPED, ["notes.txt"])
    area.dispatch_event("drop", {"dataTransfer": again})
    page.get_by_role("button", name="Keep both as “notes (2).txt”: notes.txt").click()
    expect(grid.get_by_role("button", name="notes (2).txt")).to_be_visible()


def choose(page: Page, *paths: Path) -> None:
    page.get_by_label("Files to upload").set_input_files(list(paths))


def line(page: Page, region: str, name: str) -> Locator:
    section = page.get_by_role("region", name=region, exact=True)
    return section.get_by_role("listitem").filter(has=page.get_by_text(name, exact=True))


def offsets(page: Page) -> list[int]:
    """Record the offsets of chunks that are sent from now on."""
    seen: list[int] = []

    def note(request: Request) -> None:
        if request.method == "PUT" and (found := re.search(r"\?offset=(\d+)$", request.url)):
            seen.append(int(found[1]))

    page.on("request", note)
    return seen


def lose_the_network(portal: Live, page: Page, folder: str, file: Path) -> None:
    """Lose the network during the second chunk; the upload resumes by itself without starting
    again."""
    sent = offsets(page)

    def gone(route: Route) -> None:
        page.context.set_offline(True)
        route.continue_()

    page.route(f"**/uploads/*?offset={CHUNK}", gone, times=1)
    choose(page, file)
    lost = line(page, "Uploads", file.name)
    expect(lost).to_contain_text("continues automatically")
    page.context.set_offline(False)
    expect(lost).to_contain_text("done")
    assert sent[:2] == [0, CHUNK]
    assert sent.count(0) == 1
    assert arrived(portal, folder, file)


def arrived(portal: Live, folder: str, file: Path) -> bool:
    """Return whether the user's file equals the chosen one."""
    there = portal.exec_as("alice", ["sha256sum", f"{folder}/{file.name}"]).split()[0]
    return there == hashlib.sha256(file.read_bytes()).hexdigest()


def leave_and_come_back(portal: Live, page: Page, folder: str, file: Path) -> None:
    """Reload the page during the upload: choosing the same file again resumes it."""
    page.route(f"**/uploads/*?offset={CHUNK}", lambda _held: None, times=1)
    with page.expect_request(re.compile(rf"\?offset={CHUNK}$")):
        choose(page, file)
    expect(line(page, "Uploads", file.name)).to_contain_text("50 %")
    page.reload()
    unfinished = line(page, "Unfinished uploads", file.name)
    expect(unfinished).to_contain_text("8 MB of 16 MB uploaded.")
    expect(unfinished).to_contain_text(f"in Home, {folder}")
    field = page.get_by_label(f"The file {file.name}")
    other = file.with_name("other.bin")
    other.write_bytes(b"another one")
    field.set_input_files(other)
    expect(unfinished).to_contain_text("Choose the file whose upload was started.")
    sent = offsets(page)
    field.set_input_files(file)
    expect(line(page, "Uploads", file.name)).to_contain_text("done")
    expect(unfinished).to_have_count(0)
    assert sent[0] == CHUNK
    assert arrived(portal, folder, file)


def look_inside(page: Page, place: Path) -> None:
    """Text, a table, a notebook, an image; a file's content is never HTML of the portal."""
    (place / "page.html").write_text(MARKUP)
    (place / "table.csv").write_text("epoch,loss\n1,0.5\n2,<b>0.25</b>\n")
    (place / "run.ipynb").write_text(json.dumps(NOTEBOOK))
    (place / "dot.png").write_bytes(PNG)
    choose(page, *(place / name for name in ("page.html", "table.csv", "run.ipynb", "dot.png")))
    preview = page.get_by_role("region", name="Preview")
    open_file(page, "page.html")
    expect(preview.get_by_text(MARKUP)).to_be_visible()
    open_file(page, "table.csv")
    expect(preview.get_by_role("cell", name="<b>0.25</b>")).to_be_visible()
    open_file(page, "run.ipynb")
    expect(preview.get_by_text("print(6 * 7)")).to_be_visible()
    open_file(page, "dot.png")
    image = preview.get_by_role("img", name="dot.png")
    expect(image).to_have_js_property("naturalWidth", 1)
    assert page.title() != "caught"


def open_file(page: Page, name: str) -> None:
    page.get_by_role("grid").get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name)).to_be_focused()


def download(page: Page, place: Path) -> None:
    preview = page.get_by_role("region", name="Preview")
    with page.expect_download() as found:
        preview.get_by_role("link", name="Download").click()
    found.value.save_as(place / "came.png")
    assert (place / "came.png").read_bytes() == PNG
    page.keyboard.press("Escape")
    expect(preview).to_have_count(0)


def rename_delete_undo(portal: Live, page: Page, folder: str) -> None:
    grid = page.get_by_role("grid", name=folder)
    grid.get_by_role("checkbox", name="Select notes.txt").check()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("kept.txt")
    page.keyboard.press("Enter")
    kept = grid.get_by_role("button", name="kept.txt")
    expect(kept).to_be_visible()
    grid.get_by_role("checkbox", name="Select kept.txt").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Undo").click()
    expect(kept).to_be_visible()
    assert portal.exec_as("alice", ["cat", f"{folder}/kept.txt"]) == "notes.txt"
    grid.get_by_role("checkbox", name="Select kept.txt").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(kept).to_have_count(0)
    page.get_by_role("navigation", name="Places").get_by_role("link", name="Trash").click()
    page.get_by_role("button", name="Restore kept.txt").first.click()
    expect(page.get_by_role("button", name="Restore kept.txt")).to_have_count(0)
    assert portal.exec_as("alice", ["cat", f"{folder}/kept.txt"]) == "notes.txt"
