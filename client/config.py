"""Which portal the program talks to, and the tokens that it keeps.

Tokens are in one file of mode 0600 in the user's configuration folder. They are in no argument, no
environment variable and no log.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .errors import NotLoggedIn, UsageProblem

FOLDER = "dsp"
FILE = "portals.json"
PORTAL_VARIABLE = "DSP_PORTAL"
TOKEN_FILE_VARIABLE = "DSP_TOKEN_FILE"  # noqa: S105 - the name of a variable
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_TOKEN_BYTES = 1000


@dataclass(frozen=True)
class SavedLogin:
    """A login at one portal."""

    token: str = field(repr=False)
    username: str
    expires_at: str
    token_name: str

    def to_json(self) -> dict[str, str]:
        """Return the login as it is saved."""
        return {
            "token": self.token,
            "username": self.username,
            "expires_at": self.expires_at,
            "token_name": self.token_name,
        }


@dataclass(frozen=True)
class SavedLogins:
    """All logins by the portal's address; `default` is the portal of the last login."""

    default: str | None = None
    logins: Mapping[str, SavedLogin] = field(default_factory=dict)

    def with_login(self, url: str, login: SavedLogin) -> SavedLogins:
        """Return the logins with one more, at the new default portal."""
        return SavedLogins(url, {**self.logins, url: login})

    def without(self, url: str) -> SavedLogins:
        """Return the logins without the one at this portal."""
        rest = {other: login for other, login in self.logins.items() if other != url}
        default = self.default if self.default in rest else next(iter(rest), None)
        return SavedLogins(default, rest)


def normalize_url(text: str) -> str:
    """Return a portal's address as scheme and host, and port if it has one. Pure.

    Raises UsageProblem for anything else, and for one without TLS: a token would be readable on its
    way. Only this machine itself may be without TLS.
    """
    given = text.strip()
    parts = urlsplit(given if "://" in given else f"https://{given}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    is_plain = parts.path in {"", "/"} and not (parts.query or parts.fragment or parts.username)
    if host is None or parts.scheme not in {"https", "http"} or not is_plain:
        raise UsageProblem(
            f"This is not the address of a portal: {given!r}.",
            "Give it as https://portal.example, without a path.",
        )
    if parts.scheme == "http" and host not in LOOPBACK:
        raise UsageProblem(
            "The portal's address begins with http://. Your token would be sent unencrypted.",
            "Use https://.",
        )
    netloc = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{netloc}{f':{port}' if port else ''}"


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file of the saved logins."""
    if sys.platform == "win32":
        base = environment.get("APPDATA") or str(Path.home() / "AppData/Roaming")
    else:
        base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / FOLDER / FILE


def load_logins(path: Path) -> SavedLogins:
    """Return the saved logins; none if there is no file.

    Raises UsageProblem if other users can read the file, or if it is damaged.
    """
    try:
        with path.open("rb") as file:
            _refuse_readable_by_others(path, os.fstat(file.fileno()).st_mode)
            return _parse_logins(json.load(file))
    except FileNotFoundError:
        return SavedLogins()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageProblem(
            f"The saved logins in {path} can't be read.", "Delete the file, and log in again."
        ) from error


def save_logins(path: Path, logins: SavedLogins) -> None:
    """Replace the saved logins."""
    content = {
        "default": logins.default,
        "portals": {url: login.to_json() for url, login in logins.logins.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(path, json.dumps(content, indent=1))


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step. It is readable for its owner only at any time."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")  # of mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def choose_portal(
    option: str | None, logins: SavedLogins, environment: Mapping[str, str] = os.environ
) -> str:
    """Return the portal of the option, else of the variable, else of the last login.

    Raises UsageProblem if none is known.
    """
    chosen = option or environment.get(PORTAL_VARIABLE) or logins.default
    if chosen is None:
        raise UsageProblem(
            "No portal is known yet.",
            f"Name it with --portal https://portal.example, or in {PORTAL_VARIABLE}.",
        )
    return normalize_url(chosen)


def find_token(url: str, logins: SavedLogins, environment: Mapping[str, str] = os.environ) -> str:
    """Return the token for a portal: of the file that the variable names, else of the login.

    Raises NotLoggedIn if there is none, UsageProblem for a file that can't be used.
    """
    named = environment.get(TOKEN_FILE_VARIABLE)
    if named:
        return _read_token_file(Path(named))
    login = logins.logins.get(url)
    if login is None:
        raise NotLoggedIn(f"You are not logged in at {url}.", f"Run: dsp login --portal {url}")
    return login.token


def _read_token_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            _refuse_readable_by_others(path, os.fstat(file.fileno()).st_mode)
            token = file.read(MAX_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"The token in {path} ({TOKEN_FILE_VARIABLE}) can't be read.") from error
    if not token.isprintable() or not token or " " in token:
        raise UsageProblem(f"There is no token in {path} ({TOKEN_FILE_VARIABLE}).")
    return token


def _refuse_readable_by_others(path: Path, mode: int) -> None:
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise UsageProblem(
            f"Other users of this computer can read {path}, which contains a token.",
            f"Run: chmod 600 {path}. If the computer is shared, revoke the token on the page "
            "Your account, and log in again.",
        )


def _parse_logins(content: Any) -> SavedLogins:
    logins = {
        str(url): SavedLogin(
            str(login["token"]),
            str(login["username"]),
            str(login["expires_at"]),
            str(login["token_name"]),
        )
        for url, login in content["portals"].items()
    }
    default = content["default"]
    return SavedLogins(None if default is None else str(default), logins)
