"""The loop that fetches images: what imports.py was asked for becomes a file, or a reason.

A lock in the state folder lasts until the last process of a pull is gone, so after the portal was
killed the loop begins when nothing of its old life is left. It then removes what is half made and
starts again what was under way.
"""

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog
from sqlalchemy import select

from portal.db import utcnow
from portal.models import ImageImport, ImportState, Wanted
from portal.parts import Parts
from portal.services.catalog import imports
from portal.services.changes import IMPORTS
from portal.services.store import change
from spawner.pull import Order, Progress, Pulled, PullFailed, Tell, pull
from spawner.references import parse_reference
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

AT_ONCE = 2
ROUND_S = 30.0
LOCK_S = 0.2
HALF_MADE = ".import-"
FAULT = "The portal has a fault; its log has more. Try again, or tell whoever looks after it."
STOPPED = "It was cancelled."
Apply = Callable[[ImageImport], None]


class Importer:
    """The loop, for the application's lifespan: `run` until cancelled."""

    def __init__(self, parts: Parts, folder: Path) -> None:
        self.parts = parts
        self.folder = folder
        self.work = parts.settings.state_dir / "imports"
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, asyncio.Event] = {}

    async def run(self) -> None:
        """Begin what waits, end what isn't wanted, whenever something was asked for."""
        self.work.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _open(self.work / "lock") as lock:
            await _locked(lock)
            await asyncio.to_thread(self._clean)
            async with self.parts.changes.listen(IMPORTS) as listener:
                try:
                    while True:
                        await self._round(lock)
                        await listener.wait(ROUND_S)
                finally:
                    await self._end()

    async def _end(self) -> None:
        """The portal is ending: what is under way begins again with its next life."""
        await end_all(self._tasks.values())

    def _clean(self) -> None:
        """Nothing runs: whatever is half made was left by a portal that was killed."""
        for path in self.work.iterdir():
            if path.is_dir():
                _remove(path)
        if self.folder.is_dir():
            for path in self.folder.glob(f"{HALF_MADE}*"):
                _remove(path)

    async def _again(self, row: ImageImport) -> None:
        """A row says that it runs, and nothing does: an earlier life of the portal began it, or its
        end could not be written."""
        if await asyncio.to_thread(_is_there, self.folder / row.file, row):
            found: Apply = _done
        elif row.wanted is Wanted.STOP:
            found = _failed(STOPPED, cancelled=True)
        else:
            found = _queued

        def apply(now: ImageImport) -> None:
            if now.state is ImportState.RUNNING:  # else its end was written a moment ago
                found(now)

        await self._settle(row.id, apply)

    async def _rows(self, state: ImportState) -> list[ImageImport]:
        query = select(ImageImport).where(ImageImport.state == state)
        async with self.parts.db.session() as db:
            return list((await db.scalars(query.order_by(ImageImport.created_at))).all())

    async def _round(self, lock: int) -> None:
        for row in await self._rows(ImportState.RUNNING):
            if row.id not in self._tasks:
                await self._again(row)
            elif row.wanted is Wanted.STOP:
                self._stops[row.id].set()
        for row in await self._rows(ImportState.QUEUED):
            if len(self._tasks) >= AT_ONCE:
                break
            if row.id not in self._tasks:
                self._begin(row, lock)

    def _begin(self, row: ImageImport, lock: int) -> None:
        stop = self._stops[row.id] = asyncio.Event()
        task = asyncio.create_task(self._import(row, stop, lock), name=f"import {row.id}")
        self._tasks[row.id] = task
        task.add_done_callback(lambda done: self._forget(row.id, done))

    def _forget(self, import_id: str, task: asyncio.Task[None]) -> None:
        """What could not even be written down is looked at again, though not at once."""
        self._tasks.pop(import_id, None)
        self._stops.pop(import_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an import's state could not be written", id=import_id, exc_info=error)
        else:
            self.parts.changes.notify(IMPORTS)

    async def _import(self, row: ImageImport, stop: asyncio.Event, lock: int) -> None:
        """One import from beginning to end; the row says how it went."""
        started = await self._settle(row.id, _running)
        if started is None or started.state is not ImportState.RUNNING:
            return  # cancelled a moment ago
        half = self.folder / f"{HALF_MADE}{row.id}.sif"
        work = self.work / row.id
        try:
            outcome = await self._outcome(started, half, work, stop, lock)
        finally:
            await asyncio.to_thread(_remove, half)
            await asyncio.to_thread(_remove, work)
        await self._settle(row.id, outcome)

    async def _outcome(
        self, row: ImageImport, half: Path, work: Path, stop: asyncio.Event, lock: int
    ) -> Apply:
        """Fetch the image and put it in its place; what the row then becomes."""
        try:
            await asyncio.to_thread(work.mkdir, mode=0o700)
            made = await pull(
                self._order(row, half, work), self._tell(row.id), stop=stop, lock=lock
            )
            await self._settle(row.id, _made(made))
            await asyncio.to_thread(_publish, half, self.folder / row.file, row.replace, stop)
            await self.parts.catalog.refresh()
        except PullFailed as error:
            return _failed(str(error), cancelled=stop.is_set())
        except (OSError, ValueError) as error:
            return _failed(f"It could not be done: {error}.")
        except Exception:
            log.exception("an import failed", file=row.file)
            return _failed(FAULT)
        return _done

    def _order(self, row: ImageImport, half: Path, work: Path) -> Order:
        """Raises ValueError for a credentials file that can't be used."""
        settings = self.parts.settings
        reference = parse_reference(row.reference)
        return Order(
            reference=reference,
            target=half,
            work=work,
            apptainer=settings.apptainer_path,
            auth_file=settings.image_import_auth_file,
            has_credentials=reference.host in settings.registries_with_credentials,
            plain=reference.host in settings.image_import_plain_registries,
            timeout_s=settings.image_import_hours * 3600,
        )

    def _tell(self, import_id: str) -> Tell:
        """What writes a pull's progress into its row, when it is news."""
        last = Progress()

        async def tell(progress: Progress) -> None:
            nonlocal last
            if progress == last:
                return
            last = progress
            await self._settle(import_id, lambda row: _progress(row, progress))

        return tell

    async def _settle(self, import_id: str, apply: Apply) -> ImageImport | None:
        return await change(self.parts.db, ImageImport, import_id, apply)


# --- what a row becomes ---------------------------------------------------------------------------


def _running(row: ImageImport) -> None:
    if row.state is ImportState.QUEUED:
        row.state, row.started_at = ImportState.RUNNING, utcnow()


def _queued(row: ImageImport) -> None:
    row.state, row.started_at = ImportState.QUEUED, None
    row.size_bytes = row.sha256 = None
    _clear_progress(row)


def _made(made: Pulled) -> Apply:
    """The file is whole, and not yet in its place."""

    def apply(row: ImageImport) -> None:
        row.size_bytes, row.sha256 = made.size_bytes, made.sha256

    return apply


def _done(row: ImageImport) -> None:
    row.state, row.ended_at = ImportState.DONE, utcnow()
    _clear_progress(row)


def _failed(reason: str, *, cancelled: bool = False) -> Apply:
    def apply(row: ImageImport) -> None:
        row.state = ImportState.CANCELLED if cancelled else ImportState.FAILED
        row.reason, row.ended_at = None if cancelled else reason, utcnow()
        row.size_bytes = row.sha256 = None
        _clear_progress(row)

    return apply


def _progress(row: ImageImport, progress: Progress) -> None:
    row.phase, row.percent = progress.phase.value, progress.percent
    row.bytes_done, row.bytes_total = progress.bytes_done, progress.bytes_total


def _clear_progress(row: ImageImport) -> None:
    row.phase = row.percent = row.bytes_done = row.bytes_total = None


# --- files ----------------------------------------------------------------------------------------


@contextmanager
def _open(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def _locked(descriptor: int) -> None:
    """Wait until no process of an earlier life has the lock."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(LOCK_S)
        else:
            return


def _is_there(path: Path, row: ImageImport) -> bool:
    """Whether the portal was killed after the file was put in its place."""
    with suppress(OSError):
        status = path.stat()
        later = row.started_at is not None and status.st_mtime >= row.started_at.timestamp()
        return row.sha256 is not None and status.st_size == row.size_bytes and later
    return False


def _publish(half: Path, file: Path, replace: bool, stop: asyncio.Event) -> None:
    """Put a whole file in its place, in one step. Raises PullFailed for a name taken meanwhile, and
    for an import that nobody wants any more."""
    if stop.is_set():
        raise PullFailed(STOPPED)
    if not replace and file.exists():
        raise PullFailed(imports.TAKEN)
    half.rename(file)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove(path: Path) -> None:
    """A file or folder, if it is there. That it can't be removed is no reason to forget how an
    import went, nor to begin no other."""
    try:
        if path.is_dir():
            _remove_folder(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("an import has left files behind", path=str(path), error=str(error))


def _remove_folder(folder: Path) -> None:
    """Images hold folders that even their owner may not write."""
    for where, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(where) / name
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder)
