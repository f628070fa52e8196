"""The migrations: up to the models' schema, and down; on SQLite, and as PostgreSQL's SQL."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateIndex, CreateTable

from portal.db import Database, alembic_config, upgrade, utcnow
from portal.models import Base, JobState, Session, Share, User
from tests.servers import postgresql as postgresql_server

# on PostgreSQL
AUDIT_SEARCH = {("audit_events", "words"), ("audit_events", "ix_audit_events_words")}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'portal.db'}"


def look(url: str, question: Any) -> Any:
    engine = create_engine(url.replace("+aiosqlite", ""))
    try:
        with engine.connect() as connection:
            return question(connection)
    finally:
        engine.dispose()


def differences(connection: Connection) -> list[Any]:
    """Return differences between models and schema. The audit search has no model."""

    def is_ours(name: str | None, kind: str, parents: Any) -> bool:
        if kind == "table":
            return not str(name).startswith("audit_search")
        return (parents.get("table_name"), name) not in AUDIT_SEARCH

    opts = {"compare_type": True, "include_name": is_ours}
    context = MigrationContext.configure(connection, opts=opts)
    return list(compare_metadata(context, Base.metadata))


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


def test_up_gives_what_the_models_say(url: str) -> None:
    upgrade(url)
    assert look(url, differences) == []
    assert look(url, tables) >= set(Base.metadata.tables)


def test_down_leaves_nothing(url: str) -> None:
    upgrade(url)
    command.downgrade(alembic_config(url), "base")
    assert look(url, tables) == {"alembic_version"}
    upgrade(url)
    assert look(url, differences) == []


OWNER = (
    "INSERT INTO users (id, username, display_name, role, created_at)"
    " VALUES ('u', 'alice', '', 'user', '2026-01-01')"
)
PARENT = (
    "INSERT INTO jobs (id, kind, user_id, name, resources, state, wanted, cluster, secret_hash,"
    " created_at, version) VALUES ('j', 'job', 'u', 'n', '{}', 'ended', 'run', '', '',"
    " '2026-01-01', 1)"
)
SHARE = "INSERT INTO shares (id, parent_id, {column}, created_at) VALUES (?, 'j', ?, '2026-01-01')"


def test_shares_with_users_survive_both_ways(url: str, tmp_path: Path) -> None:
    upgrade(url, "0002")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        raw.execute(OWNER)
        raw.execute(PARENT)
        raw.execute(SHARE.format(column="username"), ("1", "bob"))
    upgrade(url, "0003")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        raw.execute(SHARE.format(column="group_name"), ("2", "physics"))
    command.downgrade(alembic_config(url), "0002")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        assert raw.execute("SELECT id, username FROM shares").fetchall() == [("1", "bob")]


LIMITS = (
    "INSERT INTO limits (id, scope, name, updated_at, updated_by, version)"
    " SELECT id, 'group', username, '2026-01-01', 'carol', 1 FROM users"
)
FORMER = "UPDATE limits SET scope = 'person'"
IS_FORMER = "SELECT name FROM limits WHERE scope = 'person'"


def test_limits_of_users_survive_both_ways(url: str, tmp_path: Path) -> None:
    upgrade(url, "0022")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        raw.execute(OWNER)
        raw.execute(LIMITS)
        raw.execute(FORMER)
    upgrade(url, "0023")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        assert raw.execute("SELECT scope, name FROM limits").fetchall() == [("user", "alice")]
    command.downgrade(alembic_config(url), "0022")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        assert raw.execute(IS_FORMER).fetchall() == [("alice",)]


RUN = (
    "INSERT INTO benchmark_runs"
    " (job_id, user_id, template, gpus, nodes, figures, ended_at, read_at)"
    " VALUES ('j', 'u', 't', 0, 1, '[]', '2026-01-01', '2026-01-01')"
)


def test_benchmark_runs_survive_both_ways(url: str, tmp_path: Path) -> None:
    upgrade(url, "0023")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        for row in (OWNER, PARENT, RUN):
            raw.execute(row)
    upgrade(url, "0024")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        assert raw.execute("SELECT batch_job_id FROM benchmark_runs").fetchall() == [("j",)]
    command.downgrade(alembic_config(url), "0023")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        assert raw.execute("SELECT job_id FROM benchmark_runs").fetchall() == [("j",)]
        raw.execute("PRAGMA foreign_keys=ON")
        raw.execute("DELETE FROM jobs")
        assert raw.execute("SELECT job_id FROM benchmark_runs").fetchall() == []


TASKS = [{"index": 1, "cause": {"reason": 'No "advice": here.', "advice": "Wait."}}]
ARRAY = "INSERT INTO batch_jobs ({columns}) VALUES ({values})"


def test_suggestions_survive_both_ways(url: str, tmp_path: Path) -> None:
    upgrade(url, "0024")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        raw.execute(OWNER)
        raw.execute(PARENT)
        raw.execute("UPDATE jobs SET advice = 'Wait.'")
        columns = raw.execute("SELECT name, type FROM pragma_table_info('batch_jobs')").fetchall()
        whole = {name: "{}" if kind == "JSON" else 0 for name, kind in columns}
        whole |= {"id": "j", "owner_id": "u", "tasks": json.dumps(TASKS)}
        marks = ", ".join("?" * len(whole))
        raw.execute(ARRAY.format(columns=", ".join(whole), values=marks), tuple(whole.values()))
    upgrade(url, "0025")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        assert raw.execute("SELECT suggestion FROM jobs").fetchall() == [("Wait.",)]
        ((tasks,),) = raw.execute("SELECT tasks FROM batch_jobs").fetchall()
    cause = {"reason": 'No "advice": here.', "suggestion": "Wait."}
    assert json.loads(tasks) == [{"index": 1, "cause": cause}]
    command.downgrade(alembic_config(url), "0024")
    with sqlite3.connect(tmp_path / "portal.db") as raw:
        assert raw.execute("SELECT advice FROM jobs").fetchall() == [("Wait.",)]
        ((tasks,),) = raw.execute("SELECT tasks FROM batch_jobs").fetchall()
    assert json.loads(tasks) == TASKS


def test_twice_is_once(url: str) -> None:
    upgrade(url)
    upgrade(url)
    assert look(url, differences) == []


def test_the_file_is_for_its_owner_alone(url: str, tmp_path: Path) -> None:
    upgrade(url)
    assert (tmp_path / "portal.db").stat().st_mode & 0o777 == 0o600


def test_postgresql_can_say_all_of_it() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    for table in Base.metadata.sorted_tables:
        CreateTable(table).compile(dialect=dialect)  # raises for an unsupported type
    indexes = [index for table in Base.metadata.sorted_tables for index in table.indexes]
    texts = {str(index.name): str(CreateIndex(index).compile(dialect=dialect)) for index in indexes}
    partial = texts["uq_jobs_live_session_name"]
    assert "WHERE kind = 'session' AND state != 'ended'" in partial


def test_up_gives_what_the_models_say_on_postgresql() -> None:
    with postgresql_server.running() as server:
        url = server.make("portal")
        upgrade(url)
        assert look(url, differences) == []
        assert look(url, tables) >= set(Base.metadata.tables)


@pytest.mark.anyio
class TestRows:
    @pytest.fixture
    async def database(self, url: str) -> Any:
        database = Database(url)
        await database.migrate()
        yield database
        await database.close()

    @staticmethod
    def session(user: User, name: str, **values: Any) -> Session:
        return Session(user_id=user.id, name=name, **values)

    async def test_one_live_session_of_a_name(self, database: Database) -> None:
        async with database.session() as db:
            user = User(username="alice")
            db.add(user)
            await db.flush()
            db.add(self.session(user, "s1", state=JobState.ENDED))
            db.add(self.session(user, "s1", state=JobState.ENDED))
            db.add(self.session(user, "s1"))
            await db.commit()
            db.add(self.session(user, "s1"))
            with pytest.raises(IntegrityError):
                await db.commit()

    async def test_row_without_user_is_refused(self, database: Database) -> None:
        async with database.session() as db:
            db.add(Session(user_id="nobody", name="s1"))
            with pytest.raises(IntegrityError):
                await db.commit()

    @pytest.mark.parametrize("recipient", [{}, {"username": "bob", "group_name": "physics"}])
    async def test_a_share_is_with_a_user_or_a_group(
        self, database: Database, recipient: dict[str, str]
    ) -> None:
        async with database.session() as db:
            user = User(username="alice")
            db.add(user)
            await db.flush()
            session = self.session(user, "s1")
            db.add(session)
            await db.commit()
            db.add(Share(parent_id=session.id, **recipient))
            with pytest.raises(IntegrityError):
                await db.commit()

    async def test_times_keep_their_zone(self, database: Database) -> None:
        now = utcnow()
        async with database.session() as db:
            db.add(User(username="alice", created_at=now))
            await db.commit()
        async with database.session() as db:
            user = await db.get(User, (await self._only_user(database)).id)
        assert user is not None
        assert user.created_at == now
        assert user.created_at.tzinfo is not None

    async def _only_user(self, database: Database) -> User:
        from sqlalchemy import select

        async with database.session() as db:
            return (await db.scalars(select(User))).one()
