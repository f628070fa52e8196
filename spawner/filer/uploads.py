"""Uploads in pieces, which outlive everything but the user's own disk: what has come lies in a
hidden file beside where the whole one is to be, which is told in ~/.local/share/portal/uploads."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator

from spawner.filer.changing import NEW_FILE, both_files, keep_rights, want_data, write_all
from spawner.filer.places import (
    entry_of,
    lstat_or_none,
    operation,
    problem,
    rename_new,
    shown_name,
    telling,
    want_below,
    whole_number,
    working_folder,
)
from spawner.filer.records import (
    GONE,
    HASHES,
    MAX_SIZE,
    Hashed,
    Upload,
    forget,
    open_records,
    read_record,
    read_upload,
    readable_record,
    records_in,
    write_record,
)
from spawner.launcher import (
    UUID,
    Launcher,
    Refused,
    Request,
    Result,
    at_home,
    opened,
    want,
    want_timeout,
)

MAX_PIECE = 640 << 10
MOST_UPLOADS = 200
MOST_LISTED_BYTES = 512 << 10
HASHED_AT_ONCE = 4 << 20
PART = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST_HASHES = 8


@contextlib.contextmanager
def part_of(upload: Upload) -> Iterator[tuple[int, int]]:
    """The folder, and the hidden file in it, held so that nobody else writes to it meanwhile."""
    with opened(working_folder(upload.place.parent)) as folder:
        try:
            fd = os.open(upload.part, PART, dir_fd=folder)
        except FileNotFoundError as error:
            raise problem("not-there", GONE) from error
        with opened(fd), telling(upload.place.name):
            state = os.fstat(fd)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.getuid():
                raise problem("not-there", GONE)
            hold(fd)
            yield folder, fd


def hold(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        text = "Another piece of this file is being written at this moment."
        raise problem("busy", text) from error
    except OSError as error:
        # where there are no locks, the offset alone keeps order
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


@operation
def begin_upload(launcher: Launcher, request: Request) -> Result:
    """Make an upload's hidden file. What can be known before a byte is sent is told now: something
    of that name is there, there is too little room."""
    upload = Upload(
        want(request, "number", str, UUID),
        want_below(request),
        whole_number(request, "size", MAX_SIZE),
        want(request, "overwrite", bool),
        time.time(),
    )
    with opened(open_records(launcher.user)) as records:
        if sum(1 for _ in records_in(records)) >= MOST_UPLOADS:
            raise problem("too-many", "Too many uploads are unfinished: finish or drop some.")
        with opened(working_folder(upload.place.parent)) as folder, telling(upload.place.name):
            check_place(folder, upload)
            room = os.fstatvfs(folder)
            if upload.size > room.f_bavail * room.f_frsize:
                raise problem("no-space", "There is too little space left for this file.")
            with at_home():
                write_record(records, upload)
            try:
                os.close(os.open(upload.part, NEW_FILE, 0o600, dir_fd=folder))
            except OSError:
                forget(records, upload.id)
                raise
    return upload.told(0)


def check_place(folder: int, upload: Upload) -> None:
    there = lstat_or_none(folder, upload.place.name)
    if there is None or (upload.overwrite and stat.S_ISREG(there.st_mode)):
        return
    name = shown_name(upload.place.name)
    if stat.S_ISREG(there.st_mode):
        text = f"There is a file named “{name}” already."
    else:
        text = f"There is something named “{name}” already, which is no file to be replaced."
    raise problem("exists", text, replaceable=stat.S_ISREG(there.st_mode))


@operation
def write_upload(launcher: Launcher, request: Request) -> Result:
    """A piece, which must begin where the part that has come ends."""
    upload = read_upload(launcher.user, want(request, "number", str, UUID))
    offset, data = whole_number(request, "offset", MAX_SIZE), want_data(request, MAX_PIECE)
    with part_of(upload) as (_, fd):
        size = os.fstat(fd).st_size
        if offset != size:
            text = f"The next piece of this file begins at byte {size}."
            raise problem("offset", text, offset=size)
        if offset + len(data) > upload.size:
            raise problem("too-much", f"This file was to have {upload.size} bytes, not more.")
        write_all(fd, data, offset)
        if offset == 0:
            HASHES.pop(upload.id, None)
        hashed = HASHES.get(upload.id)
        if offset == 0 or (hashed and hashed.position == offset):
            carry_on(upload.id, data)
    return {"offset": offset + len(data)}


def carry_on(number: str, data: bytes) -> None:
    if number not in HASHES:
        while len(HASHES) >= MOST_HASHES:
            del HASHES[next(iter(HASHES))]
        HASHES[number] = Hashed()
    hashed = HASHES[number]
    hashed.sha256.update(data)
    hashed.position += len(data)


@operation
def look_at_upload(launcher: Launcher, request: Request) -> Result:
    """What an upload is to be, and how much of it has come."""
    upload = read_upload(launcher.user, want(request, "number", str, UUID))
    with opened(working_folder(upload.place.parent)) as folder:
        state = lstat_or_none(folder, upload.part)
    if state is None:
        raise problem("not-there", GONE)
    return upload.told(state.st_size)


@operation
def list_uploads(launcher: Launcher, request: Request) -> Result:
    """Those that aren't finished; of one whose folder can't be reached, `offset` is null. One whose
    record can't be read now is left out, and kept."""
    found: list[Result] = []
    size = 0
    with opened(open_records(launcher.user)) as records:
        for number in records_in(records):
            upload = readable_record(records, number)
            if upload is None:
                continue
            told: Result = {**upload.told(0), "offset": offset_of(upload)}
            size += len(json.dumps(told))
            if size > MOST_LISTED_BYTES:
                break
            found.append(told)
    return {"uploads": found}


def offset_of(upload: Upload) -> int | None:
    with (
        contextlib.suppress(OSError, Refused),
        opened(working_folder(upload.place.parent)) as folder,
    ):
        return os.lstat(upload.part, dir_fd=folder).st_size
    return None


@operation
def finish_upload(launcher: Launcher, request: Request) -> Result:
    """Give the whole file its name. `sha256` is what it ought to be, or null. While its checksum is
    still being read, the answer says only how far that is; then this is asked again."""
    deadline = time.monotonic() + want_timeout(request)
    number, wanted = want(request, "number", str, UUID), request.get("sha256")
    upload = read_upload(launcher.user, number)
    with part_of(upload) as (folder, fd):
        size = os.fstat(fd).st_size
        if size != upload.size:
            text = f"{upload.size - size} bytes of this file are still missing."
            raise problem("offset", text, offset=size)
        hashed = read_on(fd, number, size, deadline)
        if hashed.position < size:
            return {"done": False, "hashed": hashed.position, "size_bytes": size}
        checksum = hashed.sha256.hexdigest()
        if wanted is not None and wanted != checksum:
            text = "What arrived isn't what was sent: their checksums differ. Upload it again."
            raise problem("checksum", text, sha256=checksum)
        check_place(folder, upload)
        put_in_place(launcher, folder, fd, upload)
        entry = entry_of(folder, upload.place.name)
    with opened(open_records(launcher.user)) as records:
        forget(records, number)
    return {"done": True, "sha256": checksum, "entry": entry}


def read_on(fd: int, number: str, size: int, deadline: float) -> Hashed:
    """Carry the checksum on from the file itself, for as long as there is time."""
    if number not in HASHES:
        carry_on(number, b"")
    hashed = HASHES[number]
    while hashed.position < size and time.monotonic() < deadline:
        data = os.pread(fd, HASHED_AT_ONCE, hashed.position)
        if not data:
            raise problem("not-there", GONE)
        carry_on(number, data)
    return hashed


def put_in_place(launcher: Launcher, folder: int, fd: int, upload: Upload) -> None:
    os.fchmod(fd, 0o666 & ~launcher.conf.umask)
    os.fsync(fd)  # a network file system tells of a full quota only then
    name = upload.place.name
    there = lstat_or_none(folder, name)
    if there and upload.overwrite and both_files(there, os.fstat(fd)):
        keep_rights(fd, there)
        os.rename(upload.part, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        rename_new(folder, upload.part, folder, name)


@operation
def drop_upload(launcher: Launcher, request: Request) -> Result:
    """Forget an upload and what has come of it."""
    number = want(request, "number", str, UUID)
    with opened(open_records(launcher.user)) as records:
        upload = read_record(records, number)
        if upload is None:
            raise problem("not-there", GONE)
        drop(records, upload)
    return {}


def drop(records: int, upload: Upload) -> None:
    """The record last: as long as the hidden file can't be reached, somebody still knows of it."""
    try:
        with (
            opened(working_folder(upload.place.parent)) as folder,
            telling(upload.place.name),
            contextlib.suppress(FileNotFoundError),
        ):
            os.unlink(upload.part, dir_fd=folder)
    except Refused as refused:
        if refused.more.get("code") not in ("not-there", "no-folder", "link"):
            raise
    forget(records, upload.id)


@operation
def clean_uploads(launcher: Launcher, request: Request) -> Result:
    """Drop those to which nothing was added for `older_s` seconds."""
    before = time.time() - whole_number(request, "older_s", 1 << 32)
    dropped = 0
    with opened(open_records(launcher.user)) as records:
        for number in list(records_in(records)):
            upload = readable_record(records, number)
            if upload is not None and last_written(upload) < before:
                with contextlib.suppress(Refused):
                    drop(records, upload)
                    dropped += 1
    return {"dropped": dropped}


def last_written(upload: Upload) -> float:
    with (
        contextlib.suppress(OSError, Refused),
        opened(working_folder(upload.place.parent)) as folder,
    ):
        return max(upload.created_at, os.lstat(upload.part, dir_fd=folder).st_mtime)
    return upload.created_at
