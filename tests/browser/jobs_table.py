"""The table of jobs, and the jobs of this run in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from playwright.sync_api import Locator, Page

from tests.browser.scenes import Api
from tests.live import Live

WHO = "bob"
NAME = f"table{uuid4().hex[:6]}"  # unique to this run's jobs
SMALL = {"cpus": 1, "memory_gb": 0.25, "gpus": 0, "time_limit_minutes": 5}
FAST = "#!/bin/bash\ntrue\n"


@contextmanager
def restored_jobs_table(portal: Live, page: Page) -> Iterator[Page]:
    """Yield WHO's page; afterwards, end his jobs and reset his preferences for the table."""
    try:
        yield page
    finally:
        Api(page.request, portal.base_url).ask(
            "PATCH", "/me/preferences", {"jobs_table": {"columns": None, "views": []}}
        )
        portal.exec_as(WHO, ["scancel", f"--user={WHO}"])


def submit(api: Api, name: str, script: str = FAST) -> str:
    body = {"script": script, "name": name, "resources": SMALL}
    return str(api.ask("POST", "/jobs", body)["id"])


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
