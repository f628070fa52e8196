"""The installed launcher: one file, made of spawner/launcher/program.py and PIECES.

sudo permits one root-owned file, which imports nothing of this project. It is concatenated from the
modules verbatim; only their imports of each other are removed.

    python -m deploy.launcher --out /usr/local/libexec/portal/launcher
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

SPAWNER = Path(__file__).resolve().parents[1] / "spawner"
FILES = (
    "scalars", "notebooks", "paths", "listing", "disk", "operations", "trash", "upload_state",
    "uploads", "download", "packages", "package_removal",
)  # fmt: skip
PIECES = ("launcher/folders.py", "launcher/unreachable.py", *(f"files/{name}.py" for name in FILES))
START = '\n\nif __name__ == "__main__":\n    main()\n'


def program() -> str:
    """Return the text of the whole program."""
    first = _read_without_imports("launcher/program.py", "spawner")
    before, start, after = first.partition(START)
    if not start or after:
        raise ValueError("spawner/launcher/program.py does not end as expected")
    pieces = [_read_piece(name) for name in PIECES]
    return "\n\n".join([before.rstrip(), *pieces]).rstrip() + "\n" + START


def _read_piece(name: str) -> str:
    # an import of __future__ must be at the top of the whole file
    text = _read_without_imports(name, "spawner", "__future__")
    return f"# === {name} ===\n\n{text.strip()}"


def _read_without_imports(name: str, *packages: str) -> str:
    """Return a file's text without its imports from these packages."""
    text = (SPAWNER / name).read_text(encoding="utf-8")
    gone = {
        line
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(packages)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    kept = [line for number, line in enumerate(text.splitlines(), 1) if number not in gone]
    return "\n".join(kept) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="deploy.launcher", description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: standard output")
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
