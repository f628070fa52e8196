"""Types of settings that several modules use, or that need validation of their own."""

import ipaddress
import re
import string
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

DRIVERS = {"sqlite+aiosqlite": "aiosqlite", "postgresql+psycopg": "psycopg"}
DATABASES = "sqlite+aiosqlite:////FILE or postgresql+psycopg://HOST/NAME"
HOME_PLACEHOLDERS = frozenset({"username", "uid", "gid", "home"})


def _check_absolute(value: Path) -> Path:
    if not value.is_absolute():
        raise ValueError("must be an absolute path")
    return value


def _check_home_command(value: list[str]) -> list[str]:
    """Validate arguments with placeholders such as `{username}`."""
    for argument in value:
        try:
            parsed = list(string.Formatter().parse(argument))
        except ValueError as error:
            raise ValueError(f"has unpaired braces: {argument[:200]}") from error
        for _, field, form, conversion in parsed:
            if field is not None and (field not in HOME_PLACEHOLDERS or form or conversion):
                known = ", ".join(f"{{{name}}}" for name in sorted(HOME_PLACEHOLDERS))
                raise ValueError(f"can only fill in {known}")
    return value


def _check_host_and_port(value: str) -> str:
    """Validate `host:port` in the form of nginx and URLs. The name is not resolved here."""
    parts = urlsplit(f"//{value}")
    try:
        has_address = parts.hostname and parts.port
    except ValueError:
        has_address = None
    if not has_address or parts.netloc != value or "@" in value:
        raise ValueError("must be host:port")
    return value


def _check_network(value: str) -> str:
    """Validate an address or a network, as for nginx's set_real_ip_from."""
    try:
        return str(ipaddress.ip_network(value))
    except ValueError as error:
        raise ValueError("must be an address or a network such as 10.0.0.0/24") from error


def _check_umask(value: str) -> str:
    """Validate three octal digits that leave the owner all permissions."""
    if not re.fullmatch(r"0?0[0-7]{2}", value):
        raise ValueError(
            "must be a umask such as 027: octal, without removing the owner's permissions"
        )
    return value


def sites_umask(login_defs: Path = Path("/etc/login.defs")) -> str:
    """Return the umask of this machine's logins; 022 if none is configured."""
    try:
        text = login_defs.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "022"
    matches = re.findall(r"^[ \t]*UMASK[ \t]+(0?0[0-7]{2})[ \t]*$", text, re.MULTILINE)
    return matches[-1] if matches else "022"


def _check_database_url(value: str) -> str:
    """Validate a URL of one of the two databases, with its driver.

    Messages never contain the password.
    """
    if not value:
        return value
    try:
        driver = make_url(value).drivername
    except (ArgumentError, ValueError) as error:
        raise ValueError(f"must be a URL, {DATABASES}") from error
    if driver not in DRIVERS:
        raise ValueError(f"must begin with {DATABASES}, not {driver[:50]}")
    if find_spec(DRIVERS[driver]) is None:
        raise ValueError(f"needs the Python package {DRIVERS[driver]}, which isn't installed")
    return value


AbsolutePath = Annotated[Path, AfterValidator(_check_absolute)]
HostAndPort = Annotated[str, AfterValidator(_check_host_and_port)]
DatabaseUrl = Annotated[str, AfterValidator(_check_database_url)]
Network = Annotated[str, AfterValidator(_check_network)]
Umask = Annotated[str, AfterValidator(_check_umask)]
HomeCommand = Annotated[list[str], AfterValidator(_check_home_command)]
