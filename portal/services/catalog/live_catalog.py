"""The site's current catalog: environments, templates and apps, read again when a file changes.

A loop checks the files every few seconds, in a thread, so that requests use objects in memory and
never wait for a disk. A file with a mistake keeps its last good state, and the problem is kept for
the administrators until it is fixed.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Generic, TypeVar

import structlog

from portal.config.settings import Settings
from spawner.catalog.app import App, load_app
from spawner.catalog.environment import (
    CatalogError,
    CatalogFolders,
    Environment,
    list_files,
    load_environment,
)
from spawner.catalog.template import Template, TemplateError, load_template, program_folders

log = structlog.get_logger(__name__)

POLL_S = 3.0
PROGRAMS = ("jobs", "starters")
Stamp = tuple[object, ...]
T = TypeVar("T", Environment, Template, App)


def to_catalog_folders(settings: Settings) -> CatalogFolders:
    """Return the locations of this site's catalog."""
    dirs = (settings.image_dir, settings.image_import_dir)
    return CatalogFolders(
        image_dirs=tuple(filter(None, dirs)),
        site_dir=settings.catalog_dir,
        modules_init=settings.modules_init,
    )


@dataclass(frozen=True)
class CatalogEntry(Generic[T]):
    """One file of the catalog as last read. `value` is its last good state, None if there never was
    one.
    """

    file: Path
    stamp: Stamp
    value: T | None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class CatalogSnapshot:
    """All files by name, and problems of the folders themselves."""

    environments: Mapping[str, CatalogEntry[Environment]] = field(default_factory=dict)
    templates: Mapping[str, CatalogEntry[Template]] = field(default_factory=dict)
    apps: Mapping[str, CatalogEntry[App]] = field(default_factory=dict)
    folder_problems: tuple[str, ...] = ()


class LiveCatalog:
    """The type of `context.catalog`: usable `environments`, `templates` and `apps` by name, and
    `problems` of the current files, in lines of the form `file: field: what`.

    Empty until `load`. A file with a mistake does not prevent a start: it is left out, and reported
    in `problems`.
    """

    environments: Mapping[str, Environment] = MappingProxyType({})
    templates: Mapping[str, Template] = MappingProxyType({})
    apps: Mapping[str, App] = MappingProxyType({})
    problems: tuple[str, ...] = ()
    snapshot = CatalogSnapshot()

    def __init__(self, folders: CatalogFolders) -> None:
        self.folders = folders
        self._lock = asyncio.Lock()

    def load(self) -> None:
        """Read the files, at the start. Raises CatalogError if the site folder is missing."""
        list_files(self.folders, "environments")
        self._set_snapshot(self._load_snapshot())

    def is_of_site(self, file: Path) -> bool:
        """Return whether a file of the catalog is the site's own; the others are shipped."""
        return self.folders.site_dir is not None and file.is_relative_to(self.folders.site_dir)

    async def refresh(self) -> None:
        """Read changed files, in a thread. Call this after changing a file or an image."""
        async with self._lock:
            self._set_snapshot(await asyncio.to_thread(self._load_snapshot))

    def _set_snapshot(self, snapshot: CatalogSnapshot) -> None:
        self.snapshot = snapshot
        self.environments = _select_valid(snapshot.environments)
        self.templates = _select_valid(snapshot.templates)
        self.apps = _select_valid(snapshot.apps)
        problems = tuple(_find_problems(snapshot, self.environments))
        if problems and problems != self.problems:
            log.warning("the catalog has files that can't be used", problems=problems[:20])
        self.problems = problems

    def _load_snapshot(self) -> CatalogSnapshot:
        """Return the current contents of the files; unchanged ones are not opened. Does not modify
        `self`.
        """
        try:
            environment_files = list_files(self.folders, "environments")
            template_files = list_files(self.folders, "templates")
            app_files = list_files(self.folders, "apps")
        except CatalogError as error:
            return _keep_entries(self.snapshot, error.problems)
        except OSError as error:
            return _keep_entries(self.snapshot, [f"{error.filename}: {error.strerror}"])
        images = _to_stamps(self.folders.image_dirs)
        folders = program_folders(self.folders)
        programs = _to_stamps(
            path for folder in folders for kind in PROGRAMS for path in (folder / kind).glob("*")
        )
        return CatalogSnapshot(
            environments={
                name: _load_item(
                    path,
                    (*_to_stamps([path]), *images),
                    self.snapshot.environments.get(name),
                    lambda path: load_environment(path, self.folders),
                )
                for name, path in environment_files.items()
            },
            templates={
                name: _load_item(
                    path,
                    (*_to_stamps([path]), *programs),
                    self.snapshot.templates.get(name),
                    lambda path: load_template(path, folders),
                )
                for name, path in template_files.items()
            },
            apps={
                name: _load_item(path, _to_stamps([path]), self.snapshot.apps.get(name), load_app)
                for name, path in app_files.items()
            },
        )


def _load_item(
    path: Path, stamp: Stamp, before: CatalogEntry[T] | None, load: Callable[[Path], T]
) -> CatalogEntry[T]:
    """Read the file unless it is unchanged; if it has a mistake, keep the last good state."""
    if before is not None and (before.file, before.stamp) == (path, stamp):
        return before
    try:
        return CatalogEntry(path, stamp, load(path))
    except (CatalogError, TemplateError) as error:
        return CatalogEntry(path, stamp, before.value if before else None, tuple(error.problems))
    except Exception as error:
        # Any exception: one file must not make all others unavailable, nor prevent the portal's
        # start.
        log.exception("a file of the catalog can't be read", file=str(path))
        problem = (
            f"{path}: it can't be used ({type(error).__name__}: {error}); see the portal's log"
        )
        return CatalogEntry(path, stamp, before.value if before else None, (problem,))


def _select_valid(items: Mapping[str, CatalogEntry[T]]) -> Mapping[str, T]:
    valid = {name: item.value for name, item in items.items() if item.value is not None}
    return MappingProxyType(valid)


def _keep_entries(before: CatalogSnapshot, problems: list[str]) -> CatalogSnapshot:
    """Keep the earlier contents when a folder cannot be read, for example because its server is
    down.
    """
    return CatalogSnapshot(before.environments, before.templates, before.apps, tuple(problems))


def _find_problems(
    snapshot: CatalogSnapshot, environments: Mapping[str, Environment]
) -> Iterator[str]:
    yield from snapshot.folder_problems
    for environment in snapshot.environments.values():
        yield from environment.problems
    for template in snapshot.templates.values():
        yield from template.problems
        name = template.value.environment if template.value else None
        if name is not None and name not in environments:
            yield f"{template.file}: environment: there is no environment {name} in this catalog"
    for app in snapshot.apps.values():
        yield from app.problems
        for name in app.value.environments if app.value else ():
            if name not in environments:
                yield f"{app.file}: environments: there is no environment {name} in this catalog"


def _to_stamps(paths: Iterable[Path]) -> Stamp:
    """Return each path with its modification time and size, as far as they can be read."""
    return tuple((str(path), *_to_stamp(path)) for path in sorted(paths))


def _to_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0  # the error is reported when the file is read
    return status.st_mtime_ns, status.st_size
