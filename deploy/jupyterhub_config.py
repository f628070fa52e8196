"""JupyterHub's configuration: `jupyterhub -f deploy/jupyterhub_config.py`.

All values that differ between installations come from one TOML or JSON file, named by
PORTAL_HUB_CONFIG. It must contain

    public_url             the address in the browser, without a final slash
    hub_bind_url           where the hub listens, on loopback: http://127.0.0.1:8081
    node_url               the cluster-facing listener, by which nodes reach /hub/api and /node
    portal_url             the portal on loopback: http://127.0.0.1:8001
    hub_token_file         holds the portal's token for the hub's REST API
    internal_secret_file   holds the secret that the portal's /internal routes require
    cookie_secret_file     the hub's own; created with 0600 at the first start
    db_url                 sqlite:////… or a PostgreSQL URL; an SQLite file is created with 0600
    cookie_name            the portal's: portal_session, or __Host-portal with TLS

and may contain

    other_portal_urls      other portals, tried when connecting to portal_url fails
    notebook_url           as the portal's setting: the hub is then at the origin of notebooks
    content_url            the older name of the same

The hub needs no Slurm, no sudo and no proxy here, holds no queue, and lets users start nothing: the
portal does so, with its token. It does not cull idle servers, shares none, and sends no requests to
the internet.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from jupyterhub.log import log_request

from spawner.jupyterhub.authenticator import USERNAME, PortalAuthenticator
from spawner.jupyterhub.internal_client import adopt_request_id
from spawner.jupyterhub.proxy import PortalProxy
from spawner.jupyterhub.spawner import PortalSpawner

ENVIRONMENT_NAME = "PORTAL_HUB_CONFIG"
KEYS = (
    "public_url",
    "hub_bind_url",
    "node_url",
    "portal_url",
    "hub_token_file",
    "internal_secret_file",
    "cookie_secret_file",
    "db_url",
    "cookie_name",
)
MORE_KEYS = ("notebook_url", "content_url")
LISTS = ("other_portal_urls",)
SERVER_SCOPES = ["access:servers!user", "read:users!user", "users:activity!user"]


def load(path: str | None) -> dict[str, Any]:
    """Return the installation's values. Exits with a message if any is missing."""
    if not path:
        raise SystemExit(f"{ENVIRONMENT_NAME} must be the path of the hub's configuration file")
    try:
        text = Path(path).read_text(encoding="utf-8")
        values: dict[str, Any] = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} can't be read: {error}") from error
    missing = [key for key in KEYS if not isinstance(values.get(key), str) or not values[key]]
    if missing:
        raise SystemExit(f"{path} lacks {', '.join(missing)}")
    more = {key: values[key] for key in MORE_KEYS if key in values}
    if not all(isinstance(value, str) for value in more.values()):
        raise SystemExit(f"{path}: {', '.join(more)} must be strings")
    lists = {key: values[key] for key in LISTS if key in values}
    for key, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SystemExit(f"{path}: {key} must be a list of strings")
    return {**{key: values[key] for key in KEYS}, **more, **lists}


def secret(path: str) -> str:
    """Return the line in a secret's file. Exits if others may read it or it is too short."""
    try:
        mode = Path(path).stat().st_mode
        text = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SystemExit(f"{path} can't be read: {error}") from error
    if mode & 0o007:
        raise SystemExit(f"{path} is readable by all users; set its mode to 0600 or 0640")
    if len(text) < 32:
        raise SystemExit(f"{path} does not contain a secret of at least 32 characters")
    return text


def configure(c: Any, values: dict[str, Any]) -> None:
    """Set every option that matters; `c` is JupyterHub's configuration object."""
    public_url = values["public_url"].rstrip("/")
    internal = {
        "portal_urls": [
            url.rstrip("/") for url in (values["portal_url"], *values.get("other_portal_urls", ()))
        ],
        "internal_secret": secret(values["internal_secret_file"]),
    }
    notebook_url = (values.get("notebook_url") or values.get("content_url", "")).rstrip("/")
    # with a host for each user there is no single address, and only the scheme matters
    _configure_hub(
        c, values, public_url if "{user}" in notebook_url else notebook_url or public_url
    )
    _configure_roles(c, secret(values["hub_token_file"]))
    _configure_spawner(c, values["node_url"].rstrip("/"), internal)
    _configure_authenticator(c, public_url, values["cookie_name"], internal)
    if notebook_url:
        secure = notebook_url.startswith("https://")
        c.PortalAuthenticator.cookie_name = "__Host-portal-content" if secure else "portal_content"
        c.PortalAuthenticator.content_login_url = "/content/begin"


def _configure_hub(c: Any, values: dict[str, Any], public_url: str) -> None:
    c.JupyterHub.public_url = public_url + "/"
    c.JupyterHub.bind_url = public_url + "/"  # never bound: nginx listens there
    c.JupyterHub.hub_bind_url = values["hub_bind_url"]
    c.JupyterHub.hub_routespec = "/hub/"
    c.JupyterHub.proxy_class = PortalProxy
    c.JupyterHub.db_url = values["db_url"]
    c.JupyterHub.cookie_secret_file = values["cookie_secret_file"]
    c.JupyterHub.cleanup_servers = False
    c.JupyterHub.cleanup_proxy = False
    c.JupyterHub.last_activity_interval = 30
    c.JupyterHub.init_spawners_timeout = 2
    c.JupyterHub.redirect_to_server = False
    c.JupyterHub.default_url = "/"
    c.JupyterHub.allow_named_servers = True
    c.JupyterHub.concurrent_spawn_limit = 0  # the portal's limits apply; nothing queues here
    c.JupyterHub.authenticate_prometheus = True
    # POST and DELETE of a server return at once; the outcome is polled later
    at_once = {"slow_spawn_timeout": 0, "slow_stop_timeout": 0}
    c.JupyterHub.tornado_settings = {**at_once, "log_function": log_request_with_id}
    c.JupyterHub.logging_config = {
        "formatters": {"console": {"class": "spawner.jupyterhub.log.JsonLines"}}
    }


def log_request_with_id(handler: Any) -> None:
    """Log a request as the hub does, with its request id."""
    adopt_request_id(handler)
    log_request(handler)


def _configure_roles(c: Any, portal_token: str) -> None:
    """Define the portal's service, and a role with which users can access but not start servers.

    Servers can thus only be started by the portal. No role may share.
    """
    c.JupyterHub.services = [{"name": "portal", "api_token": portal_token}]
    c.JupyterHub.load_roles = [
        {
            "name": "portal",
            "services": ["portal"],
            "scopes": ["admin:users", "admin:servers", "tokens", "read:hub"],
        },
        {"name": "user", "scopes": SERVER_SCOPES},
    ]


def _configure_spawner(c: Any, node_url: str, internal: dict[str, Any]) -> None:
    c.JupyterHub.spawner_class = PortalSpawner
    c.PortalSpawner.portal_urls = internal["portal_urls"]
    c.PortalSpawner.internal_secret = internal["internal_secret"]
    c.Spawner.hub_connect_url = node_url
    c.Spawner.default_url = "/lab"
    # a browser whose login was revoked keeps access for up to this long, and REST works for this
    # long without the hub
    c.Spawner.args = ["--HubOAuth.cache_max_age=30"]
    c.Spawner.env_keep = []
    # the user's old files in ~/.jupyter must not break a start
    c.Spawner.disable_user_config = True
    c.Spawner.apply_user_options = lambda spawner, options: None
    c.Spawner.start_timeout = 180  # the portal may be restarting
    # After a restart the hub waits this long for each server that may be gone. The portal hands
    # over again, with its existing token, a server that was only unreachable.
    c.Spawner.http_timeout = 10
    c.Spawner.poll_interval = 30


def _configure_authenticator(
    c: Any, public_url: str, cookie_name: str, internal: dict[str, Any]
) -> None:
    c.JupyterHub.authenticator_class = PortalAuthenticator
    c.PortalAuthenticator.portal_urls = internal["portal_urls"]
    c.PortalAuthenticator.internal_secret = internal["internal_secret"]
    c.PortalAuthenticator.public_url = public_url
    c.PortalAuthenticator.cookie_name = cookie_name
    c.Authenticator.allow_all = True  # the portal decides which accounts are users
    c.Authenticator.auto_login = True
    c.Authenticator.auth_refresh_age = 1
    c.Authenticator.auth_refresh_strict = True
    c.Authenticator.username_pattern = f"^{USERNAME.pattern}$"


if "get_config" in globals():  # absent when a test imports this file
    os.umask(0o077)  # the database holds tokens
    configure(get_config(), load(os.environ.get(ENVIRONMENT_NAME)))  # type: ignore[name-defined]  # noqa: F821
