"""Program that writes outputs into a notebook.

    python -I -m spawner.node.jupyter.outputs.notebook_file

It reads `{"path": file, "updates": [{"cell": id, "code": text, "count": number, "outputs": [...],
"unsaved": bool}]}` from stdin, and writes `{"written": [cell ids]}` to stdout. A process of its
own, so that a large notebook neither stops the session's server nor stays in its memory.

With `unsaved`, the notebook was not saved since the cell was run: the cell gets its code too, and
is added at the end if it is missing. Otherwise a missing cell was deleted, and stays so. A notebook
that its user trusted before stays trusted.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NICENESS = 5
IDS_SINCE = (4, 5)


class NotANotebook(Exception):
    """The file is not a notebook of version 4; the message says why."""


def set_outputs(notebook: dict[str, Any], updates: Sequence[dict[str, Any]]) -> list[str]:
    """Set the outputs of the cells; return the ids of those that were set or added."""
    cells = notebook["cells"]
    code_cells = [cell for cell in cells if cell.get("cell_type") == "code"]
    by_id = {cell["id"]: cell for cell in code_cells if "id" in cell}
    by_source = {source_of(cell): cell for cell in reversed(code_cells) if "id" not in cell}
    written = []
    for update in updates:
        cell = by_id.get(update["cell"]) or by_source.get(update["code"])
        if cell is None and update["unsaved"]:
            mapping = type(update)  # nbformat reads and writes mappings of its own
            cell = mapping(cell_type="code", metadata=mapping())
            if has_ids(notebook):
                cell["id"] = update["cell"]
            cells.append(cell)
        if cell is not None:
            if update["unsaved"]:
                cell["source"] = update["code"]
            cell["execution_count"], cell["outputs"] = update["count"], with_count(update)
            written.append(update["cell"])
    return written


def check(content: Any) -> None:
    """Raise NotANotebook unless the file's content is a notebook of version 4."""
    is_notebook = isinstance(content, dict) and content.get("nbformat") == 4
    if not is_notebook or not isinstance(content.get("cells"), list):
        raise NotANotebook("it is not a notebook of version 4")


def source_of(cell: Mapping[str, Any]) -> str:
    """Return a cell's code, which the format allows as a list of lines."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


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
        replace(target, split_lines(notebook))
    return written


def replace(target: Path, notebook: Mapping[str, Any]) -> None:
    """Replace the file's content in one step, in Jupyter's layout and with the same mode."""
    mode = target.stat().st_mode & 0o7777
    handle, name = tempfile.mkstemp(prefix=".~", suffix=target.suffix, dir=target.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            json.dump(notebook, file, indent=1, sort_keys=True, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(handle)
        fresh.chmod(mode)
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def main() -> int:
    """Read the request and answer it; 1 after a failure, whose reason is on stderr."""
    os.nice(NICENESS)
    request = json.load(sys.stdin)
    try:
        written = write(Path(request["path"]), request["updates"])
    except (OSError, ValueError, NotANotebook) as error:
        print(f"{request['path']}: {error}", file=sys.stderr)
        return 1
    json.dump({"written": written}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
