"""A logged-in client's cookies, for requests that something else sends."""

from __future__ import annotations

from yarl import URL

from cluster.client import Client


def cookies(client: Client) -> dict[str, str]:
    """The Cookie header with which this browser would go to the front page."""
    jar = client.http.cookie_jar.filter_cookies(URL(client.base_url))
    return {"Cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in jar.items())}
