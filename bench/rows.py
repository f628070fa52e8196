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
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Table, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from bench.cluster_access import Failed
from portal.db import Database, utcnow
from portal.models import Job, JobKind, JobState, Role, Session, User, WebSession, new_id
from portal.services.hashes import hash_token
from spawner.slurm.model import Outcome
from spawner.slurm.parse import squeue_format
from spawner.slurm.reasons import explain_reason

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
    users = _user_rows(scene.users)
    tokens = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    sessions = [*_running_rows(scene, users), *_queued_rows(scene, users)]
    async with database.engine.begin() as connection:
        await connection.execute(insert(User), users)
        logins = [_login_row(*pair) for pair in zip(tokens, users, strict=False)]
        await connection.execute(insert(WebSession), logins)
        for rows in _chunks([*sessions, *_ended_rows(scene, users)]):
            await _insert(connection, rows)
    names = {user["id"]: user["username"] for user in users}
    lines = (_squeue_line(row, names[row["user_id"]]) for row in sessions)
    return BenchLogins(*tokens), "".join(lines)


def _user_rows(count: int) -> list[dict[str, Any]]:
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


def _login_row(token: str, user: dict[str, Any]) -> dict[str, Any]:
    return {
        "token_hash": hash_token(token),
        "user_id": user["id"],
        "expires_at": utcnow() + timedelta(hours=2),
    }


def _job_row(user: dict[str, Any], name: str, number: int) -> dict[str, Any]:
    started_at = utcnow() - timedelta(minutes=10)
    return {
        "id": new_id(),
        "kind": JobKind.SESSION,
        "user_id": user["id"],
        "name": name,
        "environment": "python3",
        "resources": RESOURCES,
        "job_id": FIRST_JOB_ID + number,
        "created_at": started_at,
        "changed_at": started_at,
        "submitted_at": started_at,
        "submit_time": started_at.replace(microsecond=0),
        "logdir": f"/home/{user['username']}/portal/runs/{name}",
        "base_url": f"/user/{user['username']}/{name}/",
    }


def _running_rows(scene: Scene, users: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield sessions that have called home; the portal itself hands them to the hub."""
    host, port = scene.target
    for number in range(scene.running):
        row = _job_row(users[number % len(users)], f"r{number}", number)
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
    """Yield sessions queued for a while, so that the portal has already set a reason."""
    why = explain_reason(REASON)
    assert why is not None  # noqa: S101  a reason that Slurm gives every day
    for number in range(scene.running, scene.running + scene.queued):
        row = _job_row(users[number % len(users)], f"q{number}", number)
        yield {**row, "state": JobState.QUEUED, "reason": why.text, "suggestion": why.suggestion}


def _ended_rows(scene: Scene, users: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield ended sessions, five minutes apart, back from an hour ago."""
    last = utcnow() - timedelta(hours=1)
    for number in range(scene.ended):
        begun = last - timedelta(minutes=5 * number)
        yield {
            **_job_row(users[number % len(users)], f"s{number}", -number),
            "state": JobState.ENDED,
            "outcome": Outcome.COMPLETED,
            "created_at": begun,
            "changed_at": begun,
            "submitted_at": begun,
            "submit_time": begun.replace(microsecond=0),
            "started_at": begun,
            "ended_at": begun + timedelta(minutes=4),
        }


async def _insert(connection: AsyncConnection, rows: list[dict[str, Any]]) -> None:
    for table in (Job.__table__, Session.__table__):
        assert isinstance(table, Table)  # noqa: S101 - a mapped class has one
        columns = {key for row in rows for key in row} & set(table.columns.keys())
        await connection.execute(
            insert(table), [{column: row.get(column) for column in columns} for row in rows]
        )


def _chunks(rows: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """Group rows by their set of columns, because one INSERT has one set, and yield chunks."""
    shapes: dict[frozenset[str], list[dict[str, Any]]] = {}
    for row in rows:
        shapes.setdefault(frozenset(row), []).append(row)
    for same in shapes.values():
        for start in range(0, len(same), CHUNK):
            yield same[start : start + CHUNK]


def _squeue_line(row: dict[str, Any], username: str) -> str:
    running = row["state"] is JobState.STARTING
    submitted = f"{row['submit_time']:%Y-%m-%dT%H:%M:%S}"
    values = {
        "A": str(row["job_id"]), "F": str(row["job_id"]), "K": "N/A", "u": username, "U": "20001",
        "T": "RUNNING" if running else "PENDING",
        "P": "cpu", "a": "research", "q": "normal", "N": "node03" if running else "",
        "V": submitted, "S": submitted if running else "N/A", "e": "N/A", "l": "4:00:00",
        "r": "None" if running else REASON, "k": f"portal:{row['id']}", "j": row["name"],
        "b": "N/A",
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
