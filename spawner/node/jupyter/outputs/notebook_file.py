"""Program that writes outputs into a notebook.

    python -I -m spawner.node.jupyter.outputs.notebook_file FILE

It reads `[{"cell": id, "code": text, "source": text, "count": number, "outputs": [...],
"unsaved": bool}]` from stdin, and writes `{"written": [cell ids]}` to stdout. A process of its own,
so that a large notebook neither stops the session's server nor stays in its memory.

A cell is found by its id. Notebooks before version 4.5 have no ids; there it is the only one with
this code. A cell whose code differs from `source`, the last that a page is known to have saved,
stays as it is. With `unsaved`, the notebook was not saved since the cell was run: its cell gets the
`code` that ran too, and a missing one is added at the end. Otherwise a missing cell was deleted,
and stays so. A notebook that its user trusted before stays trusted.
"""

from __future__ import annotations

import errno
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
COMPARED = ("st_dev", "st_ino", "st_mtime_ns", "st_size")


class NotANotebook(Exception):
    """The file is not a notebook of version 4; the message says why."""


def set_outputs(notebook: dict[str, Any], updates: Sequence[dict[str, Any]]) -> list[str]:
    """Set the outputs of the cells; return the ids of those that were set or added."""
    written = []
    for update in updates:
        cell = find_cell(notebook, update)
        if cell is not None:
            cell["execution_count"], cell["outputs"] = update["count"], with_count(update)
            written.append(update["cell"])
    return written


def find_cell(notebook: dict[str, Any], update: dict[str, Any]) -> dict[str, Any] | None:
    """Return the cell that was run, which may be a new one; None if it isn't certain."""
    cells = notebook["cells"]
    named = [cell for cell in cells if cell.get("id") == update["cell"]]
    if not has_ids(notebook):
        named = [cell for cell in cells if source_of(cell) == update["source"]]
        named = named if update["source"] else []
    if not update["code"] or len(named) > 1:
        return None
    if not named:
        return add_cell(cells, update) if update["unsaved"] and has_ids(notebook) else None
    cell: dict[str, Any] = named[0]
    source = source_of(cell)
    known = source == update["source"] or (update["unsaved"] and not source.strip())
    if cell.get("cell_type") != "code" or not known:
        return None
    if update["unsaved"]:
        cell["source"] = update["code"]
    return cell


def add_cell(cells: list[Any], update: dict[str, Any]) -> dict[str, Any]:
    """Add the cell at the notebook's end."""
    mapping = type(update)  # nbformat reads and writes mappings of its own
    fields = {"cell_type": "code", "id": update["cell"], "source": update["code"]}
    cell = mapping(**fields, metadata=mapping())
    cells.append(cell)
    return cell


def check(content: Any) -> None:
    """Raise NotANotebook unless the file's content is a notebook of version 4."""
    is_notebook = isinstance(content, dict) and content.get("nbformat") == 4
    if not is_notebook or not isinstance(content.get("cells"), list):
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


def write(path: Path, updates: Sequence[dict[str, Any]]) -> list[str]:
    """Write the outputs into the file. Raises OSError, ValueError or NotANotebook."""
    # imported here, because the tests of `set_outputs` run without Jupyter
    from jupyter_core.paths import jupyter_data_dir  # noqa: PLC0415
    from nbformat import from_dict, v4  # noqa: PLC0415
    from nbformat.sign import NotebookNotary  # noqa: PLC0415
    from nbformat.v4.rwbase import split_lines  # noqa: PLC0415

    target = path.resolve()
    with target.open(encoding="utf-8") as file:
        before = os.fstat(file.fileno())
        content = json.load(file)
    check(content)
    notebook = v4.to_notebook(content)
    del content  # a large notebook is not held twice
    with NotebookNotary(data_dir=jupyter_data_dir()) as notary:
        trusted = notary.check_signature(notebook)
        written = set_outputs(notebook, from_dict(updates))
        if written and trusted:
            notary.sign(notebook)
    if written:
        replace(target, split_lines(notebook), before)
    return written


def replace(target: Path, notebook: Mapping[str, Any], before: os.stat_result) -> None:
    """Replace the file's content, in Jupyter's layout; `before` is its state when it was read.

    Raises OSError if the file may not be changed, or has changed since it was read.
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
        check_unchanged(target, before)
        if is_replaceable(target, before):
            fresh.chmod(stat.S_IMODE(before.st_mode))
            fresh.replace(target)
            return
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    overwrite(target, fresh)


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
        written = write(path, updates)
    except (OSError, ValueError, NotANotebook) as error:
        print(f"{str(path)!r}: {error}", file=sys.stderr)
        return 1
    json.dump({"written": written}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
