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
from portal.services.concurrency import RequestQueue, file_search_queue
from portal.services.files import quota
from portal.services.files.notebook_process import NotebookParser
from portal.services.files.problems import to_file_error
from spawner.errors import SpawnerError
from spawner.launcher.connection import Channel
from spawner.launcher.file_answers import DiskSpace
from spawner.launcher.file_names import from_text, to_text
from spawner.launcher.file_pool import FileProcessPool
from spawner.tasks import end_all

QUOTA_S = 5.0
QUOTA_KEPT_S = 60.0
MAX_PATH = 9000
NO_ROOT = "There is no such location."
NO_PATH = "This path can't be used."


@dataclass(frozen=True)
class FileLocation:
    """A path below a root, both as shown in the UI; `root_path` is the root's absolute path."""

    root: str
    root_path: str
    path: str

    @property
    def parameters(self) -> dict[str, str]:
        """Return the parameters for the launcher."""
        return {"root": self.root_path, "path": from_text(self.path)}

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.root


@dataclass(frozen=True)
class RootState:
    """A root with its disk space; `problem` is the reason if that is unknown."""

    root: FileRoot
    root_path: str
    disk_space: DiskSpace | None
    quota: quota.Quota | None
    problem: str | None


@dataclass
class FileAccess:
    """The files programs, and state kept between requests, none of which matters after a
    restart.
    """

    settings: Settings
    pools: Mapping[str, FileProcessPool]
    """Pools by root: a file system that hangs does not block others. Uploads use `first_pool`."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    writing: set[tuple[str, str]] = field(default_factory=set)
    notebooks: NotebookParser = field(default_factory=NotebookParser)
    searches: RequestQueue = field(default_factory=file_search_queue)
    tidied: dict[str, float] = field(default_factory=dict)
    _quotas: dict[tuple[str, str], tuple[float, quota.Quota | None]] = field(default_factory=dict)

    @property
    def first_pool(self) -> FileProcessPool:
        """The pool of the first root."""
        return self.pool(self.settings.file_roots[0].name)

    def pool(self, root: str) -> FileProcessPool:
        return self.pools[root]

    async def close(self) -> None:
        """End background tasks and all files programs."""
        await end_all(self.tasks)
        await asyncio.gather(*(pool.close() for pool in self.pools.values()))

    async def resolve(self, username: str, root: str, path: str) -> FileLocation:
        """Return a location. Raises InvalidInput for an unknown root or an invalid path."""
        match = next((r for r in self.settings.file_roots if r.name == root), None)
        if match is None:
            raise invalid_input([FieldError("root", NO_ROOT)])
        check_path(path)
        return FileLocation(root, await self.root_path_of(username, match), path)

    async def root_path_of(self, username: str, root: FileRoot) -> str:
        """Return a root's absolute path for a user."""
        with converting_errors():
            home = (await self.first_pool.info(username)).home
        path = root.path.replace("{username}", username)
        return home.rstrip("/") + path[1:] if path.startswith("~") else path

    async def locate(self, username: str, path: str) -> FileLocation:
        """Return the location of an absolute path, or of one that begins with ~: the innermost
        root. Raises InvalidInput if it is below no root.
        """
        with converting_errors():
            home = (await self.first_pool.info(username)).home
        check_path(path)
        if path == "~" or path.startswith("~/"):
            path = home.rstrip("/") + path[1:]
        location = await self.find_location(username, path)
        if location is None:
            text = "This path is outside the available locations."
            raise invalid_input([FieldError("path", text)])
        return location

    async def find_location(self, username: str, path: str) -> FileLocation | None:
        """Return the location of an absolute path, None if it is below no root."""
        path = path.rstrip("/")
        best: FileLocation | None = None
        for root in self.settings.file_roots:
            root_path = await self.root_path_of(username, root)
            start = root_path.rstrip("/")
            inside = path == start or path.startswith(f"{start}/")
            if inside and (best is None or len(root_path) > len(best.root_path)):
                best = FileLocation(root.name, root_path, path[len(start) + 1 :])
        return best

    async def list_states(self, username: str) -> list[RootState]:
        roots = self.settings.file_roots
        return await asyncio.gather(*(self.load_state(username, root) for root in roots))

    async def load_state(self, username: str, root: FileRoot) -> RootState:
        root_path = await self.root_path_of(username, root)
        try:
            with converting_errors():
                disk_space = await self.pool(root.name).find_disk_space(username, root_path)
        except PortalError as error:
            return RootState(root, root_path, None, None, error.detail)
        found = await self._find_quota(username, root, disk_space)
        return RootState(root, root_path, disk_space, found, None)

    async def _find_quota(
        self, username: str, root: FileRoot, disk_space: DiskSpace
    ) -> quota.Quota | None:
        command = self.settings.file_quota_command
        if not command:
            return quota.parse_text(disk_space.quota_text) if disk_space.quota_text else None
        key, now = (username, root.name), time.monotonic()
        asked_at, result = self._quotas.get(key, (-QUOTA_KEPT_S, None))
        if now - asked_at < QUOTA_KEPT_S:
            return result
        result = await quota.run_quota_command(
            fill_command(command, username, from_text(disk_space.real_path)), QUOTA_S
        )
        self._quotas[key] = (time.monotonic(), result)
        return result

    @asynccontextmanager
    async def stream(self, username: str, root: str) -> AsyncIterator[Channel]:
        """Provide a launcher for one download."""
        with converting_errors():
            async with self.pool(root).stream(username) as channel:
                yield channel


def fill_command(command: Sequence[str], username: str, path: str) -> list[str]:
    """Fill the user and folder into the operator's command."""
    values = {"{username}": username, "{path}": path}
    return [values.get(part, part) for part in command]


def check_path(path: str, field: str = "path") -> str:
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
def converting_errors() -> Iterator[None]:
    """Convert the launcher's errors to errors of the request."""
    try:
        yield
    except SpawnerError as error:
        raise to_file_error(error) from error
