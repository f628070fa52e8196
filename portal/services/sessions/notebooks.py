"""The most recently changed notebooks in the home of a session's owner, ready to be run as a job.

The files program searches for them as the user, so its answer is untrusted: entries of the wrong
shape, or with a path that cannot be passed to Slurm, are left out.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from portal.context import AppContext
from portal.models import Session
from portal.services.slurm import launch
from spawner.errors import SpawnerError

WITHIN_S = 6.0
MAX_NOTEBOOKS = 40
MAX_PATH = 1000


@dataclass(frozen=True)
class Notebook:
    """A notebook; `path` begins with ~/, `environment` is the one to run it in, None if there is
    none.
    """

    path: str
    changed_at: datetime
    environment: str | None


async def list_notebooks(context: AppContext, session: Session) -> tuple[list[Notebook], bool]:
    """Return the notebooks, newest first, and whether the whole home was searched.

    The environment is the one that has the kernel named in the notebook, else the session's own.
    Raises the launcher's error for a home that cannot be read.
    """
    try:
        answer = await context.file_pool.call(
            session.user.username, "notebooks", timeout_s=WITHIN_S
        )
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error
    offered = launch.list_offered_environments(context, session.environment or "")
    names = [environment.name for environment in offered]
    own = session.environment if session.environment in names else None
    notebooks = [
        Notebook(path, changed_at, kernel if kernel in names else own)
        for path, changed_at, kernel in _parse_entries(answer)
    ]
    return notebooks, answer.get("complete") is True


def _parse_entries(answer: Mapping[str, Any]) -> Iterator[tuple[str, datetime, str | None]]:
    """Yield path, time and kernel of the valid entries."""
    listed = answer.get("notebooks")
    for item in listed[:MAX_NOTEBOOKS] if isinstance(listed, list) else []:
        match item:
            case {"path": str(path), "changed": float() | int() as changed, "kernel": kernel}:
                # not math.isfinite, which can't convert every integer
                if path.isprintable() and len(path) < MAX_PATH and abs(changed) < math.inf:
                    yield (
                        f"~/{path}",
                        _to_datetime(changed),
                        kernel if isinstance(kernel, str) else None,
                    )


def _to_datetime(seconds: float) -> datetime:
    """Convert a file's modification time, which its owner may have set to any value."""
    latest = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
    return datetime.fromtimestamp(min(max(seconds, 0.0), latest), UTC)
