"""JupyterLab's user interface: its launcher, the current notebook, the Kernel menu."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page

NOTEBOOK_CARD = ".jp-LauncherCard[data-category=Notebook]"


def open_launcher(lab: Page, url: str) -> None:
    """Open JupyterLab with its launcher only, without the earlier layout."""
    lab.goto(f"{url}lab?reset")
    lab.locator(NOTEBOOK_CARD).first.wait_for()


def kernels(lab: Page) -> list[str]:
    """Return the names of the notebook kernels in the launcher, in their order."""
    return [card.get_attribute("title") or "" for card in lab.locator(NOTEBOOK_CARD).all()]


def front(lab: Page) -> Locator:
    """Return the current notebook."""
    return lab.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")


def open_notebook(lab: Page, kernel: str) -> None:
    """Open a new notebook from the launcher, and wait until its kernel has started."""
    lab.locator(NOTEBOOK_CARD).filter(has=lab.get_by_text(kernel, exact=True)).click()
    front(lab).locator(".jp-CodeCell .cm-content").first.wait_for()
    idle(lab, kernel)


def idle(lab: Page, kernel: str) -> None:
    """Wait until the status bar shows the kernel as idle."""
    words = re.compile(rf"^{re.escape(kernel)} \| Idle$")
    lab.get_by_text(words).first.wait_for()


def add_cell(lab: Page) -> None:
    """Add an empty cell at the end of a notebook that has been opened with other cells."""
    front(lab).locator(".jp-CodeCell .jp-InputPrompt").last.click()
    lab.keyboard.press("b")


def run_cell(lab: Page, code: str) -> None:
    """Type into the last cell and run it."""
    cell = front(lab).locator(".jp-CodeCell").last
    cell.locator(".cm-content").click()
    lab.keyboard.insert_text(code)
    lab.keyboard.press("Shift+Enter")


def output(lab: Page, text: str | re.Pattern[str]) -> str:
    """Return the last output with this text, once it is there."""
    found = front(lab).locator(".jp-OutputArea-output", has_text=text).last
    found.wait_for()
    return found.inner_text()


def kernel_menu(lab: Page, item: str) -> None:
    """Choose an item of the Kernel menu."""
    lab.get_by_role("menuitem", name="Kernel", exact=True).click()
    lab.get_by_role("menuitem", name=re.compile(f"^{re.escape(item)}")).click()


def restart(lab: Page, kernel: str) -> None:
    kernel_menu(lab, "Restart Kernel…")
    lab.get_by_role("button", name="Confirm Kernel Restart").click()
    idle(lab, kernel)


def save_untitled(lab: Page) -> None:
    """Save the open notebook for the first time, under the name it has."""
    lab.get_by_role("menuitem", name="File", exact=True).click()
    lab.get_by_role("menuitem", name=re.compile(r"^Save Notebook(?! As)")).click()
    lab.get_by_role("button", name="Rename and Save").click()
