"""The errors of the program, each with the exit code that scripts can rely on (docs/client.md)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes. A code, once documented, keeps its meaning."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    NOT_LOGGED_IN = 3
    NOT_FOUND = 4
    REFUSED = 5
    UNREACHABLE = 6
    JOB_FAILED = 10
    INTERRUPTED = 130


class ClientError(Exception):
    """An error that is shown to the user. `kind` names it for `--json`.

    `suggestion` is what to do; `fields` are the fields of a request that the portal refuses.
    """

    code = ExitCode.INTERNAL
    kind = "error"

    def __init__(
        self,
        detail: str,
        suggestion: str = "",
        *,
        kind: str = "",
        fields: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.suggestion = suggestion
        self.fields = tuple(fields)
        self.kind = kind or type(self).kind


class UsageProblem(ClientError):
    code = ExitCode.USAGE
    kind = "usage"


class NotLoggedIn(ClientError):
    code = ExitCode.NOT_LOGGED_IN
    kind = "not-logged-in"


class NothingFound(ClientError):
    code = ExitCode.NOT_FOUND
    kind = "not-found"


class RefusedByPortal(ClientError):
    code = ExitCode.REFUSED
    kind = "refused"


class PortalUnreachable(ClientError):
    code = ExitCode.UNREACHABLE
    kind = "unreachable"


class JobFailed(ClientError):
    code = ExitCode.JOB_FAILED
    kind = "job-failed"
