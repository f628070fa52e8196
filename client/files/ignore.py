"""The files of a working folder that are not uploaded: patterns as in .gitignore. Pure.

Supported: `*`, `?`, `[…]`, `**`, a leading `/` or a `/` inside for a path from the folder, a
trailing `/` for folders only, `!` for an exception, `#` for a comment. The last match decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

IGNORE_FILE = ".dspignore"
DEFAULTS = (
    ".git/", ".hg/", ".svn/", ".dspignore", ".DS_Store", "Thumbs.db",
    "__pycache__/", "*.pyc", ".ipynb_checkpoints/", ".mypy_cache/", ".pytest_cache/",
    ".ruff_cache/", ".tox/", ".nox/", ".venv/", "venv/", ".conda/", "*.egg-info/", "node_modules/",
    ".idea/", ".vscode/", "*.swp", "*~",
    # secrets that belong to the laptop
    ".env", ".netrc", "*.pem", "id_rsa", "id_ed25519", ".ssh/", ".aws/", ".kaggle/",
    # results that a job writes again
    "wandb/", "mlruns/", "lightning_logs/", "runs/",
)  # fmt: skip


@dataclass(frozen=True)
class Pattern:
    """A parsed line: `keeps` for an exception, `folders_only` for a trailing slash."""

    regex: re.Pattern[str]
    keeps: bool
    folders_only: bool


class IgnoreRules:
    """The rules of a folder: the defaults, then the lines of its ignore file."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        parsed = (parse_line(line) for line in (*DEFAULTS, *lines))
        self._patterns = [pattern for pattern in parsed if pattern is not None]

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a path, relative to the folder and with `/`, is left out."""
        for pattern in reversed(self._patterns):
            if pattern.folders_only and not is_folder:
                continue
            if pattern.regex.fullmatch(path):
                return not pattern.keeps
        return False


def parse_line(line: str) -> Pattern | None:
    """Return the pattern of a line; None for a comment or an empty line."""
    text = line.rstrip("\r\n").rstrip()
    if not text or text.startswith("#"):
        return None
    keeps = text.startswith("!")
    text = text[1:] if keeps else text.removeprefix("\\")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    regex = ("" if anchored else "(?:.*/)?") + _translate(text.lstrip("/"))
    try:
        return Pattern(re.compile(regex, re.DOTALL), keeps, folders_only)
    except re.error:
        return Pattern(re.compile(re.escape(text)), keeps, folders_only)


def _translate(glob: str) -> str:
    """Return the regular expression of a pattern."""
    # several in a row mean the same as one, and would take very long to match
    glob = re.sub(r"\*{3,}", "**", re.sub(r"(?:\*\*/)+", "**/", glob))
    parts, at = [], 0
    while at < len(glob):
        if glob.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            parts.append(".*")
            at += 2
        elif glob[at] in "*?":
            parts.append("[^/]*" if glob[at] == "*" else "[^/]")
            at += 1
        elif glob[at] == "[" and "]" in glob[at + 2 :]:
            end = glob.index("]", at + 2)
            inner = glob[at + 1 : end].replace("\\", "\\\\")
            parts.append(f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]")
            at = end + 1
        else:
            parts.append(re.escape(glob[at]))
            at += 1
    return "".join(parts)
