"""Image import by `apptainer pull`: from a registry reference to a validated file.

A failure is reported as a sentence with the reason. This is the only code that fetches images. It
runs as the portal's own account, below a separate folder, behind supervised_process.py: when the
portal ends in any way, the pull and all its processes end too. A password is only in the file whose
path is passed to Apptainer.
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

from spawner import subprocesses, supervised_process
from spawner.containers import image_file
from spawner.containers.image_file import NotAnImage, this_architecture
from spawner.containers.pull_output import PullNames, PullPhase, percent_of, phase_of, why_failed
from spawner.containers.references import Reference
from spawner.containers.runtimes import SYSTEM_PATH

log = logging.getLogger(__name__)

REPORT_EVERY_S = 1.0
TAIL_CHARS = 8000
CHUNK_BYTES = 1024 * 1024
MODE = 0o644
# proxies and certificate authorities of this machine
_PASSED_ON = re.compile(r"(?i)(https?|no|all)_proxy|SSL_CERT_(FILE|DIR)")
_LINE_END = re.compile(r"[\r\n]")
OTHER_MACHINE = "This image is made for {found} machines; these are {wanted}."


class PullFailed(Exception):
    """There is no image; the message is a sentence for an administrator."""


@dataclass(frozen=True)
class PullRequest:
    """Image to fetch, and paths to use.

    `target` must not exist yet; `work` is an empty folder used only by this pull. `plain` means
    that the registry uses HTTP without TLS.
    """

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
    """Progress of a pull: `percent` of the phase, and bytes fetched; None if unknown."""

    phase: PullPhase = PullPhase.LOOKING
    percent: int | None = None
    bytes_done: int | None = None
    bytes_total: int | None = None


@dataclass(frozen=True)
class Pulled:
    """Valid image file at the request's target."""

    size_bytes: int
    sha256: str


ReportProgress = Callable[[Progress], Awaitable[None]]


def argv(request: PullRequest) -> list[str]:
    """Return Apptainer's command line; it contains no secret."""
    options = ["--no-https"] if request.plain else []
    if request.auth_file is not None:
        options += ["--authfile", str(request.auth_file)]
    pull = [str(request.apptainer), "-v", "pull", *options]
    return [*pull, str(request.target), request.reference.text]


def make_environ(work: Path) -> dict[str, str]:
    """Return a minimal environment: of the portal's own account only the network settings."""
    passed_on = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    settings = {
        "PATH": SYSTEM_PATH,
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "HOME": str(work),
        "TMPDIR": str(work),
        "APPTAINER_TMPDIR": str(work),
        "APPTAINER_CACHEDIR": str(work / "cache"),
    }
    return passed_on | settings


async def pull(
    request: PullRequest,
    report_progress: ReportProgress,
    *,
    stop: asyncio.Event,
    lock: int | None = None,
) -> Pulled:
    """Fetch and validate an image.

    `stop` ends it early; `lock` is the descriptor of a locked file, which every process of the pull
    inherits: so the lock lasts until the last one has ended.

    Raises PullFailed. After cancellation or failure, no process is left; there may be files at
    `target` and in `work`, which the caller removes.
    """
    running = _Running(request, report_progress)
    try:
        async with asyncio.timeout(request.timeout_s):
            await running.run(stop, lock)
            await report_progress(Progress(PullPhase.CHECKING))
            return await asyncio.to_thread(_validate, request)
    except TimeoutError:
        hours = f"{request.timeout_s / 3600:g}"
        raise PullFailed(
            f"It took longer than {hours} hours (image_import_hours) and was ended."
        ) from None


class _Running:
    """One run of Apptainer, with the progress and output so far."""

    def __init__(self, request: PullRequest, report_progress: ReportProgress) -> None:
        self._request = request
        self._report = report_progress
        self._progress = Progress()
        self._tail = ""

    async def run(self, stop: asyncio.Event, lock: int | None) -> None:
        keep = ["--keep", str(lock)] if lock is not None else []
        process = await subprocesses.start(
            *(
                sys.executable,
                "-IS",
                str(Path(supervised_process.__file__)),
                *keep,
                *argv(self._request),
            ),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=make_environ(self._request.work),
            cwd=self._request.work,
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
        )
        assert process.stdin and process.stdout  # noqa: S101 - requested as PIPE above
        read = asyncio.create_task(self._read(process.stdout))
        stopped = asyncio.create_task(stop.wait())
        try:
            while not (read.done() or stopped.done()):
                await asyncio.wait(
                    {read, stopped}, timeout=REPORT_EVERY_S, return_when="FIRST_COMPLETED"
                )
                await self._report(await asyncio.to_thread(self._measure))
        finally:
            process.stdin.close()  # supervised_process kills the remaining processes
            await _wait_ended(process, read, stopped)
        if stop.is_set():
            raise PullFailed("It was stopped.")
        if process.returncode != 0:
            log.warning("apptainer pull failed: %s", self._tail[-2000:])
            raise PullFailed(why_failed(self._tail, self._to_names()))

    async def _read(self, output: asyncio.StreamReader) -> None:
        line = ""
        while chunk := await output.read(4096):
            text = chunk.decode(errors="replace")
            self._tail = (self._tail + text)[-TAIL_CHARS:]
            *lines, line = _LINE_END.split(line + text)
            line = line[-TAIL_CHARS:]
            for complete in lines:
                self._parse_line(complete)

    def _parse_line(self, line: str) -> None:
        if phase := phase_of(line):
            self._progress = Progress(phase)
        elif (
            self._progress.phase is PullPhase.PACKING and (percent := percent_of(line)) is not None
        ):
            self._progress = Progress(PullPhase.PACKING, percent)

    def _measure(self) -> Progress:
        """Return the current progress.

        The bytes fetched are the size of the cache. Apptainer does not report the total, so it is
        known only when everything was fetched.
        """
        progress = self._progress
        if progress.phase is PullPhase.LOOKING:
            return progress
        fetched = sum(_blob_sizes(self._request.work / "cache"))
        total = None if progress.phase is PullPhase.FETCHING else fetched
        return replace(progress, bytes_done=fetched, bytes_total=total)

    def _to_names(self) -> PullNames:
        reference = self._request.reference
        return PullNames(
            reference.host, reference.repository, self._request.has_credentials, this_architecture()
        )


async def _wait_ended(
    process: asyncio.subprocess.Process, read: asyncio.Task[None], stopped: asyncio.Task[bool]
) -> None:
    """Wait until the pull's processes have ended, even if this task is being cancelled."""
    stopped.cancel()
    ending = asyncio.gather(process.wait(), read, return_exceptions=True)
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await ending
        raise


def _blob_sizes(folder: Path) -> Iterator[int]:
    """Yield the size of each blob in the cache, without the folder in which Apptainer packs."""
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "oci-tmp"]
        for name in names:
            with suppress(OSError):  # renamed since it was listed
                yield (Path(directory) / name).stat().st_size


def _validate(request: PullRequest) -> Pulled:
    """Validate the file, and make it readable. Raises PullFailed."""
    expected = this_architecture()
    try:
        architecture = image_file.file_architecture(request.target)
        if request.reference.scheme == "docker":
            architecture = image_file.layout_architecture(request.work / "cache" / "cache" / "blob")
        if architecture is not None and architecture != expected:
            raise PullFailed(OTHER_MACHINE.format(found=architecture, wanted=expected))
        return _digest(request.target)
    except NotAnImage as error:
        raise PullFailed(f"{error}.") from error
    except OSError as error:
        raise PullFailed(f"The imported file can't be read: {error.strerror}.") from error


def _digest(target: Path) -> Pulled:
    """Return size and SHA-256 of a file after syncing it to disk."""
    digest = hashlib.sha256()
    with target.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
        os.fchmod(file.fileno(), MODE)
        os.fsync(file.fileno())
        return Pulled(file.tell(), digest.hexdigest())
