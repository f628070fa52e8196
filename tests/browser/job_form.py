"""The form that submits a job, and the files dropped on it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

IMPORTED = "browser-imported"
BATCH = f"""#!/bin/bash\r
#SBATCH --job-name={IMPORTED}\r
#SBATCH --time=0:07:00 -c 2\r
#SBATCH --exclusive\r
echo imported\r
#SBATCH --mem=1G\r
"""
DROPPED = """files => {
    const data = new DataTransfer();
    for (const [name, text] of files) data.items.add(new File([text], name));
    return data;
}"""


def open_jobs(page: Page) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs").click()
    page.get_by_role("heading", name="Your jobs").wait_for()


def submit_script(page: Page, script: str, name: str) -> None:
    """Submit a custom script, from the list of jobs to the job's page."""
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_text("Custom script", exact=True).click()
    page.get_by_label("Script", exact=True).fill(script)
    page.get_by_label("Name, optional").fill(name)
    page.get_by_role("button", name="Submit job").click()
    page.get_by_role("heading", name=name, level=1).wait_for()


def drop(page: Page, *files: list[str]) -> None:
    """Drop files, of name and text, on the page of a new job or session."""
    area = page.locator("[data-over]")
    area.dispatch_event("drop", {"dataTransfer": page.evaluate_handle(DROPPED, list(files))})


def check_imported(page: Page) -> None:
    """Check the form of the batch script: its fields, its text and what has no effect."""
    report = page.get_by_role("alert")
    expect(report).to_contain_text("Line 4: --exclusive – It is not supported here.")
    expect(report).to_contain_text("Line 6: #SBATCH --mem=1G – sbatch ignores it here")
    expect(page.get_by_label("Name, optional")).to_have_value(IMPORTED)
    expect(page.get_by_label("CPUs", exact=True)).to_have_value("2")
    script = page.get_by_label("Script", exact=True)
    expect(script).to_contain_text("##SBATCH --exclusive")
    expect(script).not_to_contain_text("--time")
