"""5,000 users and 500 groups in the directory: logins, the users' pages and the groups' pages."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bench.figure import Result
from bench.load import Load, send_spread
from bench.scale.directory_content import group_name, render_directory, username
from bench.scale.growth import call_figures, summarize_loads
from bench.scale.logins import WARM, login_target
from bench.scale.site import running_site

SECONDS = 5.0  # for each page
LOGINS, LOGINS_S = 50, 10.0


class DirectorySize(NamedTuple):
    users: int
    groups: int


FULL = DirectorySize(5_000, 500)
TENTH = DirectorySize(500, 50)


async def measure(root: Path) -> Result:
    tenth, full = [await _measure_pages(root, size) for size in (TENTH, FULL)]
    what = f"{FULL.users:,} users and {FULL.groups} groups in the directory"
    return Result(tuple(call_figures(what, full, tenth)), summarize_loads(tenth, full))


def _list_pages(size: DirectorySize) -> dict[str, str]:
    """Return the addresses of pages, those of single users and groups from the middle."""
    return {
        "the users' page": "/api/v1/admin/users",
        "a search in it": f"/api/v1/admin/users?query={username(size.users // 2)}",
        "a search that finds all": "/api/v1/admin/users?query=user",
        "a user's page": f"/api/v1/admin/users/{username(size.users // 2)}",
        "the groups' page": "/api/v1/admin/groups",
        "a group's page": f"/api/v1/admin/groups/{group_name(size.groups // 2)}",
    }


async def _measure_pages(root: Path, size: DirectorySize) -> dict[str, Load]:
    """Measure logins and the pages of an administrator of the directory's own."""
    async with running_site(root, directory=render_directory(*size), nodes=20) as site:
        every = size.users // (LOGINS + WARM)
        logins = [login_target(site, every * number) for number in range(LOGINS + WARM)]
        await send_spread(logins[:WARM], 1.0)
        loads = {"a login": await send_spread(logins[WARM:], LOGINS_S)}
        return loads | await site.measure_calls(_list_pages(size), SECONDS)
