"""500 users who log in within a minute, each from an address of their own.

The requests arrive evenly, whether the earlier ones have been answered or not. The directory is a
real slapd, asked with StartTLS.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.figure import Figure, Result
from bench.load import Load, Target, send_spread
from bench.scale.directory_content import render_directory, username
from bench.scale.growth import latency_figures, summarize_loads
from bench.scale.site import Site, running_site
from tests.servers.slapd import PASSWORD

USERS, GROUPS, SECONDS = 500, 50, 60.0
NODES = 20
WARM = 5  # logins before the measurement: the first ones load modules


@dataclass(frozen=True)
class LoginLoad:
    """The logins of one run, and the portal's processor time for them and for its loops."""

    load: Load
    processor_s: float


async def measure(root: Path) -> Result:
    tenth, full = [await _measure_logins(root, count) for count in (USERS // 10, USERS)]
    what = f"{USERS} logins in {SECONDS:.0f} s"
    per_login = (full.processor_s - tenth.processor_s) / (USERS - USERS // 10)
    figures = (
        *latency_figures(what, full.load, tenth.load),
        Figure("the portal's processor time for one of them", per_login * 1000, "ms"),
    )
    processor_s = {"tenth": tenth.processor_s, "full": full.processor_s}
    loads = summarize_loads({"login": tenth.load}, {"login": full.load})
    return Result(figures, {"processor_s": processor_s, **loads})


async def _measure_logins(root: Path, count: int) -> LoginLoad:
    directory = render_directory(USERS + WARM, GROUPS)
    async with running_site(root, directory=directory, nodes=NODES) as site:
        await send_spread([login_target(site, USERS + number) for number in range(WARM)], 1.0)
        before = site.processor_s()
        load = await send_spread([login_target(site, number) for number in range(count)], SECONDS)
        return LoginLoad(load, site.processor_s() - before)


def login_target(site: Site, number: int) -> Target:
    """Return the login of one of the directory's users, from an address of their own."""
    headers = {"Origin": site.url, "X-Forwarded-For": f"198.18.{number // 250}.{number % 250 + 1}"}
    body = {"username": username(number), "password": PASSWORD}
    return Target.post(f"{site.url}/api/v1/login", body, headers)
