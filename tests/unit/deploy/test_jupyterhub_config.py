"""The hub's configuration: complete or rejected, and without unintended access."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from traitlets.config import Config

from deploy.jupyterhub_config import KEYS, configure, load, secret
from portal.config.settings import Settings


def values(folder: Path) -> dict[str, str]:
    for name in ("token", "internal"):
        path = folder / name
        path.write_text(name[0] * 64 + "\n")
        path.chmod(0o600)
    return {
        "public_url": "https://portal.example/",
        "hub_bind_url": "http://127.0.0.1:8081",
        "node_url": "http://10.77.0.1:8002/",
        "portal_url": "http://127.0.0.1:8001",
        "hub_token_file": str(folder / "token"),
        "internal_secret_file": str(folder / "internal"),
        "cookie_secret_file": str(folder / "cookie"),
        "db_url": f"sqlite:///{folder}/hub.sqlite",
        "cookie_name": "__Host-portal",
    }


def written(folder: Path, text: str, name: str = "hub.toml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    given = values(tmp_path)
    toml = "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())
    assert load(written(tmp_path, toml)) == given
    assert load(written(tmp_path, json.dumps(given), "hub.json")) == given


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wrong", [None, "", 3])
def test_what_is_missing_is_named(tmp_path: Path, key: str, wrong: object) -> None:
    given = {**values(tmp_path), key: wrong}
    with pytest.raises(SystemExit, match=key):
        load(written(tmp_path, json.dumps(given), "hub.json"))


@pytest.mark.parametrize("text", ["{", "[1", "a = "])
def test_a_damaged_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(SystemExit, match="can't be read"):
        load(written(tmp_path, text))


def test_no_file() -> None:
    with pytest.raises(SystemExit, match="PORTAL_HUB_CONFIG"):
        load(None)
    with pytest.raises(SystemExit, match="can't be read"):
        load("/nonexistent/hub.toml")


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [("x" * 64, 0o644, "by all users"), ("x" * 8, 0o600, "32 characters"), ("", 0o600, "32")],
)
def test_secrets_that_are_none(tmp_path: Path, text: str, mode: int, words: str) -> None:
    path = tmp_path / "secret"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(SystemExit, match=words):
        secret(str(path))


def test_what_is_open_and_what_is_shut(tmp_path: Path) -> None:
    c = Config()
    configure(c, values(tmp_path))
    roles = {role["name"]: role["scopes"] for role in c.JupyterHub.load_roles}
    assert not [scope for scope in roles["user"] if "servers" in scope and "access" not in scope]
    assert not [scope for scopes in roles.values() for scope in scopes if "shar" in scope]
    assert [service["name"] for service in c.JupyterHub.services] == ["portal"]
    assert c.PortalAuthenticator.cookie_name == "__Host-portal"
    assert c.PortalAuthenticator.public_url == "https://portal.example"
    assert c.Spawner.hub_connect_url == "http://10.77.0.1:8002"
    assert c.JupyterHub.hub_bind_url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("content_url", "hub_url", "cookie"),
    [
        ("https://jupyter.example", "https://jupyter.example/", "__Host-portal-content"),
        ("https://{user}.jupyter.example", "https://portal.example/", "__Host-portal-content"),
        ("http://jupyter.example", "http://jupyter.example/", "portal_content"),
    ],
)
def test_at_the_hosts_of_content(
    tmp_path: Path, content_url: str, hub_url: str, cookie: str
) -> None:
    given = {**values(tmp_path), "content_url": content_url}
    assert load(written(tmp_path, json.dumps(given), "hub.json")) == given
    c = Config()
    configure(c, given)
    assert c.JupyterHub.public_url == hub_url
    assert c.PortalAuthenticator.cookie_name == cookie
    assert c.PortalAuthenticator.content_login_url == "/content/begin"
    assert c.PortalAuthenticator.public_url == "https://portal.example"


def test_the_hub_and_the_portal_call_the_cookie_the_same(tmp_path: Path) -> None:
    for scheme in ("http", "https"):
        c = Config()
        configure(c, {**values(tmp_path), "content_url": f"{scheme}://jupyter.example"})
        settings = Settings.model_construct(public_url=f"{scheme}://portal.example")
        assert c.PortalAuthenticator.cookie_name == settings.notebook_cookie


def test_several_portals(tmp_path: Path) -> None:
    more = ["http://127.0.0.1:8003/", "http://[::1]:8004"]
    toml = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values(tmp_path).items())
    given = load(written(tmp_path, f"{toml}other_portal_urls = {json.dumps(more)}\n"))
    c = Config()
    configure(c, given)
    all_of_them = ["http://127.0.0.1:8001", "http://127.0.0.1:8003", "http://[::1]:8004"]
    assert c.PortalSpawner.portal_urls == c.PortalAuthenticator.portal_urls == all_of_them
    configure(c, values(tmp_path))
    assert c.PortalSpawner.portal_urls == all_of_them[:1]


@pytest.mark.parametrize("wrong", ["http://127.0.0.1:8003", [3]])
def test_portals_that_are_no_list(tmp_path: Path, wrong: object) -> None:
    given = {**values(tmp_path), "other_portal_urls": wrong}
    with pytest.raises(SystemExit, match="other_portal_urls must be a list"):
        load(written(tmp_path, json.dumps(given), "hub.json"))


def test_a_content_url_that_is_none(tmp_path: Path) -> None:
    given = {**values(tmp_path), "content_url": 3}
    with pytest.raises(SystemExit, match="content_url"):
        load(written(tmp_path, json.dumps(given), "hub.json"))
