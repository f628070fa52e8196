"""Upload operations: files arrive in pieces, and an upload survives restarts of all programs.

The received part is a hidden file in the target folder, described by a record in
~/.local/share/portal/uploads.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator

from spawner.files.context import FilesContext
from spawner.files.operations import NEW_FILE, both_files, keep_rights, required_data, write_all
from spawner.files.paths import (
    entry_of,
    lstat_or_none,
    open_for_changes,
    problem,
    rename_new,
    required_int,
    required_path_below_root,
    shown_name,
    translating_errors,
)
from spawner.files.upload_state import (
    HASHES,
    MAX_SIZE,
    UPLOAD_GONE,
    Hashed,
    Upload,
    forget_upload,
    open_records,
    read_record,
    read_upload,
    readable_record,
    records_in,
    write_record,
)
from spawner.launcher.program import (
    UUID,
    Refused,
    Request,
    Result,
    opened,
    reporting_home_errors,
    required_field,
    timeout_of,
)

MAX_PIECE = 640 << 10
MAX_UPLOADS = 200
MAX_LISTED_BYTES = 512 << 10
HASHED_AT_ONCE = 4 << 20
PART_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_HASHES = 8


@contextlib.contextmanager
def part_of(upload: Upload) -> Iterator[tuple[int, int]]:
    """Yield the folder and the hidden partial file in it, locked against concurrent writers."""
    with opened(open_for_changes(upload.path.parent)) as folder:
        try:
            fd = os.open(upload.part_name, PART_FLAGS, dir_fd=folder)
        except FileNotFoundError as error:
            raise problem("not-there", UPLOAD_GONE) from error
        with opened(fd), translating_errors(upload.path.name):
            state = os.fstat(fd)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.getuid():
                raise problem("not-there", UPLOAD_GONE)
            lock_part(fd)
            yield folder, fd


def lock_part(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        text = "Another part of this file is being written."
        raise problem("busy", text) from error
    except OSError as error:
        # Without lock support, the offset check alone keeps the order.
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


def begin_upload(context: FilesContext, request: Request) -> Result:
    """Create an upload's record and hidden file.

    Problems that are detectable before any data is sent are reported now: the name is taken, or
    there is too little space.
    """
    upload = Upload(
        required_field(request, "upload_id", str, UUID),
        required_path_below_root(request),
        required_int(request, "size", MAX_SIZE),
        required_field(request, "overwrite", bool),
        time.time(),
    )
    with opened(open_records(context.user)) as records:
        if sum(1 for _ in records_in(records)) >= MAX_UPLOADS:
            raise problem("too-many", "Too many unfinished uploads: finish or discard some.")
        with (
            opened(open_for_changes(upload.path.parent)) as folder,
            translating_errors(upload.path.name),
        ):
            check_name_is_free(folder, upload)
            space = os.fstatvfs(folder)
            if upload.size > space.f_bavail * space.f_frsize:
                raise problem("no-space", "There is not enough space for this file.")
            with reporting_home_errors():
                write_record(records, upload)
            try:
                os.close(os.open(upload.part_name, NEW_FILE, 0o600, dir_fd=folder))
            except OSError:
                forget_upload(records, upload.id)
                raise
    return upload.to_result(0)


def check_name_is_free(folder: int, upload: Upload) -> None:
    """Raise a problem if the file's name is taken, unless the upload may overwrite that entry."""
    existing = lstat_or_none(folder, upload.path.name)
    if existing is None or (upload.overwrite and stat.S_ISREG(existing.st_mode)):
        return
    name = shown_name(upload.path.name)
    if stat.S_ISREG(existing.st_mode):
        text = f"A file named “{name}” already exists."
    else:
        text = f"“{name}” already exists and is not a file, so it can't be replaced."
    raise problem("exists", text, replaceable=stat.S_ISREG(existing.st_mode))


def write_upload(context: FilesContext, request: Request) -> Result:
    """Append a piece, which must begin where the received part ends."""
    upload = read_upload(context.user, required_field(request, "upload_id", str, UUID))
    offset, data = required_int(request, "offset", MAX_SIZE), required_data(request, MAX_PIECE)
    with part_of(upload) as (_, fd):
        size = os.fstat(fd).st_size
        if offset != size:
            text = f"The next part of this file must start at byte {size}."
            raise problem("offset", text, offset=size)
        if offset + len(data) > upload.size:
            raise problem(
                "too-much",
                f"This upload was declared with {upload.size} bytes; it can't be larger.",
            )
        write_all(fd, data, offset)
        if offset == 0:
            HASHES.pop(upload.id, None)
        hashed = HASHES.get(upload.id)
        if offset == 0 or (hashed and hashed.position == offset):
            add_to_hash(upload.id, data)
    return {"offset": offset + len(data)}


def add_to_hash(upload_id: str, data: bytes) -> None:
    if upload_id not in HASHES:
        while len(HASHES) >= MAX_HASHES:
            del HASHES[next(iter(HASHES))]
        HASHES[upload_id] = Hashed()
    hashed = HASHES[upload_id]
    hashed.sha256.update(data)
    hashed.position += len(data)


def look_at_upload(context: FilesContext, request: Request) -> Result:
    """Return an upload's description and how much of it was received."""
    upload = read_upload(context.user, required_field(request, "upload_id", str, UUID))
    with opened(open_for_changes(upload.path.parent)) as folder:
        state = lstat_or_none(folder, upload.part_name)
    if state is None:
        raise problem("not-there", UPLOAD_GONE)
    return upload.to_result(state.st_size)


def list_uploads(context: FilesContext, request: Request) -> Result:
    """Return the unfinished uploads; `offset` is null if the upload's folder cannot be reached.

    An upload whose record cannot be read now is omitted, but kept.
    """
    uploads: list[Result] = []
    size = 0
    with opened(open_records(context.user)) as records:
        for upload_id in records_in(records):
            upload = readable_record(records, upload_id)
            if upload is None:
                continue
            result: Result = {**upload.to_result(0), "offset": offset_of(upload)}
            size += len(json.dumps(result))
            if size > MAX_LISTED_BYTES:
                break
            uploads.append(result)
    return {"uploads": uploads}


def offset_of(upload: Upload) -> int | None:
    with (
        contextlib.suppress(OSError, Refused),
        opened(open_for_changes(upload.path.parent)) as folder,
    ):
        return os.lstat(upload.part_name, dir_fd=folder).st_size
    return None


def finish_upload(context: FilesContext, request: Request) -> Result:
    """Give the complete file its final name.

    `sha256` is the expected checksum, or null. While the checksum is still being computed, the
    answer only reports the progress, and the request must be repeated.
    """
    deadline = time.monotonic() + timeout_of(request)
    upload_id, expected_sha256 = (
        required_field(request, "upload_id", str, UUID),
        request.get("sha256"),
    )
    upload = read_upload(context.user, upload_id)
    with part_of(upload) as (folder, fd):
        size = os.fstat(fd).st_size
        if size != upload.size:
            text = f"{upload.size - size} bytes of this file are missing."
            raise problem("offset", text, offset=size)
        hashed = continue_hash(fd, upload_id, size, deadline)
        if hashed.position < size:
            return {"done": False, "hashed": hashed.position, "size_bytes": size}
        checksum = hashed.sha256.hexdigest()
        if expected_sha256 is not None and expected_sha256 != checksum:
            text = "The checksum of the received file differs from the one sent. Upload it again."
            raise problem("checksum", text, sha256=checksum)
        check_name_is_free(folder, upload)
        put_in_place(context, folder, fd, upload)
        entry = entry_of(folder, upload.path.name)
    with opened(open_records(context.user)) as records:
        forget_upload(records, upload_id)
    return {"done": True, "sha256": checksum, "entry": entry}


def continue_hash(fd: int, upload_id: str, size: int, deadline: float) -> Hashed:
    """Continue the checksum by reading the file, until the deadline."""
    if upload_id not in HASHES:
        add_to_hash(upload_id, b"")
    hashed = HASHES[upload_id]
    while hashed.position < size and time.monotonic() < deadline:
        data = os.pread(fd, HASHED_AT_ONCE, hashed.position)
        if not data:
            raise problem("not-there", UPLOAD_GONE)
        add_to_hash(upload_id, data)
    return hashed


def put_in_place(context: FilesContext, folder: int, fd: int, upload: Upload) -> None:
    os.fchmod(fd, 0o666 & ~context.umask)
    os.fsync(fd)  # A network file system may report an exceeded quota only here.
    name = upload.path.name
    existing = lstat_or_none(folder, name)
    if existing and upload.overwrite and both_files(existing, os.fstat(fd)):
        keep_rights(fd, existing)
        os.rename(upload.part_name, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        rename_new(folder, upload.part_name, folder, name)


def drop_upload(context: FilesContext, request: Request) -> Result:
    """Delete an upload's record and the part received."""
    upload_id = required_field(request, "upload_id", str, UUID)
    with opened(open_records(context.user)) as records:
        upload = read_record(records, upload_id)
        if upload is None:
            raise problem("not-there", UPLOAD_GONE)
        delete_upload(records, upload)
    return {}


def delete_upload(records: int, upload: Upload) -> None:
    """Delete the hidden file, then the record.

    In this order, because the record must outlive a hidden file that cannot be reached now.
    """
    try:
        with (
            opened(open_for_changes(upload.path.parent)) as folder,
            translating_errors(upload.path.name),
            contextlib.suppress(FileNotFoundError),
        ):
            os.unlink(upload.part_name, dir_fd=folder)
    except Refused as refused:
        if refused.more.get("code") not in ("not-there", "no-folder", "link"):
            raise
    forget_upload(records, upload.id)


def clean_uploads(context: FilesContext, request: Request) -> Result:
    """Drop uploads that received nothing for `older_s` seconds."""
    before = time.time() - required_int(request, "older_s", 1 << 32)
    dropped = 0
    with opened(open_records(context.user)) as records:
        for upload_id in list(records_in(records)):
            upload = readable_record(records, upload_id)
            if upload is not None and last_written(upload) < before:
                with contextlib.suppress(Refused):
                    delete_upload(records, upload)
                    dropped += 1
    return {"dropped": dropped}


def last_written(upload: Upload) -> float:
    with (
        contextlib.suppress(OSError, Refused),
        opened(open_for_changes(upload.path.parent)) as folder,
    ):
        return max(upload.created_at, os.lstat(upload.part_name, dir_fd=folder).st_mtime)
    return upload.created_at
