"""Packages that users have installed into environments: one folder in their home per environment
(spawner/containers/kernels.py), which can be listed and moved to the trash, from which they can be
restored.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from portal.errors import Conflict, NotFound
from portal.errors.files import FileNotThere
from portal.services.files import operations
from portal.services.files.roots import FileAccess, FileLocation, converting_errors
from spawner.catalog.environment import Environment
from spawner.launcher.file_answers import DeletedItem, Package
from spawner.launcher.folders import PACKAGES_FOLDER

NOT_INSTALLED = "You haven't installed a package with this name into this environment."
NO_PACKAGES = "You haven't installed any packages into this environment."
IN_THE_WAY = (
    "You have installed packages into this environment since. Remove those first, then "
    "restore the earlier ones."
)
NOT_IN_TRASH = "These packages are no longer in the trash."
UNSEEN = (
    "Your trash has too many items to find these packages in it. Delete items that you "
    "don't need from the trash on the Files page, then try again."
)


@dataclass(frozen=True)
class Installed:
    """Installed packages of a user in an environment.

    `folder` begins with ~/. `complete` is False if there are more packages than were read.
    `removed` are the packages that can be restored, newest first; `removed_complete` is False if
    the trash is too large to be searched.
    """

    folder: str
    packages: list[Package]
    complete: bool
    removed: list[DeletedItem]
    removed_complete: bool


async def list_packages(files: FileAccess, username: str, environment: Environment) -> Installed:
    """Return installed and removed packages. Raises the launcher's error for a home that cannot be
    read.
    """
    location = await _find_folder(files, username, environment)
    packages, complete = await _list_packages(files, username, environment, location)
    removed, all_seen = await operations.trash(files, username, _to_home(location), location.path)
    return Installed(f"~/{location.path}", packages, complete, removed, all_seen)


async def reset(files: FileAccess, username: str, environment: Environment) -> str:
    """Move all packages to the trash; return their former path for the audit log. Raises NotFound
    if there are none.
    """
    location = await _find_folder(files, username, environment)
    packages, _ = await _list_packages(files, username, environment, location)
    if not packages:
        raise NotFound(NO_PACKAGES)
    await _move_to_trash(files, username, location)
    root = await _find_home_root(files, username, location.root_path)
    return f"{root}:{location.path}" if root else f"~/{location.path}"


async def remove(files: FileAccess, username: str, environment: Environment, name: str) -> str:
    """Delete one package's files; return their former path for the audit log. Raises NotFound if it
    is not installed.
    """
    location = await _find_folder(files, username, environment)
    packages, _ = await _list_packages(files, username, environment, location)
    if all(package.name != name for package in packages):
        raise NotFound(NOT_INSTALLED)
    package_folder = _to_package_folder(environment, location)
    path = f"{package_folder.path}/{name}"
    if _get_layout(environment) == "python":
        levels_up = package_folder.path.count("/") - location.path.count("/")
        await _remove_files(files, username, package_folder, name, levels_up)
    else:
        package = FileLocation(package_folder.root, package_folder.root_path, path)
        await _move_to_trash(files, username, package)
    root = await _find_home_root(files, username, location.root_path)
    return f"{root}:{path}" if root else f"~/{path}"


async def _remove_files(
    files: FileAccess, username: str, package_folder: FileLocation, name: str, levels_up: int
) -> None:
    """Delete the files of a Python package. `levels_up` is the number of levels from the folder of
    the packages up to the environment's folder: files outside the latter are not deleted.
    """
    deadline = time.monotonic() + operations.TOTAL_TIMEOUT_S
    with converting_errors():
        while not await files.pool(package_folder.root).remove_package(
            username, package_folder.parameters, name, levels_up, operations.REQUEST_TIMEOUT_S
        ):
            if time.monotonic() > deadline:
                raise Conflict(operations.UNFINISHED)


async def restore_packages(
    files: FileAccess, username: str, environment: Environment, trash_id: str
) -> None:
    """Restore removed packages to their former path. An empty folder there, created by a kernel
    that was started since, is moved to the trash first. Raises Conflict if there are packages, and
    NotFound.
    """
    state = await list_packages(files, username, environment)
    if all(removed.id != trash_id for removed in state.removed):
        raise NotFound(NOT_IN_TRASH if state.removed_complete else UNSEEN)
    if state.packages:
        raise Conflict(IN_THE_WAY)
    location = await _find_folder(files, username, environment)
    if await _check_exists(files, username, location):
        await _move_to_trash(files, username, location)
    (outcome,) = await operations.restore(files, username, _to_home(location), [trash_id], None)
    if outcome.error is not None:
        raise outcome.error


async def _list_packages(
    files: FileAccess, username: str, environment: Environment, location: FileLocation
) -> tuple[list[Package], bool]:
    package_folder = _to_package_folder(environment, location)
    with converting_errors():
        return await files.pool(location.root).packages(
            username, package_folder.parameters, _get_layout(environment)
        )


def _to_package_folder(environment: Environment, location: FileLocation) -> FileLocation:
    """Return the folder of the packages themselves, inside the environment's folder: for Python its
    user-site folder.
    """
    path = f"{location.path}/{environment.user_site}" if environment.user_site else location.path
    return FileLocation(location.root, location.root_path, path)


async def _check_exists(files: FileAccess, username: str, location: FileLocation) -> bool:
    try:
        with converting_errors():
            await files.pool(location.root).describe(username, location.parameters)
    except FileNotThere:
        return False
    return True


async def _move_to_trash(files: FileAccess, username: str, location: FileLocation) -> None:
    (outcome,) = await operations.delete(files, username, [location], permanent=False)
    if outcome.error is not None:
        raise outcome.error


async def _find_folder(files: FileAccess, username: str, environment: Environment) -> FileLocation:
    """Return the environment's folder below the home; the launcher pool is the home's own if the
    home is one of the site's roots.
    """
    with converting_errors():
        home = (await files.first_pool.info(username)).home
    root = await _find_home_root(files, username, home) or files.settings.file_roots[0].name
    return FileLocation(root, home, f"{PACKAGES_FOLDER}/{environment.name}")


async def _find_home_root(files: FileAccess, username: str, home: str) -> str | None:
    """Return the site's root that is the home, None if there is none."""
    for root in files.settings.file_roots:
        if await files.root_path_of(username, root) == home:
            return root.name
    return None


def _to_home(location: FileLocation) -> FileLocation:
    return FileLocation(location.root, location.root_path, "")


def _get_layout(environment: Environment) -> str:
    """Return the layout of the packages in the launcher's terms."""
    return {"python": "python", "R": "r"}.get(environment.language, "other")
