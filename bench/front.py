"""Notebook HTTP through nginx on 16 connections, compared with the same requests sent directly.

The upstream is an nginx that answers at once, because a notebook server's own limit would dominate
the result. A real notebook server is measured last.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from bench.cluster_access import BenchCluster, query, wait_until
from bench.cookies import cookies
from bench.figure import Figure, Result, at_least, median
from bench.load import Load, Target, hammer
from bench.portal_stack import PortalStack, render_front, running_front, running_stack
from bench.rows import Scene
from bench.start import RESOURCES
from cluster.client import Client

CONNECTIONS, SECONDS, WARM_S, ROUNDS = 16, 2.0, 0.5, 3
CACHE = "            proxy_cache gate;\n"
GATE = """            auth_request /_gate;
            auth_request_set $target $upstream_http_x_target;
"""


async def measure(cluster: BenchCluster) -> Result:
    runs: dict[str, list[Load]] = {}
    async with running_stack(cluster, Scene(users=2, running=1), with_hub=True) as stack:
        wait_until(lambda: _is_serving(stack), "the session to be adopted", 60)
        path = "/user/user0000/r0/api"
        cookie = {"Cookie": f"portal_session={stack.logins.user_token}"}
        rendered = render_front(stack)
        for _ in range(ROUNDS):
            direct = f"http://127.0.0.1:{stack.upstream_port}{path}"
            runs.setdefault("direct", []).append(await _run(direct, {}))
            for name, replaced in _front_variants(stack).items():
                with running_front(stack, rendered, *replaced) as url:
                    runs.setdefault(name, []).append(await _run(url + path, cookie))
    rates = {name: median([run.rate for run in found]) for name, found in runs.items()}
    notebook = await _measure_notebook(cluster)
    return Result(tuple(_to_figures(rates, notebook)), {**rates, **notebook})


def _to_figures(rates: dict[str, float], notebook: dict[str, float]) -> list[Figure]:
    label = "requests/s through the front door, 16 connections"
    cached, unit = rates["gate, cached"], "/s"
    return [
        Figure(label, cached, unit, rates["direct"], "direct", at_least(9000)),
        Figure("the same", cached, unit, rates["nginx without a gate"], "nginx without a gate"),
        Figure("the same", cached, unit, rates["gate, not cached"], "the gate asked each time"),
        Figure(
            "requests/s of a real notebook server (/api) through the front door",
            notebook["notebook through"], unit, notebook["notebook direct"], "direct",
        ),
    ]  # fmt: skip


def _front_variants(stack: PortalStack) -> dict[str, list[tuple[str, str]]]:
    target = f'            set $target "127.0.0.1:{stack.upstream_port}";\n'
    return {
        "gate, cached": [],
        "gate, not cached": [(CACHE, "")],
        "nginx without a gate": [(GATE, target)],
    }


def _is_serving(stack: PortalStack) -> bool:
    rows = query(stack.database, "SELECT count(*) FROM jobs WHERE state = 'running'")
    return bool(rows[0][0])


async def _run(url: str, headers: dict[str, str]) -> Load:
    return await hammer(Target.get(url, headers), CONNECTIONS, SECONDS, warm_s=WARM_S)


async def _measure_notebook(cluster: BenchCluster) -> dict[str, float]:
    """Measure a real session's server with /api, its version, which needs no authentication."""
    async with Client(cluster.base_url) as client:
        await client.login("alice", cluster.users["alice"])
        started = await client.start_session(resources=RESOURCES)
        session = await client.wait_session(started["id"], "running")
        sql = "SELECT target_host, target_port FROM sessions WHERE id = ?"
        ((host, port),) = query(cluster.paths.portal_home / "portal.db", sql, session["id"])
        await client.open_lab(session)
        address = f"{session['url']}api"
        direct = await _run(f"http://{host}:{port}{urlsplit(address).path}", {})
        through = await _run(address, cookies(client))
        await client.stop_session(session["id"])
    return {"notebook direct": direct.rate, "notebook through": through.rate}
