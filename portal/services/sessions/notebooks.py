"""The notebooks in a session's home that were changed last, each ready to be run as a job.

The launcher looks for them as the user, so its answer is the user's word: what has the wrong shape,
or a name that can't be told to Slurm, is left out.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from portal.models import Session
from portal.parts import Parts
from portal.services.slurm import launch
from spawner.errors import SpawnerError

WITHIN_S = 6.0
MOST = 40
MAX_PATH = 1000


@dataclass(frozen=True)
class Notebook:
    """`path` begins with ~/; `environment` is the one to run it in, None if there is none."""

    path: str
    changed_at: datetime
    environment: str | None


async def of_session(parts: Parts, session: Session) -> tuple[list[Notebook], bool]:
    """Newest first, and whether the whole home was looked through; the environment is the one
    whose kernel a notebook names, else the session's own. Raises what the launcher says of a home
    that can't be read."""
    try:
        answer = await parts.agents.call(session.user.username, "notebooks", timeout_s=WITHIN_S)
    except SpawnerError as error:
        raise launch.explained(error) from error
    offered = launch.offered_environments(parts, session.environment or "")
    names = [environment.name for environment in offered]
    own = session.environment if session.environment in names else None
    found = [
        Notebook(path, changed_at, kernel if kernel in names else own)
        for path, changed_at, kernel in _read(answer)
    ]
    return found, answer.get("complete") is True


def _read(answer: Mapping[str, Any]) -> Iterator[tuple[str, datetime, str | None]]:
    """Path, time and kernel of those that make sense."""
    listed = answer.get("notebooks")
    for item in listed[:MOST] if isinstance(listed, list) else []:
        match item:
            case {"path": str(path), "changed": float() | int() as changed, "kernel": kernel}:
                if path.isprintable() and len(path) < MAX_PATH and math.isfinite(changed):
                    yield f"~/{path}", _time(changed), kernel if isinstance(kernel, str) else None


def _time(seconds: float) -> datetime:
    """A file's time, which its owner may have set to anything."""
    latest = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
    return datetime.fromtimestamp(min(max(seconds, 0.0), latest), UTC)
