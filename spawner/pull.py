"""Runs `apptainer pull`: a registry reference in, a checked file out, or a sentence that says why
not. The only code that fetches images.

It runs as the portal's own account, below a folder of its own, behind leash.py: whatever ends the
portal ends the pull with everything it started. A password is only ever in the file whose path
Apptainer is given.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from spawner import imagefile, leash
from spawner.imagefile import NotAnImage, this_architecture
from spawner.pulltext import Phase, Place, percent_of, phase_of, why_failed
from spawner.references import Reference

log = logging.getLogger(__name__)

LOOK_S = 1.0
TAIL_CHARS = 8000
CHUNK_BYTES = 1024 * 1024
MODE = 0o644
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# how this machine reaches the network, and whom it trusts there
_PASSED_ON = re.compile(r"(?i)(https?|no|all)_proxy|SSL_CERT_(FILE|DIR)")
_LINE_END = re.compile(r"[\r\n]")
OTHER_MACHINE = "This image is made for {found} machines; these are {wanted}."


class PullFailed(Exception):
    """There is no image; the message is a sentence for an administrator."""


@dataclass(frozen=True)
class Order:
    """What to fetch, and where everything may lie. `target` doesn't exist yet; `work` is an empty
    folder that this pull has to itself. `plain`: the registry speaks HTTP without TLS."""

    reference: Reference
    target: Path
    work: Path
    apptainer: Path
    auth_file: Path | None
    has_credentials: bool
    plain: bool
    timeout_s: float


@dataclass(frozen=True)
class Progress:
    """How far a pull is: `percent` of the phase, and bytes fetched; None where it isn't known."""

    phase: Phase = Phase.LOOKING
    percent: int | None = None
    bytes_done: int | None = None
    bytes_total: int | None = None


@dataclass(frozen=True)
class Pulled:
    """A file that is an image, at the order's target."""

    size_bytes: int
    sha256: str


Tell = Callable[[Progress], Awaitable[None]]


def argv(order: Order) -> list[str]:
    """Apptainer's command line; it holds no secret."""
    options = ["--no-https"] if order.plain else []
    if order.auth_file is not None:
        options += ["--authfile", str(order.auth_file)]
    pull = [str(order.apptainer), "-v", "pull", *options]
    return [*pull, str(order.target), order.reference.text]


def environment(work: Path) -> dict[str, str]:
    """Nothing of the portal's own account but its way to the network."""
    kept = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    own = {
        "PATH": PATH,
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "HOME": str(work),
        "TMPDIR": str(work),
        "APPTAINER_TMPDIR": str(work),
        "APPTAINER_CACHEDIR": str(work / "cache"),
    }
    return kept | own


async def pull(order: Order, tell: Tell, *, stop: asyncio.Event, lock: int | None = None) -> Pulled:
    """Fetch and check. `stop` ends it early; `lock` is a descriptor that every process keeps.

    Raises PullFailed. Cancelled or failed, no process is left; files may be, at `target` and in
    `work`, for the caller to remove.
    """
    running = _Running(order, tell)
    try:
        async with asyncio.timeout(order.timeout_s):
            await running.run(stop, lock)
            await tell(Progress(Phase.CHECKING))
            return await asyncio.to_thread(_checked, order)
    except TimeoutError:
        hours = f"{order.timeout_s / 3600:g}"
        raise PullFailed(
            f"It took longer than {hours} hours (image_import_hours) and was ended."
        ) from None


class _Running:
    """One run of Apptainer, and what it has said so far."""

    def __init__(self, order: Order, tell: Tell) -> None:
        self._order = order
        self._tell = tell
        self._seen = Progress()
        self._tail = ""

    async def run(self, stop: asyncio.Event, lock: int | None) -> None:
        keep = ["--keep", str(lock)] if lock is not None else []
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-IS", str(Path(leash.__file__)), *keep, *argv(self._order)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(self._order.work),
            cwd=self._order.work,
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
        )
        assert process.stdin and process.stdout  # noqa: S101 - asked for
        read = asyncio.create_task(self._read(process.stdout))
        stopped = asyncio.create_task(stop.wait())
        try:
            while not (read.done() or stopped.done()):
                await asyncio.wait({read, stopped}, timeout=LOOK_S, return_when="FIRST_COMPLETED")
                await self._tell(await asyncio.to_thread(self._look))
        finally:
            process.stdin.close()  # the leash kills what is left
            await _settled(process, read, stopped)
        if stop.is_set():
            raise PullFailed("It was stopped.")
        if process.returncode != 0:
            log.warning("apptainer pull failed: %s", self._tail[-2000:])
            raise PullFailed(why_failed(self._tail, self._place()))

    async def _read(self, output: asyncio.StreamReader) -> None:
        line = ""
        while chunk := await output.read(4096):
            text = chunk.decode(errors="replace")
            self._tail = (self._tail + text)[-TAIL_CHARS:]
            *lines, line = _LINE_END.split(line + text)
            line = line[-TAIL_CHARS:]
            for complete in lines:
                self._note(complete)

    def _note(self, line: str) -> None:
        if phase := phase_of(line):
            self._seen = Progress(phase)
        elif self._seen.phase is Phase.PACKING and (percent := percent_of(line)) is not None:
            self._seen = Progress(Phase.PACKING, percent)

    def _look(self) -> Progress:
        """What is known now. What has come is the size of the cache; Apptainer doesn't say how much
        is to come, so the total is known when nothing more does."""
        seen = self._seen
        if seen.phase is Phase.LOOKING:
            return seen
        fetched = sum(_sizes(self._order.work / "cache"))
        total = None if seen.phase is Phase.FETCHING else fetched
        return replace(seen, bytes_done=fetched, bytes_total=total)

    def _place(self) -> Place:
        reference = self._order.reference
        return Place(
            reference.host, reference.repository, self._order.has_credentials, this_architecture()
        )


async def _settled(
    process: asyncio.subprocess.Process, read: asyncio.Task[None], stopped: asyncio.Task[bool]
) -> None:
    """Until the pull's processes are gone, whoever else is being cancelled meanwhile."""
    stopped.cancel()
    ending = asyncio.gather(process.wait(), read, return_exceptions=True)
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await ending
        raise


def _sizes(folder: Path) -> Iterator[int]:
    """The size of each blob in the cache. Apptainer packs in the same place: that doesn't count."""
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "oci-tmp"]
        for name in names:
            with suppress(OSError):  # renamed meanwhile
                yield (Path(where) / name).stat().st_size


def _checked(order: Order) -> Pulled:
    """Hold the file against what it should be; make it readable. Raises PullFailed."""
    wanted = this_architecture()
    try:
        found = imagefile.file_architecture(order.target)
        if order.reference.scheme == "docker":
            found = imagefile.layout_architecture(order.work / "cache" / "cache" / "blob")
        if found is not None and found != wanted:
            raise PullFailed(OTHER_MACHINE.format(found=found, wanted=wanted))
        return _digest(order.target)
    except NotAnImage as error:
        raise PullFailed(f"{error}.") from error
    except OSError as error:
        raise PullFailed(f"The imported file can't be read: {error.strerror}.") from error


def _digest(target: Path) -> Pulled:
    """Size and SHA-256 of a file that is safely on its disk."""
    told = hashlib.sha256()
    with target.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            told.update(chunk)
        os.fchmod(file.fileno(), MODE)
        os.fsync(file.fileno())
        return Pulled(file.tell(), told.hexdigest())
