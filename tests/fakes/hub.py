"""A fake JupyterHub for deprovisioning: named behaviors behind its REST API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class PlayedHub:
    """Users with the names of their servers.

    `away`: responds with 503; `forgotten`: users whose deletion was requested.
    """

    users: dict[str, set[str]] = field(default_factory=dict)
    away: bool = False
    forgotten: list[str] = field(default_factory=list)
    url: str = ""

    async def version(self, _request: web.Request) -> web.Response:
        return web.json_response({"version": "6.1"})

    async def answer(self, request: web.Request) -> web.Response:
        if self.away:
            return web.json_response({"message": "later"}, status=503)
        name = request.match_info["name"]
        if name not in self.users:
            return web.json_response({"message": "no such user"}, status=404)
        rest = request.match_info["rest"]
        if rest == "/tokens":
            return web.json_response({"api_tokens": []})
        if request.method == "GET":
            return web.json_response({"name": name, "servers": {s: {} for s in self.users[name]}})
        if rest.startswith("/servers/"):
            self.users[name].discard(rest.removeprefix("/servers/"))
        elif self.users[name]:
            return web.json_response({"message": "a server runs"}, status=500)
        else:
            del self.users[name]
            self.forgotten.append(name)
        return web.Response(status=204)


@asynccontextmanager
async def played_hub() -> AsyncIterator[PlayedHub]:
    """Run a hub without users."""
    hub = PlayedHub()
    app = web.Application()
    app.router.add_route("*", "/hub/api/users/{name}{rest:.*}", hub.answer)
    app.router.add_get("/hub/api/", hub.version)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    hub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield hub
    finally:
        await runner.cleanup()
