"""Background loop that imports the images requested through image_imports.py.

A lock in the state folder is held until the last process of a pull has exited, so after the portal
was killed the loop starts only when nothing is left of the earlier process. It then removes
incomplete files and restarts the imports that were in progress.
"""

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import structlog
from sqlalchemy import select

from portal.background.keyed_tasks import KeyedTasks
from portal.background.notifier import IMPORTS
from portal.context import AppContext
from portal.db import utcnow
from portal.models import ImageImport, ImportState, Wanted
from portal.services.catalog import image_imports
from portal.services.store import update_row
from spawner.containers.pull import Progress, Pulled, PullFailed, PullRequest, ReportProgress, pull
from spawner.containers.references import parse_reference

log = structlog.get_logger(__name__)

MAX_RUNNING_IMPORTS = 2
ROUND_S = 30.0
LOCK_PAUSE = timedelta(seconds=0.2)
HALF_MADE = ".import-"
FAULT = (
    "The portal had an internal error. Try again, or ask your administrator to check the "
    "portal's log."
)
STOPPED = "It was cancelled."
Modify = Callable[[ImageImport], None]


class ImageImporter:
    """The loop that imports images."""

    def __init__(self, context: AppContext, folder: Path) -> None:
        self.context = context
        self.folder = folder
        self.work = context.settings.state_dir / "imports"
        self._tasks = KeyedTasks(
            lambda: context.notifier.notify(IMPORTS), context.metrics.background_failures
        )
        self._stops: dict[str, asyncio.Event] = {}
        self._lock: int | None = None

    async def step(self) -> timedelta | None:
        """Start queued imports and stop cancelled ones, once no process of an earlier portal holds
        the lock.
        """
        if self._lock is None:
            self._lock = await self._take_lock()
        if self._lock is None:
            return LOCK_PAUSE
        await self._run_round(self._lock)
        return None

    async def close(self) -> None:
        """End the imports in progress; they are restarted by the portal's next process."""
        await self._tasks.close()
        if self._lock is not None:
            os.close(self._lock)

    async def _take_lock(self) -> int | None:
        """Return the lock after the removal of incomplete files, or None while it is held."""
        self.work.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as failed:
            lock = os.open(self.work / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            failed.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            await asyncio.to_thread(self._remove_incomplete)
            failed.pop_all()
        return lock

    def _remove_incomplete(self) -> None:
        """Remove incomplete files. No import is running: they were left by a portal that was
        killed.
        """
        for path in self.work.iterdir():
            if path.is_dir():
                _remove_path(path)
        if self.folder.is_dir():
            for path in self.folder.glob(f"{HALF_MADE}*"):
                _remove_path(path)

    async def _recover(self, row: ImageImport) -> None:
        """Recover a row that is marked as running although no import runs: an earlier process began
        it, or its end could not be written.
        """
        if await asyncio.to_thread(_is_in_place, self.folder / row.file, row):
            update: Modify = _set_done
        elif row.wanted is Wanted.STOP:
            update = _set_failed(STOPPED)
        else:
            update = _set_queued

        def modify(current: ImageImport) -> None:
            if current.state is ImportState.RUNNING:  # else its end was written just now
                update(current)

        await self._update_row(row.id, modify)

    async def _load_rows(self, state: ImportState) -> list[ImageImport]:
        query = select(ImageImport).where(ImageImport.state == state)
        async with self.context.db.session() as db:
            return list((await db.scalars(query.order_by(ImageImport.created_at))).all())

    async def _run_round(self, lock: int) -> None:
        running = await self._load_rows(ImportState.RUNNING)
        for row in running:
            if not self._tasks.is_running(f"import {row.id}"):
                await self._recover(row)
            elif row.wanted is Wanted.STOP:
                self._stops[row.id].set()
        queued = await self._load_rows(ImportState.QUEUED)
        for row in queued:
            if self._tasks.count_running("import") >= MAX_RUNNING_IMPORTS:
                break
            self._tasks.start(f"import {row.id}", utcnow(), partial(self._import, row, lock))
        rows = {row.id for row in (*running, *queued)}
        self._tasks.drop_old_attempts(keep=rows, row_count=len(rows))

    async def _import(self, row: ImageImport, lock: int) -> None:
        stop = self._stops[row.id] = asyncio.Event()
        try:
            await self._run_import(row, stop, lock)
        finally:
            del self._stops[row.id]

    async def _run_import(self, row: ImageImport, stop: asyncio.Event, lock: int) -> None:
        """Run one import from beginning to end, and write the result to its row."""
        started = await self._update_row(row.id, _set_running)
        if started is None or started.state is not ImportState.RUNNING:
            return  # cancelled just now
        half = self.folder / f"{HALF_MADE}{row.id}.sif"
        work = self.work / row.id
        try:
            outcome = await self._fetch_image(started, half, work, stop, lock)
        finally:
            await asyncio.to_thread(_remove_path, half)
            await asyncio.to_thread(_remove_path, work)
        await self._update_row(row.id, outcome)

    async def _fetch_image(
        self, row: ImageImport, half: Path, work: Path, stop: asyncio.Event, lock: int
    ) -> Modify:
        """Fetch the image and move it into place; return the update for the row."""
        try:
            await asyncio.to_thread(work.mkdir, mode=0o700)
            pulled = await pull(
                self._build_pull_request(row, half, work),
                self._make_progress_writer(row.id),
                stop=stop,
                lock=lock,
            )
            await self._update_row(row.id, _set_pulled(pulled))
            await asyncio.to_thread(_publish, half, self.folder / row.file, row.replace, stop)
            await self.context.catalog.refresh()
        except PullFailed as error:
            return _set_failed(str(error))
        except (OSError, ValueError) as error:
            return _set_failed(f"The import failed: {error}.")
        except Exception:
            log.exception("an import failed", file=row.file)
            return _set_failed(FAULT)
        return _set_done

    def _build_pull_request(self, row: ImageImport, half: Path, work: Path) -> PullRequest:
        """Return the request for the pull. Raises ValueError for an unusable credentials file."""
        settings = self.context.settings
        reference = parse_reference(row.reference)
        return PullRequest(
            reference=reference,
            target=half,
            work=work,
            apptainer=settings.apptainer_path,
            auth_file=settings.image_import_auth_file,
            has_credentials=reference.host in settings.registries_with_credentials,
            plain=reference.host in settings.image_import_plain_registries,
            timeout_s=settings.image_import_hours * 3600,
        )

    def _make_progress_writer(self, import_id: str) -> ReportProgress:
        """Return a callback that writes a pull's progress to its row when it has changed."""
        last = Progress()

        async def save(progress: Progress) -> None:
            nonlocal last
            if progress == last:
                return
            last = progress
            await self._update_row(import_id, lambda row: _set_progress(row, progress))

        return save

    async def _update_row(self, import_id: str, modify: Modify) -> ImageImport | None:
        return await update_row(self.context.db, ImageImport, import_id, modify)


# --- updates of rows ------------------------------------------------------------------------------


def _set_running(row: ImageImport) -> None:
    if row.state is ImportState.QUEUED:
        row.state, row.started_at = ImportState.RUNNING, utcnow()


def _set_queued(row: ImageImport) -> None:
    row.state, row.started_at = ImportState.QUEUED, None
    row.size_bytes = row.sha256 = None
    _clear_progress(row)


def _set_pulled(pulled: Pulled) -> Modify:
    """Return the update for a file that is complete, but not in place yet."""

    def modify(row: ImageImport) -> None:
        row.size_bytes, row.sha256 = pulled.size_bytes, pulled.sha256

    return modify


def _set_done(row: ImageImport) -> None:
    row.state, row.ended_at = ImportState.DONE, utcnow()
    _clear_progress(row)


def _set_failed(reason: str) -> Modify:
    """Return the update for an import that ended without an image.

    It counts as cancelled if that was requested, even if it failed before it could be stopped.
    """

    def modify(row: ImageImport) -> None:
        cancelled = row.wanted is Wanted.STOP
        row.state = ImportState.CANCELLED if cancelled else ImportState.FAILED
        row.reason, row.ended_at = None if cancelled else reason, utcnow()
        row.size_bytes = row.sha256 = None
        _clear_progress(row)

    return modify


def _set_progress(row: ImageImport, progress: Progress) -> None:
    row.phase, row.percent = progress.phase.value, progress.percent
    row.bytes_done, row.bytes_total = progress.bytes_done, progress.bytes_total


def _clear_progress(row: ImageImport) -> None:
    row.phase = row.percent = row.bytes_done = row.bytes_total = None


# --- files ----------------------------------------------------------------------------------------


def _is_in_place(path: Path, row: ImageImport) -> bool:
    """Return whether the file was moved into place before the portal was killed."""
    with suppress(OSError):
        status = path.stat()
        later = row.started_at is not None and status.st_mtime >= row.started_at.timestamp()
        return row.sha256 is not None and status.st_size == row.size_bytes and later
    return False


def _publish(half: Path, file: Path, replace: bool, stop: asyncio.Event) -> None:
    """Move a complete file into place atomically. Raises PullFailed if the name was taken
    concurrently, or if the import was cancelled.
    """
    if stop.is_set():
        raise PullFailed(STOPPED)
    if not replace and file.exists():
        raise PullFailed(image_imports.NAME_TAKEN)
    half.rename(file)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove_path(path: Path) -> None:
    """Remove a file or folder if it exists. A failure is only logged: it must not prevent saving an
    import's result or starting others.
    """
    try:
        if path.is_dir():
            _remove_folder(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("an import has left files behind", path=str(path), error=str(error))


def _remove_folder(folder: Path) -> None:
    """Remove a folder; images contain folders that even their owner may not write to."""
    for where, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(where) / name
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder)
