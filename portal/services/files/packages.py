"""What somebody has installed into an environment: a folder in their home for each environment
(spawner/kernels.py), to be looked at, and to be taken out of the way with a way back: the trash.
"""

from __future__ import annotations

from dataclasses import dataclass

from portal.errors import Conflict, NotFound
from portal.errors.files import FileNotThere
from portal.services.files import changing
from portal.services.files.roots import Files, Place, explaining
from spawner.catalog import Environment
from spawner.filedata import Deleted, Package
from spawner.kernels import PACKAGES_FOLDER

NONE = "You have installed nothing into this environment."
IN_THE_WAY = (
    "You have installed packages into this environment since. Remove those first, then bring the"
    " earlier ones back."
)
GONE = "These packages aren't in the trash any more."
UNSEEN = (
    "There is too much in your trash for these packages to be found in it. Delete what you don't"
    " need from it on the page Files, then try again."
)


@dataclass(frozen=True)
class Installed:
    """`folder` begins with ~/; `complete` is false where there is more than was looked at.
    `removed` is what can be brought back, the newest first; `removed_complete` is false where the
    trash holds too much to be looked through."""

    folder: str
    packages: list[Package]
    complete: bool
    removed: list[Deleted]
    removed_complete: bool


async def installed(files: Files, username: str, environment: Environment) -> Installed:
    """What is there now, and what was. Raises what the launcher says of a home that can't be
    read."""
    place = await _folder(files, username, environment)
    found, complete = await _look(files, username, environment, place)
    removed, all_seen = await changing.trash(files, username, _home(place), place.path)
    return Installed(f"~/{place.path}", found, complete, removed, all_seen)


async def reset(files: Files, username: str, environment: Environment) -> str:
    """Move all of it to the trash; where it was, in the audit's words. Raises NotFound where there
    is nothing."""
    place = await _folder(files, username, environment)
    found, _ = await _look(files, username, environment, place)
    if not found:
        raise NotFound(NONE)
    await _to_trash(files, username, place)
    root = await _home_root(files, username, place.whole)
    return f"{root}:{place.path}" if root else f"~/{place.path}"


async def bring_back(files: Files, username: str, environment: Environment, trash_id: str) -> None:
    """What was removed, to where it was. A kernel that was started since has made an empty folder
    there, which gives way; packages don't: Conflict."""
    state = await installed(files, username, environment)
    if all(one.id != trash_id for one in state.removed):
        raise NotFound(GONE if state.removed_complete else UNSEEN)
    if state.packages:
        raise Conflict(IN_THE_WAY)
    place = await _folder(files, username, environment)
    if await _exists(files, username, place):
        await _to_trash(files, username, place)
    (outcome,) = await changing.restore(files, username, _home(place), [trash_id], None)
    if outcome.error is not None:
        raise outcome.error


async def _look(
    files: Files, username: str, environment: Environment, place: Place
) -> tuple[list[Package], bool]:
    path = f"{place.path}/{environment.user_site}" if environment.user_site else place.path
    below = Place(place.root, place.whole, path)
    with explaining():
        return await files.pool(place.root).packages(username, below.asked, _kind(environment))


async def _exists(files: Files, username: str, place: Place) -> bool:
    try:
        with explaining():
            await files.pool(place.root).describe(username, place.asked)
    except FileNotThere:
        return False
    return True


async def _to_trash(files: Files, username: str, place: Place) -> None:
    (outcome,) = await changing.delete(files, username, [place], permanent=False)
    if outcome.error is not None:
        raise outcome.error


async def _folder(files: Files, username: str, environment: Environment) -> Place:
    """The environment's folder below the home; the pool is the home's own where that is one of the
    site's places."""
    with explaining():
        home = (await files.agents.info(username)).home
    root = await _home_root(files, username, home) or files.settings.file_roots[0].name
    return Place(root, home, f"{PACKAGES_FOLDER}/{environment.name}")


async def _home_root(files: Files, username: str, home: str) -> str | None:
    """Which of the site's places is the home; None where none is."""
    for root in files.settings.file_roots:
        if await files.whole(username, root) == home:
            return root.name
    return None


def _home(place: Place) -> Place:
    return Place(place.root, place.whole, "")


def _kind(environment: Environment) -> str:
    """How packages lie there, in the launcher's words."""
    return {"python": "python", "R": "r"}.get(environment.language, "other")
