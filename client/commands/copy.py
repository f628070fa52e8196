"""`cp`: copy files and folders to the cluster and back. `:PATH` is a path on the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ClientError, NothingFound, UsageProblem
from ..files.folder import LocalFile
from ..files.remote import (
    RemoteFiles,
    is_folder,
    is_remote,
    join,
    to_local_name,
    to_remote_name,
)
from ..files.transfer import FileTransfer, describe_failure
from ..models import RemoteEntry, RemotePlace
from ..text import format_bytes
from .options import CommandContext, JsonOption, PortalOption, open_context

MAX_DEPTH = 100


@dataclass(frozen=True)
class CopyOptions:
    recursive: bool
    overwrite: bool


@dataclass(frozen=True)
class CopiedFile:
    """A file that was copied, for `--json`."""

    source: str
    target: str
    size_bytes: int


def cp(
    paths: Annotated[
        list[str], typer.Argument(metavar="SOURCE… TARGET", help=":PATH is on the cluster.")
    ],
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Copy folders.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy files to the cluster or back. Repeat the command to continue after an interruption.

    A path on the cluster begins with a colon: `:data/x.csv` is below your home, `:/scratch/x` is
    a full path.
    """
    if len(paths) < 2:
        raise UsageProblem("Name at least one source, and the target.")
    *sources, target = paths
    if is_remote(target) is is_remote(sources[0]) or len({*map(is_remote, sources)}) != 1:
        raise UsageProblem(
            "Either all sources or the target are on the cluster.",
            "Write paths on the cluster with a colon: dsp cp data.csv :data/",
        )
    context = open_context(portal, as_json=as_json)
    copier = Copier(context, CopyOptions(recursive, overwrite))
    copied = (
        copier.upload(sources, target) if is_remote(target) else copier.download(sources, target)
    )
    size = format_bytes(sum(file.size_bytes for file in copied))
    context.output.result(copied, f"Copied {len(copied)} files, {size}.")


class Copier:
    """One run of `cp`."""

    def __init__(self, context: CommandContext, options: CopyOptions) -> None:
        self.output = context.output
        self.options = options
        self.remote = RemoteFiles(context.connection)
        self.transfer = FileTransfer(context.connection)

    def upload(self, sources: Sequence[str], target: str) -> list[CopiedFile]:
        """Upload files and folders into a folder, or one file to a name."""
        place = self.remote.find_place(target)
        into_folder = self._takes_many(sources, target) or self.remote.is_folder(place)
        copied = []
        for text in sources:
            source = Path(text)
            if not source.exists():
                raise NothingFound(f"There is no file {text}.")
            if source.is_dir() and not self.options.recursive:
                raise UsageProblem(f"{text} is a folder.", "Use -r to copy folders.")
            named = to_remote_name(source.resolve().name)
            base = join(place, named) if into_folder else place
            if source.is_dir() or into_folder:
                self.remote.create_folder(base if source.is_dir() else place)
            for file in _walk_local(source):
                copied.append(self._upload_file(file, join(base, to_remote_name(file.name))))
        return copied

    def download(self, sources: Sequence[str], target: str) -> list[CopiedFile]:
        """Download files and folders into a folder, or one file to a name."""
        folder = Path(target)
        into_folder = self._takes_many(sources, target) or folder.is_dir()
        if into_folder and not folder.is_dir():
            raise NothingFound(f"There is no folder {target}.")
        copied = []
        for text in sources:
            place = self.remote.find_place(text)
            entry = self.remote.find_entry(place)
            if entry is None:
                raise NothingFound(f"There is no file {text} on the cluster.")
            if is_folder(entry) and not self.options.recursive:
                raise UsageProblem(f"{text} is a folder.", "Use -r to copy folders.")
            named = entry.name if place.path else place.root  # a root itself has no name
            base = folder / to_local_name(named) if into_folder else folder
            for found, where, local in self._walk_remote(entry, place, base, 0):
                copied.append(self._download_file(found, where, local))
        return copied

    def _takes_many(self, sources: Sequence[str], target: str) -> bool:
        return len(sources) > 1 or target.endswith("/")

    def _upload_file(self, file: LocalFile, target: RemotePlace) -> CopiedFile:
        folder, _, _ = target.path.rpartition("/")
        if file.name:
            self.remote.create_folder(RemotePlace(target.root, folder))
        try:
            with self.output.transfer(file.path.name, file.size) as advance:
                self.transfer.upload(
                    file.path, target, overwrite=self.options.overwrite, advance=advance
                )
        except ClientError as error:
            raise describe_failure(error, str(file.path)) from error
        return CopiedFile(str(file.path), f":{target.root}/{target.path}", file.size)

    def _download_file(self, entry: RemoteEntry, place: RemotePlace, target: Path) -> CopiedFile:
        size = entry.size_bytes or 0
        try:
            with self.output.transfer(entry.name, size) as advance:
                self.transfer.download(
                    entry, place, target, overwrite=self.options.overwrite, advance=advance
                )
        except ClientError as error:
            raise describe_failure(error, place.path) from error
        return CopiedFile(f":{place.root}/{place.path}", str(target), size)

    def _walk_remote(
        self, entry: RemoteEntry, place: RemotePlace, local: Path, depth: int
    ) -> Iterator[tuple[RemoteEntry, RemotePlace, Path]]:
        """Yield the files of an entry, and create the local folders for them.

        Links to folders below the first one are left out, so a circle of links has an end.
        """
        if not is_folder(entry):
            yield entry, place, local
            return
        if depth and entry.kind == "link":
            self.output.note(f"Left out, a link to a folder: {place.path}")
            return
        if depth > MAX_DEPTH:
            raise UsageProblem(f"The folders are deeper than {MAX_DEPTH} levels: {place.path}")
        local.mkdir(parents=True, exist_ok=True)
        for inner in self.remote.list_folder(place):
            where = RemotePlace(place.root, "/".join(filter(None, (place.path, inner.name))))
            target = local / to_local_name(inner.name)
            if inner.kind == "other":
                self.output.note(f"Left out, no file: {where.path}")
                continue
            yield from self._walk_remote(inner, where, target, depth + 1)


def _walk_local(source: Path) -> Iterator[LocalFile]:
    """Yield the files of a folder, or the file itself with an empty name."""
    if not source.is_dir():
        yield LocalFile(source, "", source.stat().st_size)
        return
    for path in sorted(source.rglob("*")):
        if path.is_file():
            yield LocalFile(path, path.relative_to(source).as_posix(), path.stat().st_size)
