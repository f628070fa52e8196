"""Where somebody's files begin: their home and the site's other places, and the room there is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from portal.errors import FieldError, PortalError, invalid_input
from portal.services.files.problems import explained
from portal.settings import Settings
from portal.settings_files import FileRoot
from spawner import quota
from spawner.channel import Channel
from spawner.errors import SpawnerError
from spawner.file_agents import FileAgents
from spawner.filedata import Room
from spawner.filenames import meant, shown
from spawner.tasks import end_all

QUOTA_S = 5.0
QUOTA_KEPT_S = 60.0
MAX_PATH = 9000
NO_ROOT = "There is no such place here."
NO_PATH = "This path can't be used."


@dataclass(frozen=True)
class Place:
    """A path below a root, as people's pages write both; `whole` is the root's own path."""

    root: str
    whole: str
    path: str

    @property
    def asked(self) -> dict[str, str]:
        """As the launcher is asked for it."""
        return {"root": self.whole, "path": meant(self.path)}

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.root


@dataclass(frozen=True)
class RootState:
    """A root with what can be said of its disk; `problem` says why there is nothing."""

    root: FileRoot
    whole: str
    room: Room | None
    quota: quota.Quota | None
    problem: str | None


@dataclass
class Files:
    """The launchers that work on files, and what is remembered between requests: nothing that
    would be missed after a restart."""

    settings: Settings
    pools: Mapping[str, FileAgents]
    """By root: one whose file system hangs holds up no other. Uploads have the first root's."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    writing: set[tuple[str, str]] = field(default_factory=set)
    tidied: dict[str, float] = field(default_factory=dict)
    _quotas: dict[tuple[str, str], tuple[float, quota.Quota | None]] = field(default_factory=dict)

    @property
    def agents(self) -> FileAgents:
        return self.pool(self.settings.file_roots[0].name)

    def pool(self, root: str) -> FileAgents:
        return self.pools[root]

    async def close(self) -> None:
        """End what nobody waits for, and every launcher."""
        await end_all(self.tasks)
        await asyncio.gather(*(pool.close() for pool in self.pools.values()))

    async def run(self) -> None:
        """Close launchers that have nothing to do, until cancelled."""
        await asyncio.gather(*(pool.run() for pool in self.pools.values()))

    async def place(self, username: str, root: str, path: str) -> Place:
        """Raises InvalidInput for a root that isn't there or a path that can't be one."""
        found = next((r for r in self.settings.file_roots if r.name == root), None)
        if found is None:
            raise invalid_input([FieldError("root", NO_ROOT)])
        checked(path)
        return Place(root, await self.whole(username, found), path)

    async def whole(self, username: str, root: FileRoot) -> str:
        """A root's whole path for somebody."""
        with explaining():
            home = (await self.agents.info(username)).home
        path = root.path.replace("{username}", username)
        return home.rstrip("/") + path[1:] if path.startswith("~") else path

    async def locate(self, username: str, path: str) -> Place:
        """The place that a whole path (or one that begins with ~) is; the nearest root counts.
        Raises InvalidInput if it is below none."""
        with explaining():
            home = (await self.agents.info(username)).home
        checked(path)
        if path == "~" or path.startswith("~/"):
            path = home.rstrip("/") + path[1:]
        found = await self.below(username, path)
        if found is None:
            text = "This lies in none of the places that are shown here."
            raise invalid_input([FieldError("path", text)])
        return found

    async def below(self, username: str, path: str) -> Place | None:
        """The place of a whole path, if a root is above it."""
        path = path.rstrip("/")
        best: Place | None = None
        for root in self.settings.file_roots:
            whole = await self.whole(username, root)
            start = whole.rstrip("/")
            inside = path == start or path.startswith(f"{start}/")
            if inside and (best is None or len(whole) > len(best.whole)):
                best = Place(root.name, whole, path[len(start) + 1 :])
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
        return RootState(root, whole, room, await self._quota(username, root, room), None)

    async def _quota(self, username: str, root: FileRoot, room: Room) -> quota.Quota | None:
        command = self.settings.file_quota_command
        if not command:
            return quota.parse_text(room.quota_text) if room.quota_text else None
        key, now = (username, root.name), time.monotonic()
        at, known = self._quotas.get(key, (-QUOTA_KEPT_S, None))
        if now - at < QUOTA_KEPT_S:
            return known
        known = await quota.ask(filled(command, username, meant(room.real_path)), QUOTA_S)
        self._quotas[key] = (time.monotonic(), known)
        return known

    @asynccontextmanager
    async def stream(self, username: str, root: str) -> AsyncIterator[Channel]:
        """A launcher for one download."""
        with explaining():
            async with self.pool(root).stream(username) as channel:
                yield channel


def filled(command: Sequence[str], username: str, path: str) -> list[str]:
    """The operator's command for a user and a folder."""
    values = {"{username}": username, "{path}": path}
    return [values.get(part, part) for part in command]


def checked(path: str, field: str = "path") -> str:
    """A path's text; what else a path must be, the launcher says. Raises InvalidInput."""
    try:
        name = meant(path)
    except UnicodeEncodeError as error:
        raise invalid_input([FieldError(field, NO_PATH)]) from error
    if len(path) > MAX_PATH or "\0" in path or shown(name) != path:
        raise invalid_input([FieldError(field, NO_PATH)])
    return path


@contextmanager
def explaining() -> Iterator[None]:
    """The launcher's refusals as answers to the request."""
    try:
        yield
    except SpawnerError as error:
        raise explained(error) from error
