"""JupyterHub's proxy, which only stores routes.

nginx asks the portal's gate where each request goes (auth_request) instead.
"""

from __future__ import annotations

from typing import Any

from jupyterhub.proxy import Proxy


class PortalProxy(Proxy):  # type: ignore[misc]
    """Placeholder proxy that only stores routes, to satisfy the hub's check of them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.should_start = False
        self._routes: dict[str, dict[str, Any]] = {}

    async def add_route(self, routespec: str, target: str, data: Any) -> None:
        spec = self.validate_routespec(routespec)
        self._routes[spec] = {"routespec": spec, "target": target, "data": data}

    async def delete_route(self, routespec: str) -> None:
        self._routes.pop(self.validate_routespec(routespec), None)

    async def get_all_routes(self) -> dict[str, dict[str, Any]]:
        return dict(self._routes)
