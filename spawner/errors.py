"""What can go wrong between the portal, Slurm and a user's launcher.

    SpawnerError
    ├── SlurmError
    │   ├── Unreachable          no answer in time, or no controller: nothing is known
    │   ├── Rejected             Slurm answered, and refused
    │   └── NotFound             Slurm answered, and knows no such job (any more)
    └── LauncherError
        ├── LauncherUnavailable  sudo refused, the launcher died, or it missed its deadline
        ├── HomeUnavailable      the user's home is missing, full or not writable
        ├── PathRefused          a path that leaves the user's own folder, or goes through a link
        ├── FileProblem          what the system says of a file of the user's; `code` tells which
        └── BadRequest           the launcher understood the request and will not do it

`Unreachable` and `LauncherUnavailable` say nothing about what happened: whoever catches them keeps
the last known state and asks again. Every message is a sentence fit for the user; what a program
wrote on stderr is kept apart, for logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SpawnerError(Exception):
    """Root of the tree; `message` is a sentence, `stderr` what a program said, bounded."""

    def __init__(self, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.stderr = stderr


class SlurmError(SpawnerError):
    """Slurm could not be asked, or said no."""


class Unreachable(SlurmError):
    """No answer: the state of things is unknown, not ended."""


class Rejected(SlurmError):
    """Slurm refused. `code` is stable (see reasons.py); `advice`, if any, what to do."""

    def __init__(
        self, code: str, message: str, advice: str | None = None, stderr: str = ""
    ) -> None:
        super().__init__(message, stderr)
        self.code = code
        self.advice = advice


class NotFound(SlurmError):
    """Slurm knows no such job."""


class LauncherError(SpawnerError):
    """The launcher could not do what was asked of it."""


class LauncherUnavailable(LauncherError):
    """No launcher answers for this user: it may or may not have acted."""


class HomeUnavailable(LauncherError):
    """The user's home is missing, full, or not theirs to write."""


class PathRefused(LauncherError):
    """The path leaves the user's folder, or a link stands in its way."""


class FileProblem(LauncherError):
    """Something about one of the user's files. `code` is stable (spawner/filer/), `more` what else
    the launcher said of it: the user's word, of any shape."""

    def __init__(self, code: str, message: str, more: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.more = dict(more or {})


class BadRequest(LauncherError):
    """The request is malformed: a mistake of the caller, not of the user."""
