"""Program that writes outputs into a notebook.

    python -I -m spawner.node.jupyter.outputs.notebook_file FILE

It reads `[{"id": request, "cell": id, "code": text, "count": number, "outputs": [...],
"unsaved": bool}]` from stdin, and writes to stdout what `write` returns. A process of its own, so
that a large notebook neither stops the session's server nor stays in its memory.

A cell is found by its id only. `unsaved` means that no page has saved the cell with the code that
was run. Then the code is written too, and never over other code: a missing cell is added at the
end, a cell with only the beginning of the code gets all of it, and beside a cell with other code a
new one is added. Otherwise a missing cell was deleted, and stays so. A notebook that its user
trusted before stays trusted.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NICENESS = 5
IDS_SINCE = (4, 5)
ID_CHARACTERS = 16
COMPARED = ("st_dev", "st_ino", "st_mtime_ns", "st_size")


class NotANotebook(Exception):
    """The file is not a notebook of version 4; the message says why."""


def set_outputs(notebook: dict[str, Any], updates: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Set the outputs of cells; return the ids of the cells that were set or added, by request."""
    add_ids(notebook)
    written = {}
    for update in updates:
        cell = find_cell(notebook["cells"], update)
        if cell is not None:
            cell["execution_count"], cell["outputs"] = update["count"], with_count(update)
            written[update["id"]] = cell["id"]
    return written


def find_cell(cells: list[Any], update: dict[str, Any]) -> dict[str, Any] | None:
    """Return the cell that was run, which may be a new one; None if there is none."""
    numbered = enumerate(cells)
    index = next((at for at, cell in numbered if cell.get("id") == update["cell"]), None)
    code, add = update["code"], update["unsaved"] and update["code"]
    if index is None:
        return add_cell(cells, len(cells), update["cell"], update) if add else None
    cell: dict[str, Any] = cells[index]
    is_code = cell.get("cell_type") == "code"
    if not add:
        return cell if is_code else None
    if not is_code or not code.startswith(source_of(cell)):
        return add_cell(cells, index + 1, new_id(update["id"]), update)
    cell["source"] = code
    return cell


def add_cell(cells: list[Any], index: int, name: str, update: dict[str, Any]) -> dict[str, Any]:
    """Add a cell with the code that was run."""
    mapping = type(update)  # nbformat reads and writes mappings of its own
    fields = {"cell_type": "code", "id": name, "source": update["code"]}
    cell = mapping(**fields, metadata=mapping())
    cells.insert(index, cell)
    return cell


def add_ids(notebook: dict[str, Any]) -> None:
    """Give each cell an id, which version 4.5 of the format requires.

    An id depends only on the notebook's content, so that each page and this program find the same
    ones in a notebook of an earlier version.
    """
    if notebook.get("nbformat") != IDS_SINCE[0] or has_ids(notebook):
        return
    for index, cell in enumerate(notebook["cells"]):
        cell["id"] = new_id(f"{index} {source_of(cell)}")
    notebook["nbformat_minor"] = IDS_SINCE[1]


def new_id(text: str) -> str:
    """Return an id for a cell that depends only on this text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:ID_CHARACTERS]


def check(content: Any) -> None:
    """Raise NotANotebook unless the file's content is a notebook of version 4."""
    is_notebook = isinstance(content, dict) and content.get("nbformat") == IDS_SINCE[0]
    cells = content.get("cells") if is_notebook else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise NotANotebook("it is not a notebook of version 4")


def source_of(cell: Mapping[str, Any]) -> str:
    """Return a cell's code, which the format allows as a list of lines."""
    source = cell.get("source", "")
    if isinstance(source, list):
        return "".join(map(str, source))
    return source if isinstance(source, str) else ""


def has_ids(notebook: Mapping[str, Any]) -> bool:
    """Return whether the notebook's version of the format has ids of cells."""
    return (notebook["nbformat"], notebook.get("nbformat_minor", 0)) >= IDS_SINCE


def with_count(update: Mapping[str, Any]) -> list[Any]:
    """Return the outputs; a result without a number gets the cell's."""
    outputs: list[Any] = update["outputs"]
    for output in outputs:
        if output.get("output_type") == "execute_result":
            output["execution_count"] = output.get("execution_count") or update["count"]
    return outputs


def write(path: Path, updates: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Write the outputs into the file; return what `set_outputs` does as `written`.

    `before` and `after` are the file's hashes, `after` only if no code was changed. Raises OSError,
    ValueError or NotANotebook.
    """
    # imported here, because the tests of `set_outputs` run without Jupyter
    from jupyter_core.paths import jupyter_data_dir  # noqa: PLC0415
    from nbformat import from_dict, v4  # noqa: PLC0415
    from nbformat.sign import NotebookNotary  # noqa: PLC0415
    from nbformat.v4.rwbase import split_lines  # noqa: PLC0415

    target = path.resolve()
    with target.open("rb") as file:
        state = os.fstat(file.fileno())
        before = hash_of(file)
        file.seek(0)
        with io.TextIOWrapper(file, encoding="utf-8") as text:
            content = json.load(text)
    check(content)
    notebook = v4.to_notebook(content)
    del content  # a large notebook is not held twice
    code = [source_of(cell) for cell in notebook["cells"]]
    with NotebookNotary(data_dir=jupyter_data_dir()) as notary:
        trusted = notary.check_signature(notebook)
        written = set_outputs(notebook, from_dict(updates))
        if written and trusted:
            notary.sign(notebook)
    if not written:
        return {"written": written, "before": before, "after": None}
    same_code = code == [source_of(cell) for cell in notebook["cells"]]
    after = replace(target, split_lines(notebook), state)
    return {"written": written, "before": before, "after": after if same_code else None}


def hash_of(file: io.BufferedReader) -> str:
    """Return the hash of a file's content as Jupyter Server's API has it."""
    return hashlib.file_digest(file, "sha256").hexdigest()


def replace(target: Path, notebook: Mapping[str, Any], before: os.stat_result) -> str:
    """Replace the file's content, in Jupyter's layout, and return its hash.

    `before` is the file's state when it was read.

    Raises OSError if it may not be changed, or has changed since it was read.
    """
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only", str(target))
    handle, name = tempfile.mkstemp(prefix=".~", suffix=target.suffix, dir=target.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            json.dump(notebook, file, indent=1, sort_keys=True, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(handle)
        with fresh.open("rb") as written:
            digest = hash_of(written)
        check_unchanged(target, before)
        if is_replaceable(target, before):
            fresh.chmod(stat.S_IMODE(before.st_mode))
            fresh.replace(target)
            return digest
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    overwrite(target, fresh)
    return digest


def check_unchanged(target: Path, before: os.stat_result) -> None:
    """Raise OSError if the file was changed or replaced since."""
    now = target.stat()
    if any(getattr(now, name) != getattr(before, name) for name in COMPARED):
        raise OSError(errno.EBUSY, "the file was changed by another program", str(target))


def is_replaceable(target: Path, state: os.stat_result) -> bool:
    """Return whether a new file in its place has the same owner, group, links and access list."""
    if (state.st_uid, state.st_gid, state.st_nlink) != (os.geteuid(), os.getegid(), 1):
        return False
    try:
        return all(name.startswith("security.") for name in os.listxattr(target))
    except OSError:
        return True  # the file system has none


def overwrite(target: Path, fresh: Path) -> None:
    """Copy the new content into the file, as Jupyter does; the copy stays if that fails."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # the file would be incomplete
    try:
        with fresh.open("rb") as source, target.open("r+b") as file:
            shutil.copyfileobj(source, file)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(f"{error}; the complete notebook is in {fresh.name}") from error
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    fresh.unlink()


def main() -> int:
    """Read the request and answer it; 1 after a failure, whose reason is on stderr."""
    os.nice(NICENESS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # removes the temporary file
    path = Path(sys.argv[1])
    updates = json.load(sys.stdin.buffer)
    try:
        result = write(path, updates)
    except (OSError, ValueError, NotANotebook) as error:
        print(f"{str(path)!r}: {error}", file=sys.stderr)
        return 1
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
