"""The route dependency for the loop that applies limits to Slurm."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from portal.services.limits.slurm_limits import SlurmLimits


def _get_slurm_limits(connection: HTTPConnection) -> SlurmLimits:
    found: SlurmLimits = connection.app.state.slurm_limits
    return found


SlurmLimitsDep = Annotated[SlurmLimits, Depends(_get_slurm_limits)]
