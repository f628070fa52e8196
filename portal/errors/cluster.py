"""Errors of Slurm, the launcher, the hub, and running sessions."""

from portal.errors.base import InvalidInput, PortalError, Unavailable


class SlurmRejected(InvalidInput):
    slug = "slurm-rejected"
    title = "Slurm rejected the request"


class NotRunning(PortalError):
    status = 424
    slug = "not-running"
    title = "This session isn't running"


class TooManyQuestions(PortalError):
    status = 429
    slug = "too-many-questions"
    title = "Too many requests"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"Requests to Slurm are rate limited. Try again in {retry_after_s} seconds.",
            headers={"Retry-After": str(retry_after_s)},
        )


class SlurmUnreachable(Unavailable):
    slug = "slurm-unreachable"
    title = "Slurm doesn't answer"


class LauncherProblem(Unavailable):
    slug = "launcher-unavailable"
    title = "Cluster access is unavailable"
