"""The launcher as it is installed: one file, of spawner/launcher.py and the pieces in its filer.

What sudo permits is one root-owned file that imports nothing of ours. It is put together from its
pieces word for word; only their imports of each other go.

    python -m deploy.launcher --out /usr/local/libexec/portal/launcher
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SPAWNER = Path(__file__).resolve().parents[1] / "spawner"
PIECES = (
    "places", "listing", "room", "changing", "trash", "records", "uploads", "outflow", "packages",
)  # fmt: skip
START = '\n\nif __name__ == "__main__":\n    main()\n'


def program() -> str:
    """The text of the whole program."""
    first = (SPAWNER / "launcher.py").read_text(encoding="utf-8")
    before, start, after = first.partition(START)
    if not start or after:
        raise ValueError("spawner/launcher.py doesn't end as it is expected to")
    pieces = [_piece(SPAWNER / "filer" / f"{name}.py") for name in PIECES]
    return "\n\n".join([before.rstrip(), *pieces]).rstrip() + "\n" + START


def _piece(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    gone = {line for node in ast.parse(text).body for line in _left_out(node)}
    kept = [line for number, line in enumerate(text.splitlines(), 1) if number not in gone]
    return f"# === {path.parent.name}/{path.name} ===\n\n" + "\n".join(kept).strip()


def _left_out(node: ast.stmt) -> Iterator[int]:
    """The lines of an import of ours, or of what may stand only at a file's top."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
        ("spawner", "__future__")
    ):
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="deploy.launcher", description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write it; otherwise it is printed")
    out: Path | None = parser.parse_args(arguments).out
    if out is None:
        sys.stdout.write(program())
        return 0
    new = out.with_name(f".{out.name}.new")
    new.write_text(program(), encoding="utf-8")
    new.chmod(0o755)
    new.rename(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
