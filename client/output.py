"""What the program prints: tables and sentences for a terminal, or JSON for scripts.

Results go to stdout, everything else to stderr. All texts of the portal pass `text.py` before a
terminal sees them; JSON spells control characters itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from .errors import ClientError
from .text import to_line, to_log

PIPE_WIDTH = 1000


class Advance(Protocol):
    """Reports the number of bytes of a transfer that are done."""

    def __call__(self, done: int, /) -> None: ...


class Output:
    """The output of one command; `as_json` selects JSON."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def result(self, value: Any, sentence: str = "") -> None:
        """Print a result: the value as JSON, or the sentence."""
        if self.as_json:
            print(json.dumps(to_plain(value), indent=2))
        elif sentence:
            self._out.print(Text(to_line(sentence)))

    def table(self, value: Any, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a list: the value as JSON, or a table."""
        if self.as_json:
            print(json.dumps(to_plain(value), indent=2))
            return
        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*(Text(to_line(cell)) for cell in row))
        # a pipe has no width: nothing is shortened or folded there
        width = None if self._out.is_terminal else PIPE_WIDTH
        Console(highlight=False, markup=False, emoji=False, width=width).print(table)

    def event(self, value: Any) -> None:
        """Print a line of a stream of JSON values; nothing without JSON."""
        if self.as_json:
            print(json.dumps(to_plain(value)), flush=True)

    def log(self, text: str) -> None:
        """Print a piece of a log: unchanged into a file or pipe, without controls on a terminal."""
        sys.stdout.write(to_log(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()

    def note(self, sentence: str) -> None:
        """Print a sentence about the progress, on stderr."""
        self._err.print(Text(to_line(sentence)))

    def error(self, error: ClientError) -> None:
        """Print an error on stderr, as JSON if asked for."""
        if self.as_json:
            problem = {
                "error": error.kind,
                "detail": error.detail,
                "suggestion": error.suggestion,
                "errors": [{"field": field, "message": text} for field, text in error.fields],
                "exit_code": int(error.code),
            }
            print(json.dumps(problem), file=sys.stderr)
            return
        self._err.print(Text(f"Error: {to_line(error.detail)}"))
        for field, message in error.fields:
            if message != error.detail:
                self._err.print(Text(f"  {to_line(field)}: {to_line(message)}"))
        for line in error.suggestion.splitlines():
            self._err.print(Text(to_line(line)))

    @contextmanager
    def transfer(self, name: str, size: int) -> Iterator[Advance]:
        """Show the progress of a transfer on a terminal; yield the function that reports it."""
        if self.as_json or not self._err.is_terminal:
            yield lambda done: None
            return
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
        with Progress(*columns, TransferSpeedColumn(), console=self._err) as progress:
            task = progress.add_task(to_line(name), total=size)
            yield lambda done: progress.update(task, completed=done)


def to_plain(value: Any) -> Any:
    """Return a value of dataclasses as dictionaries and lists. Pure."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value
