"""The migrations: up to the models' schema, and down, on SQLite and PostgreSQL."""

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateIndex, CreateTable

from portal.db import Database, alembic_config, upgrade, utcnow
from portal.models import Base, JobState, Session, Share, User
from tests.portal.migrations.rows import connected

# on PostgreSQL
AUDIT_SEARCH = {("audit_events", "words"), ("audit_events", "ix_audit_events_words")}


def look(url: str, question: Any) -> Any:
    with connected(url) as connection:
        return question(connection)


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


def test_twice_is_once(url: str) -> None:
    upgrade(url)
    upgrade(url)
    assert look(url, differences) == []


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    upgrade(f"sqlite+aiosqlite:///{tmp_path / 'portal.db'}")
    assert (tmp_path / "portal.db").stat().st_mode & 0o777 == 0o600


def test_postgresql_can_say_all_of_it() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    for table in Base.metadata.sorted_tables:
        CreateTable(table).compile(dialect=dialect)  # raises for an unsupported type
    indexes = [index for table in Base.metadata.sorted_tables for index in table.indexes]
    texts = {str(index.name): str(CreateIndex(index).compile(dialect=dialect)) for index in indexes}
    partial = texts["uq_jobs_live_session_name"]
    assert "WHERE kind = 'session' AND state != 'ended'" in partial


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
