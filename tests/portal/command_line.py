"""The command line beside a running portal of the tests, with that portal's settings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from typer.testing import CliRunner

from portal.cli.context import unix_user
from portal.cli.main import app
from portal.config.settings import Settings

ME = f"cli:{unix_user()}"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Run = Callable[..., Awaitable[Done]]


def write_config(settings: Settings, file: Path) -> Path:
    """Write a running portal's settings to a file."""
    lines = []
    for name in sorted(settings.model_fields_set):
        value = getattr(settings, name)
        if value is not None:
            text = str(value) if isinstance(value, Path) else value
            lines.append(f"{name} = {json.dumps(text)}")
    file.write_text("\n".join(lines))
    return file


@contextmanager
def command_line(config: Path) -> Iterator[Run]:
    """Return `run`, for `await run("users", "list")`.

    It runs the command in a thread of this process, because starting a process takes longer than
    the command.
    """

    async def portal(*arguments: str) -> Done:
        env = {"PORTAL_CONFIG": str(config)}
        found = await asyncio.to_thread(CliRunner().invoke, app, arguments, env=env)
        return Done(found.exit_code, found.stdout, found.stderr)

    yield portal
    structlog.reset_defaults()  # a command disables the logging of its process
