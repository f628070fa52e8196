"""The HTTP methods that a path accepts, over all routes."""

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

# Paths of other services: a page served here would look like a working API.
NOT_PAGES = ("api/", "internal/", "node/", "hub/", "user/", "tensorboard/", "content/")
ANY_PATH = "/{path:path}"


def is_page(path: str) -> bool:
    """Return whether this path is one of the portal's pages."""
    return not f"{path.lstrip('/')}/".startswith(NOT_PAGES)


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods of all routes of this path; empty if there is none."""
    methods = {"GET", "HEAD"} if is_page(path) else set()
    for route in iter_route_contexts(app.routes):
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and route.path != ANY_PATH and pattern.match(path):
            methods |= route.methods or set()
    return sorted(methods)
