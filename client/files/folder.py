"""The working folder that a job runs in: the files to upload, and the limits for them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import RefusedByPortal, UsageProblem
from ..text import format_bytes, to_line
from .ignore import IGNORE_FILE, IgnoreRules

MAX_BYTES = 100 * 1024 * 1024
MAX_FILES = 1000
SHOWN = 10
"""The number of largest files in the message about a folder above the limit."""
MAX_SCANNED = 200_000
"""Above this number of entries, a folder is not one that a job's files belong to."""


@dataclass(frozen=True)
class LocalFile:
    """A file to upload; `name` is its path below the folder, with `/`."""

    path: Path
    name: str
    size: int


def collect_folder(folder: Path, max_bytes: int, max_files: int = MAX_FILES) -> list[LocalFile]:
    """Return the files of a folder without those that its rules exclude.

    Links to files are followed, links to folders are not. Raises RefusedByPortal if the files are
    too large or too many, with the largest of them.
    """
    files = sorted(_walk(folder, load_rules(folder)), key=lambda file: file.name)
    check_limits(files, max_bytes, max_files)
    return files


def load_rules(folder: Path) -> IgnoreRules:
    """Return the rules of the folder's ignore file, and the default ones. Raises UsageProblem."""
    try:
        return IgnoreRules((folder / IGNORE_FILE).read_text(encoding="utf-8").splitlines())
    except FileNotFoundError:
        return IgnoreRules()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{IGNORE_FILE} can't be read as text.") from error


def check_limits(files: Sequence[LocalFile], max_bytes: int, max_files: int) -> None:
    """Raise RefusedByPortal with the largest files if these are too large or too many. Pure."""
    total = sum(file.size for file in files)
    if total <= max_bytes and len(files) <= max_files:
        return
    if total > max_bytes:
        detail = f"The folder has {format_bytes(total)}; the limit is {format_bytes(max_bytes)}."
    else:
        detail = f"The folder has {len(files)} files; the limit is {max_files}."
    largest = sorted(files, key=lambda file: file.size, reverse=True)[:SHOWN]
    lines = [f"  {format_bytes(file.size):>10}  {to_line(file.name)}" for file in largest]
    advice = [
        "The largest files:",
        *lines,
        f"Exclude files with {IGNORE_FILE}, copy data once with dsp cp, or raise --max-mb.",
    ]
    raise RefusedByPortal(detail, "\n".join(advice), kind="folder-too-large")


def _walk(folder: Path, rules: IgnoreRules) -> Iterator[LocalFile]:
    scanned = 0
    for parent, folders, names in os.walk(folder):
        scanned += len(folders) + len(names)
        if scanned > MAX_SCANNED:
            raise RefusedByPortal(
                f"The folder has more than {MAX_SCANNED} entries.",
                "Run dsp in the folder of your project, or name it with --folder.",
                kind="folder-too-large",
            )
        base = Path(parent).relative_to(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not rules.excludes((base / name).as_posix(), is_folder=True)
            and not (Path(parent) / name).is_symlink()
        )
        for name in names:
            path = Path(parent) / name
            shown = (base / name).as_posix()
            if path.is_file() and not rules.excludes(shown, is_folder=False):
                yield LocalFile(path, shown, path.stat().st_size)
