"""The schema revision of a database, and the one that this version of the portal needs."""

from dataclasses import dataclass, field
from typing import Any

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect
from sqlalchemy.engine import make_url

from portal.db import alembic_config, sqlite_file
from portal.models import Base

VERSION_TABLE = "alembic_version"


@dataclass(frozen=True)
class Schema:
    """The schema found in a database.

    `missing`: tables and columns that this version needs, checked only if the revision is this
    version's own.
    """

    revision: str | None
    tables: frozenset[str]
    missing: list[str] = field(default_factory=list)


def _load_scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(alembic_config(""))


def head() -> str:
    """Return this version's own revision."""
    revision = _load_scripts().get_current_head()
    if revision is None:
        raise RuntimeError("the portal's migrations are missing")
    return revision


def list_revisions() -> list[str]:
    """Return every revision that this version knows, newest first: its own and the older ones."""
    return [script.revision for script in _load_scripts().walk_revisions()]


def read_schema(connection: Connection) -> Schema:
    """Return the schema, for `AsyncConnection.run_sync`."""
    inspector = inspect(connection)
    tables = frozenset(inspector.get_table_names())
    revision = MigrationContext.configure(connection).get_current_revision()
    missing = _find_missing(inspector, tables) if revision == head() else []
    return Schema(revision, tables, missing)


def _find_missing(inspector: Any, tables: frozenset[str]) -> list[str]:
    missing = []
    for table in Base.metadata.sorted_tables:
        if table.name not in tables:
            missing.append(table.name)
            continue
        columns = {column["name"] for column in inspector.get_columns(table.name)}
        missing += [
            f"{table.name}.{expected.name}"
            for expected in table.columns
            if expected.name not in columns
        ]
    return missing


def database_name(url: str) -> str:
    """Return the location of a database, without its password."""
    file = sqlite_file(url)
    if file is not None:
        return str(file)
    parsed = make_url(url)
    host = parsed.host or str(parsed.query.get("host", "localhost"))
    return f"{parsed.database} at {host}:{parsed.port or 5432}"
