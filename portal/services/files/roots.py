"""Roots of a user's files (their home and the site's other places), and disk space."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from portal.config.files import FileRoot
from portal.config.settings import Settings
from portal.errors import FieldError, PortalError, invalid_input
from portal.services.files.notebook_process import NotebookParser
from portal.services.files.problems import explained
from spawner.errors import SpawnerError
from spawner.launcher import quota
from spawner.launcher.connection import Channel
from spawner.launcher.file_answers import Room
from spawner.launcher.file_names import from_text, to_text
from spawner.launcher.file_pool import FileAgents
from spawner.tasks import end_all

QUOTA_S = 5.0
QUOTA_KEPT_S = 60.0
MAX_PATH = 9000
NO_ROOT = "There is no such location."
NO_PATH = "This path can't be used."


@dataclass(frozen=True)
class FileLocation:
    """A path below a root, both as shown in the UI; `whole` is the root's absolute path."""

    root: str
    whole: str
    path: str

    @property
    def asked(self) -> dict[str, str]:
        """Return the parameters for the launcher."""
        return {"root": self.whole, "path": from_text(self.path)}

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.root


@dataclass(frozen=True)
class RootState:
    """A root with its disk space; `problem` is the reason if that is unknown."""

    root: FileRoot
    whole: str
    room: Room | None
    quota: quota.Quota | None
    problem: str | None


@dataclass
class FileAccess:
    """The file launchers, and state kept between requests, none of which matters after a
    restart.
    """

    settings: Settings
    pools: Mapping[str, FileAgents]
    """Pools by root: a file system that hangs does not block others. Uploads use the first root's
    pool.
    """
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    writing: set[tuple[str, str]] = field(default_factory=set)
    notebooks: NotebookParser = field(default_factory=NotebookParser)
    tidied: dict[str, float] = field(default_factory=dict)
    _quotas: dict[tuple[str, str], tuple[float, quota.Quota | None]] = field(default_factory=dict)

    @property
    def agents(self) -> FileAgents:
        return self.pool(self.settings.file_roots[0].name)

    def pool(self, root: str) -> FileAgents:
        return self.pools[root]

    async def close(self) -> None:
        """End background tasks and all launchers."""
        await end_all(self.tasks)
        await asyncio.gather(*(pool.close() for pool in self.pools.values()))

    async def place(self, username: str, root: str, path: str) -> FileLocation:
        """Return a place. Raises InvalidInput for an unknown root or an invalid path."""
        found = next((r for r in self.settings.file_roots if r.name == root), None)
        if found is None:
            raise invalid_input([FieldError("root", NO_ROOT)])
        checked(path)
        return FileLocation(root, await self.whole(username, found), path)

    async def whole(self, username: str, root: FileRoot) -> str:
        """Return a root's absolute path for a user."""
        with explaining():
            home = (await self.agents.info(username)).home
        path = root.path.replace("{username}", username)
        return home.rstrip("/") + path[1:] if path.startswith("~") else path

    async def locate(self, username: str, path: str) -> FileLocation:
        """Return the place of an absolute path, or of one that begins with ~; the innermost root is
        used. Raises InvalidInput if it is below no root.
        """
        with explaining():
            home = (await self.agents.info(username)).home
        checked(path)
        if path == "~" or path.startswith("~/"):
            path = home.rstrip("/") + path[1:]
        found = await self.below(username, path)
        if found is None:
            text = "This path is outside the available locations."
            raise invalid_input([FieldError("path", text)])
        return found

    async def below(self, username: str, path: str) -> FileLocation | None:
        """Return the place of an absolute path, None if it is below no root."""
        path = path.rstrip("/")
        best: FileLocation | None = None
        for root in self.settings.file_roots:
            whole = await self.whole(username, root)
            start = whole.rstrip("/")
            inside = path == start or path.startswith(f"{start}/")
            if inside and (best is None or len(whole) > len(best.whole)):
                best = FileLocation(root.name, whole, path[len(start) + 1 :])
        return best

    async def states(self, username: str) -> list[RootState]:
        roots = self.settings.file_roots
        return await asyncio.gather(*(self.state(username, root) for root in roots))

    async def state(self, username: str, root: FileRoot) -> RootState:
        whole = await self.whole(username, root)
        try:
            with explaining():
                room = await self.pool(root.name).room(username, whole)
        except PortalError as error:
            return RootState(root, whole, None, None, error.detail)
        return RootState(root, whole, room, await self._find_quota(username, root, room), None)

    async def _find_quota(self, username: str, root: FileRoot, room: Room) -> quota.Quota | None:
        command = self.settings.file_quota_command
        if not command:
            return quota.parse_text(room.quota_text) if room.quota_text else None
        key, now = (username, root.name), time.monotonic()
        asked_at, found = self._quotas.get(key, (-QUOTA_KEPT_S, None))
        if now - asked_at < QUOTA_KEPT_S:
            return found
        found = await quota.ask(filled(command, username, from_text(room.real_path)), QUOTA_S)
        self._quotas[key] = (time.monotonic(), found)
        return found

    @asynccontextmanager
    async def stream(self, username: str, root: str) -> AsyncIterator[Channel]:
        """Provide a launcher for one download."""
        with explaining():
            async with self.pool(root).stream(username) as channel:
                yield channel


def filled(command: Sequence[str], username: str, path: str) -> list[str]:
    """Fill the user and folder into the operator's command."""
    values = {"{username}": username, "{path}": path}
    return [values.get(part, part) for part in command]


def checked(path: str, field: str = "path") -> str:
    """Check a path's text and return it; all other checks are the launcher's. Raises
    InvalidInput.
    """
    try:
        name = from_text(path)
    except UnicodeEncodeError as error:
        raise invalid_input([FieldError(field, NO_PATH)]) from error
    if len(path) > MAX_PATH or "\0" in path or to_text(name) != path:
        raise invalid_input([FieldError(field, NO_PATH)])
    return path


@contextmanager
def explaining() -> Iterator[None]:
    """Convert the launcher's errors to errors of the request."""
    try:
        yield
    except SpawnerError as error:
        raise explained(error) from error
