"""Rows of batch jobs and of usage for a portal's database, and the logins of all its users."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bench.rows import (
    BenchLogins,
    ended_columns,
    insert_jobs,
    job_row,
    login_row,
    queued_columns,
    squeue_line,
    user_rows,
)
from portal.db import Database, utcnow
from portal.models import BatchJob, Job, JobKind, JobState, User, WebSession

YEAR = timedelta(days=365)
SQLITE_CACHE_KIB = 1 << 20
SIMILAR = 10  # jobs that differ in little but their ids


@dataclass(frozen=True)
class JobScene:
    """The amounts of data. The first user owns a tenth of all jobs, the others the rest evenly.
    Queued jobs are arrays if `array_size` is set. Past jobs are a multiple of ten.
    """

    users: int
    queued: int = 0
    ended: int = 0
    array_size: int | None = None


@dataclass(frozen=True)
class JobSite:
    """The rows of the users and of the queued jobs, and a token for each user's login."""

    users: list[dict[str, Any]]
    queued: list[dict[str, Any]]
    tokens: list[str]

    @property
    def logins(self) -> BenchLogins:
        return BenchLogins(*self.tokens[:2])

    def squeue(self, states: dict[str, str] | None = None) -> str:
        """Return squeue's lines. `states` has Slurm's state for the ids of jobs not pending."""
        names = {user["id"]: user["username"] for user in self.users}
        found = states or {}
        return "".join(
            squeue_line(row, names[row["user_id"]], found.get(row["id"], "PENDING"))
            for row in self.queued
        )


async def fill_jobs(database: Database, scene: JobScene) -> JobSite:
    """Fill a new database with this scene; each user is logged in once."""
    users = user_rows(scene.users)
    tokens = [secrets.token_urlsafe(32) for _ in users]
    queued = [*_queued_rows(scene, users)]
    async with database.engine.begin() as connection:
        if connection.dialect.name == "sqlite":  # else it writes each page of an index many times
            await connection.exec_driver_sql(f"PRAGMA cache_size = -{SQLITE_CACHE_KIB}")
        await connection.execute(insert(User), users)
        logins = [login_row(*pair) for pair in zip(tokens, users, strict=True)]
        await connection.execute(insert(WebSession), logins)
        await insert_batch_jobs(connection, queued)
        await insert_batch_jobs(connection, _ended_rows(scene, users))
        await _multiply_ended(connection, scene)
    return JobSite(users, queued, tokens)


async def insert_batch_jobs(connection: AsyncConnection, rows: Iterable[dict[str, Any]]) -> None:
    await insert_jobs(connection, BatchJob.__table__, rows)


def batch_row(user: dict[str, Any], name: str, number: int) -> dict[str, Any]:
    return {
        **job_row(user, name, number),
        "kind": JobKind.JOB,
        "owner_id": user["id"],
        "template": f"train-{number % 7}",
        "parameters": {"lr": number % 100 / 1000, "epochs": 10},
        "logdir": f"/home/{user['username']}/portal/runs/{name}",
    }


def _owner(users: list[dict[str, Any]], number: int) -> dict[str, Any]:
    return users[0] if number % 10 == 0 else users[number % len(users)]


def _queued_rows(scene: JobScene, users: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    queued = {**queued_columns(), "array_size": scene.array_size}
    for number in range(scene.queued):
        yield {**batch_row(_owner(users, number), f"queued-{number:06}", number), **queued}


def _ended_rows(scene: JobScene, users: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the first of each ten jobs that ended, evenly over the last year."""
    newest, count = utcnow() - timedelta(hours=1), scene.ended // SIMILAR
    for number in range(count):
        begun = newest - YEAR * number / count
        row = batch_row(_owner(users, number), f"past-{number:06}", -number)
        metrics = {"accuracy": number % 1000 / 1000}
        ended = ended_columns(begun, timedelta(seconds=60 + 37 * number % 36_000))
        yield {**row, **ended, "id": f"{row['id'][:-1]}0", "metrics": metrics}


async def _multiply_ended(connection: AsyncConnection, scene: JobScene) -> None:
    """Add nine jobs like each that ended, submitted at the same time: the database copies rows
    several times faster than it receives them.
    """
    jobs, batch_jobs = Job.metadata.tables["jobs"], Job.metadata.tables["batch_jobs"]
    ended = jobs.c.state == JobState.ENDED
    for digit in range(1, SIMILAR):
        changed = {"job_id": jobs.c.job_id - digit * scene.ended}
        for table in (jobs, batch_jobs):
            columns = [
                func.substr(table.c.id, 1, 35).concat(str(digit))
                if column.name == "id"
                else changed.get(column.name, column)
                for column in table.columns
            ]
            query = select(*columns).where(jobs.c.id.endswith("0"), ended)
            source = jobs if table is jobs else table.join(jobs, jobs.c.id == table.c.id)
            names = [column.name for column in table.columns]
            await connection.execute(insert(table).from_select(names, query.select_from(source)))
