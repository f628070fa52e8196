"""Cookies of a logged-in client, for requests that another HTTP client sends."""

from __future__ import annotations

from yarl import URL

from cluster.client import Client


def cookies(client: Client) -> dict[str, str]:
    """Return the Cookie header that this browser would send to the front page."""
    jar = client.http.cookie_jar.filter_cookies(URL(client.base_url))
    return {"Cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in jar.items())}
