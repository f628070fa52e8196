"""Errors between the portal, Slurm and a user's launcher.

  SpawnerError
  ├── SlurmError
  │   ├── Unreachable          no answer in time, or no controller: nothing is known
  │   │   └── QueryTooLarge    the answer is too long; a smaller query may do
  │   ├── Rejected             Slurm answered, and refused
  │   └── JobNotFound          Slurm answered, and does not have this job (any more)
  └── LauncherError
      ├── LauncherUnavailable  sudo refused, the launcher died, or it missed its deadline
      │   └── NoFilesProgram   files.pyz, beside the launcher, is missing or of another version
      ├── HomeUnavailable      the user's home is missing, full or not writable
      ├── PathRefused          a path that may not be read, is not absolute or not a file, or that
      │                        leaves the portal's folder or contains a link there
      ├── FileProblem          a file operation failed; `code` is the reason
      └── BadRequest           the request is malformed: an error of the caller

After `Unreachable` and `LauncherUnavailable`, except for `NoFilesProgram`, the outcome is unknown:
the caller keeps the last known state and asks again. Every message except BadRequest's is a
sentence for the user; a program's stderr is kept separately, for logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SpawnerError(Exception):
    """Base class; `message` is a sentence, `stderr` a program's error output, bounded."""

    def __init__(self, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.stderr = stderr


class SlurmError(SpawnerError):
    """Slurm could not be reached, or refused."""


class Unreachable(SlurmError):
    """Slurm did not answer: the state is unknown, not ended."""


class QueryTooLarge(Unreachable):
    """The answer was too long: a smaller query may be answered."""


class Rejected(SlurmError):
    """Slurm refused. `code` is stable (see slurm/reasons/); `suggestion`, if any, is what to do."""

    def __init__(
        self, code: str, message: str, suggestion: str | None = None, stderr: str = ""
    ) -> None:
        super().__init__(message, stderr)
        self.code = code
        self.suggestion = suggestion


class JobNotFound(SlurmError):
    """Slurm does not have this job."""


class LauncherError(SpawnerError):
    """The launcher could not perform a request."""


class LauncherUnavailable(LauncherError):
    """No launcher answers for this user: it may or may not have acted."""


class NoFilesProgram(LauncherUnavailable):
    """The files program is missing beside the launcher, or of another version: nothing was done."""


class HomeUnavailable(LauncherError):
    """The user's home is missing, full, or not writable for the user."""


class PathRefused(LauncherError):
    """The user may not read the path, it is not absolute or not a file, or it leaves the portal's
    folder or contains a link there.
    """


class FileProblem(LauncherError):
    """An operation on one of the user's files failed.

    `code` is stable (spawner/files/); `more` holds further fields from the launcher, which are
    untrusted and may have any shape.
    """

    def __init__(self, code: str, message: str, more: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.more = dict(more or {})


class BadRequest(LauncherError):
    """The request is malformed: an error of the caller, not of the user."""
