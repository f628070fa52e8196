"""The apps of a session: which it offers, and which run.

They run as the user, in the session's job, and end with its server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spawner.node.apps.app import RUNNER, AppState, StartedApp, socket_of
from spawner.node.apps.declared import (
    AppInput,
    AppRefusal,
    DeclaredApp,
    SessionAppsConfig,
    prepare_launch,
)
from spawner.node.apps.output import read_tail

MAX_RUNNING = 8
FULL = f"This session runs {MAX_RUNNING} apps. Stop one first."
UNKNOWN = "This session offers no such app. Start a new session to get all current apps."
RUNS_ALREADY = "It runs already. Stop it to start it with something else."


class SessionApps:
    """The apps by name; the last start of each is kept, for its log."""

    def __init__(
        self,
        config: SessionAppsConfig,
        folder: Path,
        environ: Mapping[str, str],
        runner: Sequence[str] = RUNNER,
    ) -> None:
        """`folder` is in the session's node directory; `environ` that of its terminals."""
        self._runner = runner
        self._config = config
        self._folder = folder
        self._environ = dict(environ)
        self._started: dict[str, StartedApp] = {}

    def find(self, name: str) -> StartedApp | None:
        """Return the app's last start."""
        return self._started.get(name)

    def are_used(self) -> bool:
        """Return whether the use of an app keeps the session from being idle."""
        return any(app.is_used() for app in self._started.values())

    def list_all(self) -> list[dict[str, Any]]:
        """Return all offered apps, for the portal."""
        return [self.describe(name) for name in self._config.declared]

    def describe(self, name: str) -> dict[str, Any]:
        """Return one app, for the portal. Raises AppRefusal."""
        declared, started = self._get_declared(name), self._started.get(name)
        shown: dict[str, Any] = {
            "name": name,
            "title": declared.title,
            "description": declared.description,
            "input": declared.input,
            "extensions": declared.extensions,
            "state": AppState.STOPPED,
        }
        if started is None:
            return shown
        return {
            **shown,
            "state": started.state,
            "problem": started.problem,
            "started_at": datetime.fromtimestamp(started.started_at, UTC).isoformat(),
            "file": started.given.file,
            "command": started.given.command,
            "port": started.given.port,
            "log": read_tail(started.log_path),
        }

    def start(self, name: str, given: AppInput, *, replace: bool = False) -> bool:
        """Start an app; return whether that was needed: not if it runs with the same input.

        One that runs with another input is refused, or stopped if `replace`. Raises AppRefusal.
        """
        declared, before = self._get_declared(name), self._started.get(name)
        given = given.with_absolute_file(self._environ.get("HOME", "/"))
        if before is not None and before.is_wanted:
            if before.given == given:
                return False
            if not replace:
                raise AppRefusal(409, RUNS_ALREADY)
        self._begin(declared, given)
        return True

    async def stop(self, name: str) -> bool:
        """Stop an app; return, once it has ended, whether that was needed. Raises AppRefusal."""
        self._get_declared(name)
        app = self._started.get(name)
        return app is not None and await app.stop()

    def restart(self, name: str) -> None:
        """Stop an app, if it runs, and start it with the same input. Raises AppRefusal."""
        declared, before = self._get_declared(name), self._started.get(name)
        if before is None:
            raise AppRefusal(409, "It wasn't started yet.")
        self._begin(declared, before.given)

    def _begin(self, declared: DeclaredApp, given: AppInput) -> None:
        """Start an app; its last start is stopped first, but only if the input is valid.

        Raises AppRefusal.
        """
        name, folder = declared.name, self._folder / declared.name
        others = (app for other, app in self._started.items() if other != name)
        if sum(app.is_alive for app in others) >= MAX_RUNNING:
            raise AppRefusal(409, FULL)
        launch = prepare_launch(
            self._config, declared, given, folder, socket_of(folder), self._environ
        )
        app = StartedApp(declared, given, launch, folder, self._config.base_of(name), self._runner)
        before = self._started.get(name)
        self._started[name] = app
        app.start(after=before)

    async def stop_all(self) -> None:
        """Stop all apps, when the session's server ends."""
        await asyncio.gather(*(app.stop() for app in self._started.values()))

    def _get_declared(self, name: str) -> DeclaredApp:
        try:
            return self._config.declared[name]
        except KeyError:
            raise AppRefusal(404, UNKNOWN) from None
