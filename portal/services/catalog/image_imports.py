"""Imports of container images from registries into files by administrators: request, list, cancel,
delete.

services/catalog/image_importer.py carries out the requests. Images are never fetched in any other
way: sessions and jobs use existing files.
"""

import asyncio
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.notifier import IMPORTS
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, FieldError, NotFound, invalid_input
from portal.models import ImageImport, ImportState, Job, JobKind, JobState, User, Wanted
from portal.services import paging
from portal.services.audit import audit
from portal.services.store import update_row
from spawner.containers.references import (
    Reference,
    ReferenceProblem,
    check_file_name,
    parse_reference,
)
from spawner.containers.runtimes import Container

PAGE = 50
LIVE = (ImportState.QUEUED, ImportState.RUNNING)
IMPORT_DISABLED = (
    "Image import is disabled. To enable it, set image_import_dir to a folder that the "
    "portal's account can write and every node can read."
)
NAME_TAKEN = "An image with this name already exists. Choose another name, or choose to replace it."
UNDER_WAY = "An import into this file is in progress. Wait until it ends, or cancel it."
SHADOWED = (
    "The site's image folder has a file with this name, which takes precedence. Choose "
    "another name."
)
UNWRITABLE = (
    "The folder in image_import_dir doesn't exist, or the portal's account can't write to "
    "it. Run `portal check` for details."
)
KINDS = {JobKind.SESSION: "session", JobKind.JOB: "job"}


@dataclass(frozen=True)
class Image:
    """A file in the import folder. `source` is the import that created it, None if unknown."""

    file: str
    size_bytes: int
    modified_at: datetime
    environments: list[str]
    source: ImageImport | None


def get_folder(context: AppContext) -> Path:
    """Return the folder for imported images. Raises Conflict if importing is off."""
    directory = context.settings.image_import_dir
    if directory is None:
        raise Conflict(IMPORT_DISABLED)
    return directory


async def list_images(context: AppContext) -> list[Image]:
    """Return all images in the import folder, sorted by name. Raises Conflict if it cannot be
    read.
    """
    directory = get_folder(context)
    try:
        files = await asyncio.to_thread(_list_files, directory)
    except OSError as error:
        problem = f"The folder for imported images can't be read: {error.strerror}."
        raise Conflict(problem) from error
    sources = await _load_sources(context, [name for name, _, _ in files])
    return [
        Image(name, size, at, environments_of(context, directory / name), sources.get(name))
        for name, size, at in files
    ]


def _list_files(directory: Path) -> list[tuple[str, int, datetime]]:
    """Return (name, size, time) of complete files: names of incomplete ones begin with a dot."""
    files = []
    for path in sorted(directory.iterdir()):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and path.suffix == ".sif" and path.name[0] != ".":
            at = datetime.fromtimestamp(status.st_mtime, UTC)
            files.append((path.name, status.st_size, at))
    return files


async def _load_sources(context: AppContext, files: Sequence[str]) -> dict[str, ImageImport]:
    """Return the last import that created each of these files."""
    query = select(ImageImport).where(
        ImageImport.state == ImportState.DONE, ImageImport.file.in_(files)
    )
    async with context.db.session() as db:
        rows = await db.scalars(query.order_by(ImageImport.ended_at))
    return {row.file: row for row in rows}


def environments_of(context: AppContext, image: Path) -> list[str]:
    """Return the environments that run from this file."""
    return sorted(
        name
        for name, environment in context.catalog.environments.items()
        if isinstance(environment.runtime, Container) and environment.runtime.image == image
    )


async def users_of(context: AppContext, image: Path) -> str:
    """Return the number of sessions and jobs that run from this file, or wait to, as `2 sessions
    and 1 job`; empty if there are none.
    """
    query = (
        select(Job.kind, func.count())
        .where(Job.environment.in_(environments_of(context, image)), Job.state != JobState.ENDED)
        .group_by(Job.kind)
    )
    async with context.db.session() as db:
        counts = dict((await db.execute(query)).all())
    parts = [(counts[kind], word) for kind, word in KINDS.items() if kind in counts]
    return " and ".join(f"{number} {word}{'s' if number > 1 else ''}" for number, word in parts)


async def create(
    context: AppContext, admin: User, *, reference: str, file: str, replace: bool, ip: str
) -> ImageImport:
    """Request the import of an image. Raises InvalidInput with the field, and Conflict for a name
    that is taken.
    """
    directory = get_folder(context)
    checked = _validate(reference, file)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise Conflict(UNWRITABLE)
    if (context.settings.image_dir / file).exists():
        raise invalid_input([FieldError("file", SHADOWED)])
    if (directory / file).exists():
        if not replace:
            raise Conflict(NAME_TAKEN, errors=[FieldError("file", NAME_TAKEN)])
        if users := await users_of(context, directory / file):
            raise Conflict(f"{file} can't be replaced now: {users} would lose it.")
    row = ImageImport(
        reference=checked.text, file=file, replace=replace, requested_by=admin.username
    )
    async with context.db.session() as db:
        db.add(row)
        detail = {"reference": checked.text}
        audit.record(db, audit.Action.IMAGE_IMPORT, actor=admin, target=file, detail=detail, ip=ip)
        try:
            await db.commit()
        except IntegrityError as error:
            raise Conflict(UNDER_WAY, errors=[FieldError("file", UNDER_WAY)]) from error
    context.notifier.notify(IMPORTS)
    return row


def _validate(reference: str, file: str) -> Reference:
    problems = []
    try:
        check_file_name(file)
    except ReferenceProblem as error:
        problems.append(FieldError("file", str(error)))
    try:
        parsed = parse_reference(reference)
    except ReferenceProblem as error:
        problems.insert(0, FieldError("reference", str(error)))
    if problems:
        raise invalid_input(problems)
    return parsed


async def list_imports(context: AppContext, cursor: str | None = None) -> list[ImageImport]:
    """Return imports, newest first; at most PAGE + 1 rows."""
    query = select(ImageImport)
    if cursor:
        query = query.where(
            paging.build_after_condition(ImageImport.created_at, ImageImport.id, cursor)
        )
    query = query.order_by(ImageImport.created_at.desc(), ImageImport.id.desc()).limit(PAGE + 1)
    async with context.db.session() as db:
        return list((await db.scalars(query)).all())


async def get(context: AppContext, import_id: str) -> ImageImport:
    async with context.db.session() as db:
        row = await db.get(ImageImport, import_id)
    if row is None:
        raise NotFound("There is no such import.")
    return row


async def cancel(context: AppContext, admin: User, import_id: str, *, ip: str) -> ImageImport:
    """Stop an import; it leaves no files. Idempotent. Raises NotFound, and Conflict for one that
    has ended.
    """
    row = await get(context, import_id)
    if row.state not in LIVE:
        raise Conflict("This import has ended already.")

    def modify(row: ImageImport) -> None:
        row.wanted = Wanted.STOP
        if row.state is ImportState.QUEUED:
            row.state, row.ended_at = ImportState.CANCELLED, utcnow()

    def record_event(db: AsyncSession, row: ImageImport) -> None:
        detail, action = {"reference": row.reference}, audit.Action.IMAGE_CANCEL
        audit.record(db, action, actor=admin, target=row.file, detail=detail, ip=ip)

    changed = await update_row(context.db, ImageImport, import_id, modify, record_event)
    context.notifier.notify(IMPORTS)
    return changed or row


async def delete(context: AppContext, admin: User, file: str, *, ip: str) -> None:
    """Delete an imported image. Raises NotFound if it is not one, and Conflict while sessions or
    jobs run from it.
    """
    directory = get_folder(context)
    stored = {image.file: image for image in await list_images(context)}.get(file)
    if stored is None:
        raise NotFound("There is no imported image with this name.")
    if stored.source is None:
        raise Conflict(
            "The portal didn't import this file, so it can't delete it. Ask the file's owner."
        )
    if users := await users_of(context, directory / file):
        raise Conflict(
            f"{users[:1].upper()}{users[1:]} would lose this image. Wait for their end, or stop"
            " them first."
        )
    async with context.db.session() as db:
        detail = {"reference": stored.source.reference}
        audit.record(db, audit.Action.IMAGE_DELETE, actor=admin, target=file, detail=detail, ip=ip)
        try:
            await asyncio.to_thread((directory / file).unlink)
        except OSError as error:
            raise Conflict(f"This file can't be deleted: {error.strerror}.") from error
        await db.commit()
    await context.catalog.refresh()
