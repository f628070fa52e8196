"""Imports of images, and their results: rows, files, processes, events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from portal.models import AuditEvent
from tests.polling import until
from tests.portal.conftest import Browser, Portal

IMAGES = "/api/v1/admin/catalog/images"
IMPORTS = f"{IMAGES}/imports"
PATIENCE_S = 120
BALLAST_BYTES = 2_000_000
ENVIRONMENT = """
title: Small
language: python
version: "3.11"
runtime: apptainer
image: small.sif
"""


@asynccontextmanager
async def admin_of(portal: Portal, name: str = "carol") -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login(name)).status == 200
        yield browser


async def ask(browser: Browser, reference: str, file: str, **more: Any) -> Any:
    answer = await browser.post(IMAGES, {"reference": reference, "file": file, **more})
    assert answer.status == 202, answer
    return answer.body


async def find_import(browser: Browser, import_id: str) -> Any:
    """Return an import from the first page of the list, which has the newest ones."""
    imports = (await browser.get(IMPORTS)).body["items"]
    return next(one for one in imports if one["id"] == import_id)


async def wait_for_import(browser: Browser, import_id: str, *states: str) -> Any:
    """Return the import once it is in one of these states."""

    async def load() -> Any:
        row = await find_import(browser, import_id)
        assert row["state"] in {"queued", "running", *states}, row
        return row

    return await until(load, f"an import {states}", done=lambda row: row["state"] in states)


async def fetching(browser: Browser, import_id: str) -> Any:
    """Return the import once a part of it has been downloaded."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await wait_for_import(browser, import_id, "queued", "running")
            if found["bytes_done"]:
                return found
            await asyncio.sleep(0.05)


def processes_of(place: Path) -> list[str]:
    """Return the command lines that contain this folder's path."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(place).encode() in words:
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


def nothing_is_left(site: Portal, imported: Path) -> bool:
    """Return whether no partial file, no work folder and no process is left."""
    work = site.settings.state_dir / "imports"
    hidden = [path for path in imported.iterdir() if path.name.startswith(".")]
    folders = [path for path in work.iterdir() if path.is_dir()]
    return not hidden and not folders and not processes_of(imported)


async def audit_of(site: Portal) -> list[tuple[str, str, str]]:
    from sqlalchemy import select

    async with site.context.db.session() as db:
        rows = await db.scalars(select(AuditEvent).order_by(AuditEvent.id))
        found = [(row.action, row.actor, row.target) for row in rows]
    return [row for row in found if row[0].startswith("image.")]


async def availability(browser: Browser) -> bool:
    items = (await browser.get("/api/v1/environments")).body["items"]
    return bool(next(item for item in items if item["name"] == "small")["available"])
