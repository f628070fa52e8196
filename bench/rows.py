"""Synthetic rows for a portal's database, and the squeue lines that match them.

Sessions are spread evenly over the users. Depends on the portal's tables and squeue's fields.
`fill_beside` runs this module as a program beside the installed application, because the tables
must match the installed version:

    python -m bench.rows DATABASE SQUEUE-FILE SCENE
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import FromClause, Table, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from bench.cluster_access import Failed
from portal.db import Database, utcnow
from portal.models import Job, JobKind, JobState, Role, Session, User, WebSession, new_id
from portal.services.hashes import hash_token
from spawner.slurm.model import Outcome
from spawner.slurm.parse import squeue_format
from spawner.slurm.reasons.pending import explain_reason

MARK = "@MARK@"
FIRST_JOB_ID = 1_000_000
CHUNK = 5_000
REASON = "Priority"
FIELD = re.compile(r"%(\d*)([A-Za-z])")
RESOURCES = {
    "partition": "cpu", "nodes": 1, "gpus": 0, "gpu_type": None, "cpus": 1, "memory_gb": 1.0,
    "time_limit_minutes": 240, "account": "research", "qos": None,
}  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """The amounts of data; running sessions claim to serve at `target`. With `nodes`, the portal
    sees so many made-up nodes instead of the cluster's own.
    """

    users: int
    running: int = 0
    queued: int = 0
    ended: int = 0
    nodes: int = 0
    target: tuple[str, int] = ("127.0.0.1", 1)


@dataclass(frozen=True)
class BenchLogins:
    """Cookie tokens of an ordinary user and of an administrator."""

    user_token: str
    admin_token: str


def fill_beside(app: Path, database: Path, squeue: Path, scene: Scene) -> BenchLogins:
    """Create the database and the squeue lines with the application that is installed in `app`."""
    bench = Path(__file__).resolve().parent.parent
    argv = [sys.executable, "-m", "bench.rows", str(database), str(squeue)]
    done = subprocess.run(
        [*argv, json.dumps(asdict(scene))],
        cwd=app, env={"PYTHONPATH": str(bench), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    if done.returncode != 0:
        raise Failed(f"the database could not be filled: {done.stderr[-1500:]}")
    return BenchLogins(**json.loads(done.stdout))


async def fill(database: Database, scene: Scene) -> tuple[BenchLogins, str]:
    """Fill a new database with this scene, and return the logins and squeue's lines for it."""
    await database.migrate()
    users = user_rows(scene.users)
    tokens = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    running, queued = [*_running_rows(scene, users)], [*_queued_rows(scene, users)]
    async with database.engine.begin() as connection:
        await connection.execute(insert(User), users)
        logins = [login_row(*pair) for pair in zip(tokens, users, strict=False)]
        await connection.execute(insert(WebSession), logins)
        for rows in (running, queued, _ended_rows(scene, users)):
            await insert_jobs(connection, Session.__table__, rows)
    names = {user["id"]: user["username"] for user in users}
    lines = (
        squeue_line(row, names[row["user_id"]], state)
        for state, rows in (("RUNNING", running), ("PENDING", queued))
        for row in rows
    )
    return BenchLogins(*tokens), "".join(lines)


def user_rows(count: int) -> list[dict[str, Any]]:
    """Return user rows: the first an ordinary user, the second an administrator.

    The directory does not have these users. Their groups are marked as just refreshed, because the
    portal would otherwise refresh them and deny access.
    """
    roles = [Role.USER, Role.ADMIN, *[Role.USER] * (count - 2)]
    return [
        {
            "id": new_id(),
            "username": f"user{number:04}",
            "display_name": f"User {number}",
            "role": role,
            "directory_role": role,
            "groups_at": utcnow(),
        }
        for number, role in enumerate(roles)
    ]


def login_row(token: str, user: dict[str, Any]) -> dict[str, Any]:
    return {
        "token_hash": hash_token(token),
        "user_id": user["id"],
        "expires_at": utcnow() + timedelta(hours=2),
    }


def _session_row(user: dict[str, Any], name: str, number: int) -> dict[str, Any]:
    return {
        **job_row(user, name, number),
        "kind": JobKind.SESSION,
        "logdir": f"/home/{user['username']}/portal/runs/{name}",
        "base_url": f"/user/{user['username']}/{name}/",
    }


def job_row(user: dict[str, Any], name: str, number: int) -> dict[str, Any]:
    """Return what sessions and jobs have in common, submitted ten minutes ago."""
    submitted_at = utcnow() - timedelta(minutes=10)
    return {
        "id": new_id(),
        "user_id": user["id"],
        "name": name,
        "environment": "python3",
        "resources": RESOURCES,
        "job_id": FIRST_JOB_ID + number,
        **submission_times(submitted_at),
    }


def submission_times(at: datetime) -> dict[str, datetime]:
    """Return the columns of a job that was submitted at this time and has not changed since."""
    whole = at.replace(microsecond=0)
    return {"created_at": at, "changed_at": at, "submitted_at": at, "submit_time": whole}


def queued_columns() -> dict[str, Any]:
    """Return the columns of a job queued for a while, with the reason that the portal has set."""
    why = explain_reason(REASON)
    assert why is not None  # noqa: S101  a reason that Slurm gives every day
    return {"state": JobState.QUEUED, "reason": why.text, "suggestion": why.suggestion}


def _running_rows(scene: Scene, users: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield sessions that have called home; the portal itself hands them to the hub."""
    host, port = scene.target
    for number in range(scene.running):
        row = _session_row(users[number % len(users)], f"r{number}", number)
        yield {
            **row,
            "state": JobState.STARTING,
            "node": "node03",
            "target_host": host,
            "target_port": port,
            "started_at": row["submit_time"],
            "called_home_at": utcnow(),
        }


def _queued_rows(scene: Scene, users: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    queued = queued_columns()
    for number in range(scene.running, scene.running + scene.queued):
        yield {**_session_row(users[number % len(users)], f"q{number}", number), **queued}


def _ended_rows(scene: Scene, users: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield ended sessions, five minutes apart, back from an hour ago."""
    last = utcnow() - timedelta(hours=1)
    for number in range(scene.ended):
        begun = last - timedelta(minutes=5 * number)
        row = _session_row(users[number % len(users)], f"s{number}", -number)
        yield {**row, **ended_columns(begun, timedelta(minutes=4))}


def ended_columns(begun: datetime, duration: timedelta) -> dict[str, Any]:
    """Return the columns of a job that started when it was submitted, and completed."""
    return {
        "state": JobState.ENDED,
        "outcome": Outcome.COMPLETED,
        **submission_times(begun),
        "started_at": begun,
        "ended_at": begun + duration,
        "duration_s": int(duration.total_seconds()),
    }


async def insert_jobs(
    connection: AsyncConnection, kind: FromClause, rows: Iterable[dict[str, Any]]
) -> None:
    """Insert rows, all with the same columns, into the table of all jobs and that of their kind."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, CHUNK)):
        for table in (Job.__table__, kind):
            assert isinstance(table, Table)  # noqa: S101 - a mapped class has one
            columns = chunk[0].keys() & set(table.columns.keys())
            await connection.execute(
                insert(table), [{column: row[column] for column in columns} for row in chunk]
            )


def squeue_line(row: dict[str, Any], username: str, state: str, **changes: str) -> str:
    """Return squeue's line for a job in this state of Slurm's. `changes` replace values of the
    letters of its format.
    """
    running = state != "PENDING"
    submitted = f"{row['submit_time']:%Y-%m-%dT%H:%M:%S}"
    values = {
        "A": str(row["job_id"]), "F": str(row["job_id"]), "K": "N/A", "u": username, "U": "20001",
        "T": state, "P": "cpu", "a": "research", "q": "normal", "N": "node03" if running else "",
        "V": submitted, "S": submitted if running else "N/A", "e": "N/A", "l": "4:00:00",
        "r": "None" if running else REASON, "k": f"portal:{row['id']}", "j": row["name"],
        "b": "N/A", **changes,
    }  # fmt: skip
    # `%44k` is the value of k, padded to 44 characters
    line = FIELD.sub(lambda match: values[match[2]].ljust(int(match[1] or 0)), squeue_format(MARK))
    return f"{line}\n"


async def _main(file: str, squeue: str, scene: str) -> None:
    database = Database(f"sqlite+aiosqlite:///{file}")
    try:
        logins, lines = await fill(database, Scene(**json.loads(scene)))
    finally:
        await database.close()
    await asyncio.to_thread(Path(squeue).write_text, lines)
    print(json.dumps(asdict(logins)))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
