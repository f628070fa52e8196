"""Types of settings that more than one file of them uses, or that want checking of their own."""

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
HOME_PLACES = frozenset({"username", "uid", "gid", "home"})


def _absolute(value: Path) -> Path:
    if not value.is_absolute():
        raise ValueError("must be an absolute path")
    return value


def _home_command(value: list[str]) -> list[str]:
    """Arguments in which `{username}` and the like are filled in, and nothing else."""
    for argument in value:
        try:
            parsed = list(string.Formatter().parse(argument))
        except ValueError as error:
            raise ValueError(f"must have its braces in pairs: {argument[:200]}") from error
        for _, place, form, conversion in parsed:
            if place is not None and (place not in HOME_PLACES or form or conversion):
                known = ", ".join(f"{{{name}}}" for name in sorted(HOME_PLACES))
                raise ValueError(f"can only fill in {known}")
    return value


def _host_and_port(value: str) -> str:
    """`host:port`, as nginx and URLs write it; what it names is looked up by whoever connects."""
    parts = urlsplit(f"//{value}")
    try:
        named = parts.hostname and parts.port
    except ValueError:
        named = None
    if not named or parts.netloc != value or "@" in value:
        raise ValueError("must be host:port")
    return value


def _database_url(value: str) -> str:
    """One of the two databases, with its driver. What is said never repeats the password."""
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


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
HostAndPort = Annotated[str, AfterValidator(_host_and_port)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
HomeCommand = Annotated[list[str], AfterValidator(_home_command)]
