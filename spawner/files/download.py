"""Download operations: send part of a file, or several files and folders as one archive.

Archives are made while they are sent, so memory stays bounded for any size. The process serves
nothing else during a download, and ends after it.
"""

from __future__ import annotations

import os
import stat
import struct
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from spawner.files.context import FilesContext
from spawner.files.paths import (
    READ_FLAGS,
    open_file,
    open_folder,
    problem,
    required_int,
    required_path,
    system_name,
    text_of,
    translating_errors,
    version_of,
)
from spawner.launcher.program import Refused, Request, Result, required_field

PIECE = 256 << 10
MAX_LEVELS = 200
MAX_PICKED = 500
MAX_LEFT_OUT = 1000
MAX_HOLES = 16 << 30
"""Bytes of sparse-file holes per archive: they occupy no disk, so creating them costs nothing."""
SPARSE = 64
"""A file counts as sparse if less than 1/SPARSE of it is allocated: file systems may also
compress."""
LEFT_OUT = "LEFT-OUT.txt"
BLOCK = 512
ENTRY_FLAGS = READ_FLAGS | os.O_NOFOLLOW
ZIP64_FROM = 0xFF000000  # 16 MiB below 4 GiB: data that can't be compressed grows by 0.03 %
UTF8_NAME, SIZES_FOLLOW = 0x800, 0x8
UNIX = 3 << 8


# --- one file -------------------------------------------------------------------------------------


def open_file_to_send(context: FilesContext, request: Request) -> Result:
    """Open a file and return its size and version, so that the caller can choose a range."""
    fd = open_file(required_path(request))
    if context.opened is not None:
        os.close(context.opened)
    context.opened = fd
    state = os.fstat(fd)
    version, changed = version_of(state), state.st_mtime
    return {"size_bytes": state.st_size, "version": version, "modified_at": changed}


def send_file(context: FilesContext, request: Request) -> Result:
    """Send `length` bytes of the opened file after this response."""
    offset = required_int(request, "offset", 1 << 62)
    length = required_int(request, "length", 1 << 62)
    if context.opened is None:
        raise Refused("BadRequest", "no file is open")
    context.stream = piece_by_piece(context.opened, offset, length)
    return {}


def piece_by_piece(fd: int, offset: int, length: int) -> Iterator[bytes]:
    """Yield exactly `length` bytes, or raise a problem if the file became shorter."""
    while length > 0:
        with translating_errors("this file"):
            data = os.pread(fd, min(PIECE, length), offset)
        if not data:
            raise problem("changed", "The file was truncated while it was being read.")
        yield data
        offset, length = offset + len(data), length - len(data)


# --- archives -------------------------------------------------------------------------------------


class ArchiveEntry(NamedTuple):
    """Entry to pack: its name in the archive, and how to open it while its folder is open."""

    name: str
    state: os.stat_result
    folder: int
    own_name: str


def send_archive(context: FilesContext, request: Request) -> Result:
    """Send entries of one folder as a zip or tar archive after this response.

    Entries that cannot be packed are listed in a text file at the archive's end.
    """
    path, kind = required_path(request), required_field(request, "format", str)
    names = required_field(request, "names", list)
    if kind not in ("zip", "tar") or not 0 < len(names) <= MAX_PICKED:
        raise Refused("BadRequest", "format or names is malformed")
    if not all(type(name) is str and "/" not in name and "\0" not in name for name in names):
        raise Refused("BadRequest", "names is malformed")
    if {"", ".", ".."} & set(names):
        raise problem("bad-name", "These can't be added to an archive.")
    picked = [system_name(name) for name in names]
    folder = open_folder(path)
    with translating_errors(path.name):
        for name in picked:
            with translating_errors(name):
                os.lstat(name, dir_fd=folder)
    pack = pack_zip if kind == "zip" else pack_tar
    context.stream = pack(ArchiveWalk(folder, picked, Omissions()))
    return {}


class Omissions:
    """List of entries left out of an archive, with reasons."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.more = 0

    def add(self, name: str, why: str) -> None:
        if len(self.lines) < MAX_LEFT_OUT:
            self.lines.append(f"{text_of(name)}: {why}")
        else:
            self.more += 1

    def text(self) -> bytes:
        lines = [*self.lines, f"and {self.more} more"] if self.more else self.lines
        return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


class ArchiveWalk:
    """Depth-first iteration over several names of a folder, with one open folder per level."""

    def __init__(self, folder: int, names: list[str], omitted: Omissions) -> None:
        self.folder, self.names, self.omitted = folder, names, omitted
        self.holes = MAX_HOLES

    def __iter__(self) -> Iterator[ArchiveEntry]:
        for name in self.names:
            yield from self.below(self.folder, name)

    def below(self, top: int, name: str) -> Iterator[ArchiveEntry]:
        first = self.inspect_entry(top, name, name)
        if first is None:
            return
        yield first
        levels = [self.enter(first)] if stat.S_ISDIR(first.state.st_mode) else []
        try:
            while levels:
                folder, entries, prefix = levels[-1]
                entry = next(entries, None)
                if entry is None:
                    levels.pop()
                    close_level(folder, entries)
                    continue
                item = self.inspect_entry(folder, entry.name, f"{prefix}/{entry.name}")
                if item is None:
                    continue
                yield item
                if stat.S_ISDIR(item.state.st_mode):
                    if len(levels) < MAX_LEVELS:
                        levels.append(self.enter(item))
                    else:
                        self.omitted.add(item.name, "it is nested too deeply")
        finally:
            for folder, entries, _ in levels:
                close_level(folder, entries)

    def inspect_entry(self, folder: int, own_name: str, name: str) -> ArchiveEntry | None:
        try:
            state = os.lstat(own_name, dir_fd=folder)
        except OSError as error:
            self.omitted.add(name, str(error.strerror))
            return None
        if kind_is_packed(state):
            return ArchiveEntry(name, state, folder, own_name)
        self.omitted.add(name, "it is not a file, folder or link")
        return None

    def enter(self, entry: ArchiveEntry) -> tuple[int, Iterator[os.DirEntry[str]], str]:
        flags = ENTRY_FLAGS | os.O_DIRECTORY
        try:
            folder = os.open(entry.own_name, flags, dir_fd=entry.folder)
        except OSError as error:
            self.omitted.add(entry.name, str(error.strerror))
            return -1, iter(()), entry.name
        return folder, os.scandir(folder), entry.name

    def open(self, entry: ArchiveEntry) -> int | None:
        try:
            fd = os.open(entry.own_name, ENTRY_FLAGS, dir_fd=entry.folder)
            state = os.fstat(fd)
            if stat.S_ISREG(state.st_mode) and self.claim_allowance(entry, state):
                return fd
            os.close(fd)
        except OSError as error:
            self.omitted.add(entry.name, str(error.strerror))
        return None

    def claim_allowance(self, entry: ArchiveEntry, state: os.stat_result) -> bool:
        """Take the file's holes from the archive's allowance for sparse files.

        Return False if they exceed it; then the file is omitted.
        """
        allocated = state.st_blocks * BLOCK
        holes = state.st_size - allocated if allocated * SPARSE < state.st_size else 0
        if holes > self.holes:
            why = "it is mostly empty (a sparse file): download it by itself"
            self.omitted.add(entry.name, why)
            return False
        self.holes -= holes
        return True

    def link(self, entry: ArchiveEntry) -> str | None:
        try:
            return os.readlink(entry.own_name, dir_fd=entry.folder)
        except OSError as error:
            self.omitted.add(entry.name, str(error.strerror))
        return None


def kind_is_packed(state: os.stat_result) -> bool:
    mode = state.st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def close_level(folder: int, entries: Any) -> None:
    if folder >= 0:
        entries.close()
        os.close(folder)


def read_content(fd: int, most: int) -> Iterator[bytes]:
    """Yield a file's content, at most `most` bytes so that a growing file comes to an end.

    A read error ends the content early.
    """
    try:
        while most > 0 and (data := os.read(fd, min(PIECE, most))):
            yield data
            most -= len(data)
    except OSError:
        return
    finally:
        os.close(fd)


# --- tar ------------------------------------------------------------------------------------------


def pack_tar(walk: ArchiveWalk) -> Iterator[bytes]:
    for item in walk:
        yield from tar_one(walk, item)
    if walk.omitted.lines:
        text = walk.omitted.text()
        yield tar_header(LEFT_OUT, stat.S_IFREG | 0o600, time.time(), len(text)) + text
        yield bytes(-len(text) % BLOCK)
    yield bytes(2 * BLOCK)


def tar_one(walk: ArchiveWalk, entry: ArchiveEntry) -> Iterator[bytes]:
    mode, changed = entry.state.st_mode, entry.state.st_mtime
    if stat.S_ISDIR(mode):
        yield tar_header(entry.name, mode, changed, 0)
    elif stat.S_ISLNK(mode):
        target = walk.link(entry)
        if target is not None:
            yield tar_header(entry.name, mode, changed, 0, target)
    elif (fd := walk.open(entry)) is not None:
        size, sent_bytes = os.fstat(fd).st_size, 0
        yield tar_header(entry.name, mode, changed, size)
        for data in read_content(fd, size):
            sent_bytes += len(data)
            yield data
        if sent_bytes < size:
            walk.omitted.add(entry.name, f"only its first {sent_bytes} bytes could be read")
            yield from zero_bytes(size - sent_bytes)
        yield bytes(-size % BLOCK)


def zero_bytes(count: int) -> Iterator[bytes]:
    while count > 0:
        yield bytes(min(PIECE, count))
        count -= PIECE


def tar_header(name: str, mode: int, changed: float, size: int, target: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    kinds = {stat.S_IFDIR: tarfile.DIRTYPE, stat.S_IFLNK: tarfile.SYMTYPE}
    info.type = kinds.get(stat.S_IFMT(mode), tarfile.REGTYPE)
    info.mode, info.mtime, info.size = stat.S_IMODE(mode), max(0, int(changed)), size
    info.linkname = target
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


# --- zip (PKWARE's APPNOTE 6.3, sections 4.3 and 4.5) ---------------------------------------------


def pack_zip(walk: ArchiveWalk) -> Iterator[bytes]:
    """Yield a zip archive.

    The central directory, which comes last, is buffered in an unnamed file.
    """
    with tempfile.TemporaryFile() as directory:
        zipped = Zip(directory)
        for item in walk:
            yield from zip_one(walk, zipped, item)
        if walk.omitted.lines:
            text = walk.omitted.text()
            yield from zipped.add(LEFT_OUT, stat.S_IFREG | 0o600, time.time(), len(text), [text])
        yield from zipped.end()


def zip_one(walk: ArchiveWalk, zipped: Zip, entry: ArchiveEntry) -> Iterator[bytes]:
    mode, changed = entry.state.st_mode, entry.state.st_mtime
    if stat.S_ISDIR(mode):
        yield from zipped.add(f"{entry.name}/", mode, changed, 0, [])
    elif stat.S_ISLNK(mode):
        target = walk.link(entry)
        if target is not None:
            walk.omitted.add(entry.name, f"it is a link to {target}")
    elif (fd := walk.open(entry)) is not None:
        size = os.fstat(fd).st_size
        yield from zipped.add(entry.name, mode, changed, size, read_content(fd, size))
        if zipped.added < size:
            walk.omitted.add(entry.name, f"only its first {zipped.added} bytes could be read")


class Zip:
    """Zip file written front to back: the sizes follow each file's data."""

    def __init__(self, directory: IO[bytes]) -> None:
        self.directory, self.offset, self.count, self.added = directory, 0, 0, 0

    def add(self, name: str, mode: int, changed: float, size: int, data: Any) -> Iterator[bytes]:
        raw = os.fsencode(name)[:0xFFFF]
        flags = SIZES_FOLLOW | (UTF8_NAME if is_text(raw) else 0)
        large, start = size >= ZIP64_FROM, self.offset
        fields = (45 if large else 20, flags, zlib.DEFLATED, *dos_time(changed))
        extra = struct.pack("<HHQQ", 1, 16, 0, 0) if large else b""
        unknown = 0xFFFFFFFF if large else 0
        lengths = (unknown, unknown, len(raw), len(extra))
        yield self.out(struct.pack("<4s5H3L2H", b"PK\3\4", *fields, 0, *lengths) + raw + extra)
        crc = packed = self.added = 0
        deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
        for piece in data:
            crc, self.added = zlib.crc32(piece, crc), self.added + len(piece)
            squeezed = deflate.compress(piece)
            packed += len(squeezed)
            yield self.out(squeezed)
        remainder = deflate.flush()
        packed += len(remainder)
        form = "<4sLQQ" if large else "<4sLLL"
        yield self.out(remainder + struct.pack(form, b"PK\7\10", crc, packed, self.added))
        self.list(raw, fields, mode, (crc, packed, self.added, start))

    def list(
        self, raw: bytes, fields: tuple[int, ...], mode: int, figures: tuple[int, int, int, int]
    ) -> None:
        """Record a file's entry for the central directory."""
        crc, packed, size, start = figures
        wide = max(packed, size, start) >= ZIP64_FROM
        extra = struct.pack("<HHQQQ", 1, 24, size, packed, start) if wide else b""
        if wide:
            packed = size = start = 0xFFFFFFFF
            fields = (45, *fields[1:])
        attributes = (mode & 0xFFFF) << 16 | (0x10 if stat.S_ISDIR(mode) else 0)
        numbers = (UNIX | 45, *fields, crc, packed, size, len(raw), len(extra), 0, 0, 0)
        line = struct.pack("<4s6H3L5H2L", b"PK\1\2", *numbers, attributes, start)
        self.directory.write(line + raw + extra)
        self.count += 1

    def end(self) -> Iterator[bytes]:
        start, length = self.offset, self.directory.tell()
        self.directory.seek(0)
        while piece := self.directory.read(PIECE):
            yield self.out(piece)
        count = (self.count, self.count)
        if self.count >= 0xFFFF or max(start, length) >= ZIP64_FROM:
            record = (44, 45, 45, 0, 0, *count, length, start)
            yield struct.pack("<4sQ2H2L4Q", b"PK\6\6", *record)
            yield struct.pack("<4sLQL", b"PK\6\7", 0, start + length, 1)
            count, length, start = (0xFFFF, 0xFFFF), 0xFFFFFFFF, 0xFFFFFFFF
        yield struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *count, length, start, 0)

    def out(self, data: bytes) -> bytes:
        self.offset += len(data)
        return data


def is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def dos_time(seconds: float) -> tuple[int, int]:
    """Return time and date in UTC in the DOS format: 2 second resolution, years 1980 to 2107."""
    try:
        date = time.gmtime(min(max(seconds, 315532800.0), 4354819198.0))
    except (OverflowError, ValueError):
        date = time.gmtime(315532800)
    return (
        date.tm_hour << 11 | date.tm_min << 5 | date.tm_sec // 2,
        (date.tm_year - 1980) << 9 | date.tm_mon << 5 | date.tm_mday,
    )
