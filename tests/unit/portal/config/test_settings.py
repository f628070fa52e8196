"""Settings: errors that prevent the start, documentation, and derived origins and cookies."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from portal.config.settings import Settings, SettingsError, load_settings, origin_of, read_secret
from portal.config.types import sites_umask
from tests.paths import CHECKOUT

DOCS = CHECKOUT / "docs" / "settings.md"
INSTALL = DOCS.with_name("install.md")
EXAMPLE = DOCS.parent / "examples" / "portal.toml"
SECRET = "s" * 40
NOTEBOOKS = "http://127.0.0.1:8001"


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({}, "notebook_url", "same_origin_content = true"),
        ({"notebook_url": NOTEBOOKS}, "tensorboard_url", "must be set too"),
        ({"tensorboard_url": NOTEBOOKS}, "notebook_url", "must be set too"),
        ({"content_url": NOTEBOOKS, "notebook_url": NOTEBOOKS}, "content_url", "old name"),
        ({"content_url": NOTEBOOKS, "same_origin_content": True}, "same_origin_content", "can't"),
    ],
)
def test_origins_of_user_content_are_chosen_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, Any], field: str, text: str
) -> None:
    """Without any of the settings it is refused, with the way to keep the addresses."""
    found = problems(monkeypatch, tmp_path, **{"same_origin_content": False, **given})
    assert text in found[field]


def test_the_former_setting_of_the_origin_is_accepted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content = load(monkeypatch, tmp_path, content_url=NOTEBOOKS).content
    assert content is not None
    assert not content.apart


def write_config(folder: Path, **changes: Any) -> Path:
    """Write a complete configuration as TOML; None omits a setting."""
    for name in ("hub", "internal"):
        file = folder / f"{name}.secret"
        file.touch(mode=0o600)
        file.write_text(SECRET)
    values: dict[str, Any] = {
        "public_url": "http://127.0.0.1:8000",
        "same_origin_content": not {"notebook_url", "content_url"} & changes.keys(),
        "node_url": "http://10.0.0.1:8002",
        "state_dir": str(folder),
        "hub_token_file": str(folder / "hub.secret"),
        "internal_secret_file": str(folder / "internal.secret"),
        "ldap_urls": ["ldap://ldap.test.example"],
        "ldap_user_base": "ou=people,dc=test",
        "runtime_dir": str(folder),
        "image_dir": str(folder),
        **changes,
    }
    file = folder / "portal.toml"
    lines = (f"{name} = {_toml(value)}" for name, value in values.items() if value is not None)
    file.write_text("\n".join(lines))
    return file


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def load(monkeypatch: pytest.MonkeyPatch, folder: Path, **changes: Any) -> Settings:
    monkeypatch.setenv("PORTAL_CONFIG", str(write_config(folder, **changes)))
    return load_settings()


def problems(monkeypatch: pytest.MonkeyPatch, folder: Path, **changes: Any) -> dict[str, str]:
    with pytest.raises(SettingsError) as caught:
        load(monkeypatch, folder, **changes)
    return dict(caught.value.problems)


def test_a_complete_file_loads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = load(monkeypatch, tmp_path)
    assert settings.database == f"sqlite+aiosqlite:///{tmp_path}/portal.db"
    assert settings.migrates_at_start
    assert settings.internal_secret == SECRET
    assert settings.ldap_bind_password is None


def test_a_variable_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PORTAL_LISTEN_PORT", "9999")
    monkeypatch.setenv("PORTAL_LDAP_URLS", '["ldaps://other.example"]')
    settings = load(monkeypatch, tmp_path, listen_port=1234)
    assert settings.listen_port == 9999
    assert settings.ldap_urls == ["ldaps://other.example"]


@pytest.mark.parametrize(
    "field",
    ["public_url", "node_url", "state_dir", "ldap_urls", "internal_secret_file", "runtime_dir"],
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str
) -> None:
    assert problems(monkeypatch, tmp_path, **{field: None})[field] == "is missing"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ldap_user_base": None}, "ldap_user_base"),
        ({"ldap_urls": []}, "ldap_urls"),
        ({"ldap_urls": ["http://ldap"]}, "ldap_urls"),
        ({"ldap_start_tls": False}, "ldap_start_tls"),
        ({"ldap_bind_dn": "cn=x"}, "ldap_bind_password_file"),
        ({"ldap_user_filter": "(uid=alice)"}, "ldap_user_filter"),
        ({"ldap_user_dn_template": "uid=alice,dc=test"}, "ldap_user_dn_template"),
        ({"ldap_group_filter": "(cn=all)"}, "ldap_group_filter"),
        ({"ldap_admin_groups": ["a"]}, "ldap_group_base"),
        ({"ldap_ca_file": "/nonexistent/ca.pem"}, "ldap_ca_file"),
        ({"public_url": "portal.example"}, "public_url"),
        ({"state_dir": "relative"}, "state_dir"),
        ({"listen_port": 0}, "listen_port"),
        ({"listen_prot": 8001}, "listen_prot"),
        ({"own_address": f"{'a' * 43}:8001"}, "own_address"),
        ({"login_attempts": -1}, "login_attempts"),
        ({"umask": "777"}, "umask"),
        ({"umask": "9"}, "umask"),
        ({"trusted_proxies": ["10.0.0.1/8"]}, "trusted_proxies.0"),
        ({"trusted_proxies": ["lb.example"]}, "trusted_proxies.0"),
        ({"slurm_timeout_s": 90}, "slurm_timeout_s"),
        ({"pip_index_url": "https://me:secret@pypi.example/simple"}, "pip_index_url"),
    ],
)
def test_what_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    assert field in problems(monkeypatch, tmp_path, **changes)


def test_a_file_that_is_not_toml_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "portal.toml"
    config.write_text("public_url = ")
    monkeypatch.setenv("PORTAL_CONFIG", str(config))
    with pytest.raises(SettingsError, match="PORTAL_CONFIG"):
        load_settings()


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PORTAL_CONFIG", str(tmp_path / "nowhere.toml"))
    with pytest.raises(SettingsError, match="nowhere"):
        load_settings()


class TestSecrets:
    def test_a_missing_file_stops_the_start(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        found = problems(monkeypatch, tmp_path, hub_token_file=str(tmp_path / "none"))
        assert "No such file" in found["hub_token_file"]

    @pytest.mark.parametrize("mode", [0o644, 0o604, 0o620])
    def test_a_file_open_to_others_is_refused(self, tmp_path: Path, mode: int) -> None:
        file = tmp_path / "secret"
        file.write_text(SECRET)
        file.chmod(mode)
        with pytest.raises(ValueError, match="chmod 0600"):
            read_secret(file)

    @pytest.mark.parametrize("mode", [0o600, 0o400, 0o640])
    def test_owner_and_group_may_read(self, tmp_path: Path, mode: int) -> None:
        file = tmp_path / "secret"
        file.write_text(f"{SECRET}\n")
        file.chmod(mode)
        assert read_secret(file) == SECRET

    def test_a_short_secret_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "secret"
        file.touch(mode=0o600)
        file.write_text("secret")
        with pytest.raises(ValueError, match="fewer than"):
            read_secret(file)

    def test_no_problem_repeats_a_value(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("PORTAL_CONFIG", str(write_config(tmp_path, listen_port="hunter2")))
        with pytest.raises(SettingsError) as caught:
            load_settings()
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://Portal.Example.org/", "https://portal.example.org"),
        ("https://portal.example.org:443/x", "https://portal.example.org"),
        ("http://portal.example.org:80", "http://portal.example.org"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_origins_are_written_as_browsers_do(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_the_cookie_follows_the_scheme(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = load(monkeypatch, tmp_path)
    assert (plain.cookie_name, plain.secure_cookies) == ("portal_session", False)
    tls = load(monkeypatch, tmp_path, public_url="https://portal.example.org")
    assert (tls.cookie_name, tls.secure_cookies) == ("__Host-portal", True)


def test_settings_do_not_change_while_the_portal_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = load(monkeypatch, tmp_path)
    with pytest.raises(ValidationError):
        settings.listen_port = 1  # type: ignore[misc]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("logo.gif", b"GIF89a"),
        ("logo.svg", PNG),
        ("logo.svg", b"<html>"),
        ("logo.png", SVG),
        ("logo.png", PNG + bytes(256 * 1024)),
        ("none.png", None),
    ],
)
def test_a_logo_is_a_small_png_or_svg(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, content: bytes | None
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    assert "site_logo_file" in problems(monkeypatch, tmp_path, site_logo_file=str(file))


def test_a_logo_has_the_media_type_of_its_content(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, content, media_type in (
        ("logo.svg", SVG, "image/svg+xml"),
        ("logo.PNG", PNG, "image/png"),
    ):
        (tmp_path / name).write_bytes(content)
        logo = load(monkeypatch, tmp_path, site_logo_file=str(tmp_path / name)).site_logo
        assert logo == (content, media_type)


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", DOCS.read_text(), re.MULTILINE))
    assert documented == set(Settings.model_fields)


def test_the_documented_defaults_are_the_defaults() -> None:
    """Rows whose default is a plain number, word or true/false in backticks."""
    rows = re.findall(r"^\| `(\w+)` \| `([\w./:-]+)` \|", DOCS.read_text(), re.MULTILINE)
    assert len(rows) > 15
    for name, documented in rows:
        default = Settings.model_fields[name].default
        value = str(default).lower() if isinstance(default, bool) else default
        same = float(documented) == value if isinstance(value, float) else documented == str(value)
        assert same, name


@pytest.mark.parametrize(
    ("text", "umask"),
    [
        ("UMASK\t\t027\n", "027"),
        ("# UMASK 077\nUMASK 022\n", "022"),
        ("UMASK 0077\n", "0077"),
        ("UMASK\tnonsense\n", "022"),
        ("", "022"),
    ],
)
def test_the_umask_is_the_machines(tmp_path: Path, text: str, umask: str) -> None:
    (tmp_path / "login.defs").write_text(text)
    assert sites_umask(tmp_path / "login.defs") == umask
    assert sites_umask(tmp_path / "none") == "022"


def test_the_example_of_the_manual_is_a_complete_configuration() -> None:
    settings = Settings(**tomllib.loads(EXAMPLE.read_text()))
    assert settings.content is not None
    assert settings.presets[0].resources.gpus == 1


def test_the_example_has_every_setting_that_the_installation_needs() -> None:
    """Step 5 of install.md marks settings as required or recommended; others have no default."""
    rows = re.findall(r"^\| (`.+?) \| (\w+) \|", INSTALL.read_text(), re.MULTILINE)
    named = {
        name
        for names, importance in rows
        if importance in {"required", "recommended"}
        for name in re.findall(r"`(\w+)`", names)
    }
    assert (
        {"public_url", "default_login_group", "home_command"}
        <= named
        <= Settings.model_fields.keys()
    )
    required = {name for name, field in Settings.model_fields.items() if field.is_required()}
    assert (named | required) - tomllib.loads(EXAMPLE.read_text()).keys() == set()


def test_the_example_has_active_directory_as_a_variant() -> None:
    text = EXAMPLE.read_text()
    variant = "\n".join(re.findall(r"^# (ldap_\w+ = .+)$", text, re.MULTILINE))
    settings = Settings(**tomllib.loads(text) | tomllib.loads(variant))
    assert settings.ldap_directory == "active-directory"
    assert settings.ldap_username_attribute == "sAMAccountName"
    assert settings.ldap_user_base is not None
    assert settings.ldap_user_base.endswith("DC=ad,DC=example,DC=org")
