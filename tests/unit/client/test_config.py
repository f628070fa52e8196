"""The saved logins: the portal that is chosen, and a file that only its owner reads."""

import json
import stat
from pathlib import Path

import pytest

from client.config import (
    SavedLogin,
    SavedLogins,
    choose_portal,
    config_path,
    find_token,
    load_logins,
    normalize_url,
    save_logins,
)
from client.errors import NotLoggedIn, UsageProblem

ONE, OTHER = "https://one.example", "https://other.example:8443"
LOGIN = SavedLogin("dsp_secret", "alice", "2027-01-01T00:00:00Z", "dsp on laptop")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("portal.example", "https://portal.example"),
        (" https://Portal.example/ ", "https://portal.example"),
        ("https://portal.example:8443", "https://portal.example:8443"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_normalize_url_returns_the_origin(text: str, url: str) -> None:
    assert normalize_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "https://",
        "https://portal.example/jobs",
        "https://alice@portal.example",
        "https://portal.example?x",
        "ftp://portal.example",
        "https://portal.example:port",
        "file:///etc/passwd",
    ],
)
def test_normalize_url_refuses_other_addresses(text: str) -> None:
    with pytest.raises(UsageProblem, match="not the address of a portal"):
        normalize_url(text)


def test_normalize_url_refuses_to_send_tokens_unencrypted() -> None:
    with pytest.raises(UsageProblem, match="unencrypted"):
        normalize_url("http://portal.example")


def test_save_logins_writes_a_file_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "dsp" / "portals.json"
    logins = SavedLogins().with_login(ONE, LOGIN)
    save_logins(path, logins)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_logins(path) == logins
    save_logins(path, logins.without(ONE))
    assert load_logins(path) == SavedLogins()
    assert [file.name for file in path.parent.iterdir()] == ["portals.json"]


def test_load_logins_refuses_a_file_that_others_can_read(tmp_path: Path) -> None:
    path = tmp_path / "portals.json"
    save_logins(path, SavedLogins().with_login(ONE, LOGIN))
    path.chmod(0o640)
    with pytest.raises(UsageProblem, match="Other users of this computer"):
        load_logins(path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"portals": 1}', '{"portals": {"x": {}}}'])
def test_load_logins_of_a_damaged_file_names_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "portals.json"
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(UsageProblem, match=r"portals\.json can't be read"):
        load_logins(path)


def test_choose_portal_prefers_the_option_then_the_variable_then_the_last_login() -> None:
    logins = SavedLogins().with_login(ONE, LOGIN)
    variable = {"DSP_PORTAL": OTHER}
    assert choose_portal("third.example", logins, variable) == "https://third.example"
    assert choose_portal(None, logins, variable) == OTHER
    assert choose_portal(None, logins, {}) == ONE
    with pytest.raises(UsageProblem, match="No portal is known"):
        choose_portal(None, SavedLogins(), {})


def test_find_token_of_another_portal_is_never_used() -> None:
    logins = SavedLogins().with_login(ONE, LOGIN)
    assert find_token(ONE, logins, {}) == "dsp_secret"
    with pytest.raises(NotLoggedIn):
        find_token(OTHER, logins, {})


def test_find_token_reads_the_named_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text("dsp_other\n")
    named = {"DSP_TOKEN_FILE": str(path)}
    assert find_token(ONE, SavedLogins(), named) == "dsp_other"
    path.write_text("two words")
    with pytest.raises(UsageProblem, match="no token"):
        find_token(ONE, SavedLogins(), named)
    path.chmod(0o644)
    with pytest.raises(UsageProblem, match="Other users"):
        find_token(ONE, SavedLogins(), named)


def test_the_token_is_not_in_the_representation() -> None:
    assert "dsp_secret" not in repr(SavedLogins().with_login(ONE, LOGIN))
    assert "dsp_secret" in json.dumps(LOGIN.to_json())


def test_config_path_follows_the_desktop_convention(tmp_path: Path) -> None:
    path = config_path({"XDG_CONFIG_HOME": str(tmp_path)})
    assert path == tmp_path / "dsp" / "portals.json"
