"""The site's catalog as it is now: environments and templates, read again when a file has changed.

A loop looks at the files every few seconds, in a thread, so that requests find objects and never
wait for a disk. A file with a mistake keeps its last good state, and what is wrong is remembered
for the administrators until it is put right.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Generic, TypeVar

import structlog

from portal.settings import Settings
from spawner.catalog import CatalogError, Environment, Places, files, load_environment
from spawner.templates import Template, TemplateError, load_template, program_folders

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 3.0
PROGRAMS = ("jobs", "starters")
Stamp = tuple[object, ...]
T = TypeVar("T", Environment, Template)


def places(settings: Settings) -> Places:
    """Where this site's catalog lies."""
    dirs = (settings.image_dir, settings.image_import_dir)
    return Places(
        image_dirs=tuple(filter(None, dirs)),
        site=settings.catalog_dir,
        modules_init=settings.modules_init,
    )


@dataclass(frozen=True)
class Item(Generic[T]):
    """One file of the catalog, as it was last read. `value` is its last good state, None if there
    never was one."""

    file: Path
    stamp: Stamp
    value: T | None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stock:
    """All files by name, and what is wrong with the folders themselves."""

    environments: Mapping[str, Item[Environment]] = field(default_factory=dict)
    templates: Mapping[str, Item[Template]] = field(default_factory=dict)
    folder_problems: tuple[str, ...] = ()


class Shelf:
    """What `parts.catalog` is: `environments` and `templates` by name, ready to be used, and
    `problems`: what is wrong with the files now, in lines of the form `file: field: what`.

    Raises CatalogError for a site folder that isn't there. A file with a mistake is no reason not
    to start: it is missing, and told in `problems`.
    """

    environments: Mapping[str, Environment]
    templates: Mapping[str, Template]
    problems: tuple[str, ...] = ()
    stock: Stock

    def __init__(self, places: Places) -> None:
        files(places, "environments")
        self.places = places
        self._one_at_a_time = asyncio.Lock()
        self.stock = Stock()
        self._take(self._read())

    def is_of_site(self, file: Path) -> bool:
        """Whether a file of the catalog is the site's own; the others are shipped."""
        return self.places.site is not None and file.is_relative_to(self.places.site)

    async def refresh(self) -> None:
        """Read what has changed, in a thread. For whoever has just changed a file or an image."""
        async with self._one_at_a_time:
            self._take(await asyncio.to_thread(self._read))

    async def run(self) -> None:
        """Keep up with the files until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.refresh()

    def _take(self, stock: Stock) -> None:
        self.stock = stock
        self.environments = _good(stock.environments)
        self.templates = _good(stock.templates)
        problems = tuple(_problems(stock, self.environments))
        if problems and problems != self.problems:
            log.warning("the catalog has files that can't be used", problems=problems[:20])
        self.problems = problems

    def _read(self) -> Stock:
        """The files as they are now; unchanged ones aren't opened. Changes nothing here."""
        try:
            environment_files = files(self.places, "environments")
            template_files = files(self.places, "templates")
        except CatalogError as error:
            return _unreadable(self.stock, error.problems)
        except OSError as error:
            return _unreadable(self.stock, [f"{error.filename}: {error.strerror}"])
        images = _stamps(self.places.image_dirs)
        folders = program_folders(self.places)
        programs = _stamps(
            path for folder in folders for kind in PROGRAMS for path in (folder / kind).glob("*")
        )
        return Stock(
            environments={
                name: _item(
                    path,
                    (*_stamps([path]), *images),
                    self.stock.environments.get(name),
                    lambda path: load_environment(path, self.places),
                )
                for name, path in environment_files.items()
            },
            templates={
                name: _item(
                    path,
                    (*_stamps([path]), *programs),
                    self.stock.templates.get(name),
                    lambda path: load_template(path, folders),
                )
                for name, path in template_files.items()
            },
        )


def _item(path: Path, stamp: Stamp, before: Item[T] | None, load: Callable[[Path], T]) -> Item[T]:
    """The file read, unless it is what it was; with a mistake in it, the last good state."""
    if before is not None and (before.file, before.stamp) == (path, stamp):
        return before
    try:
        return Item(path, stamp, load(path))
    except (CatalogError, TemplateError) as error:
        return Item(path, stamp, before.value if before else None, tuple(error.problems))
    except Exception as error:
        # Whatever it is: one file must not take all the others, nor the portal's start, with it.
        log.exception("a file of the catalog can't be read", file=str(path))
        problem = (
            f"{path}: it can't be used ({type(error).__name__}: {error}); see the portal's log"
        )
        return Item(path, stamp, before.value if before else None, (problem,))


def _good(items: Mapping[str, Item[T]]) -> Mapping[str, T]:
    good = {name: item.value for name, item in items.items() if item.value is not None}
    return MappingProxyType(good)


def _unreadable(before: Stock, problems: list[str]) -> Stock:
    """A folder that can't be had now, as when its server is away: nothing is forgotten for it."""
    return Stock(before.environments, before.templates, tuple(problems))


def _problems(stock: Stock, environments: Mapping[str, Environment]) -> Iterator[str]:
    yield from stock.folder_problems
    for environment in stock.environments.values():
        yield from environment.problems
    for template in stock.templates.values():
        yield from template.problems
        named = template.value.environment if template.value else None
        if named is not None and named not in environments:
            yield f"{template.file}: environment: there is no environment {named} in this catalog"


def _stamps(paths: Iterable[Path]) -> Stamp:
    """Each path with its time and size, as far as it can be looked at."""
    return tuple((str(path), *_state(path)) for path in sorted(paths))


def _state(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return 0, 0  # reading it will say why
    return state.st_mtime_ns, state.st_size
