"""Which schema a database has, and which one this version of the portal needs."""

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
    """What a database was found to hold. `missing`: tables and columns that this version needs,
    looked for where the revision is this version's own."""

    revision: str | None
    tables: frozenset[str]
    missing: list[str] = field(default_factory=list)


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(alembic_config(""))


def head() -> str:
    """This version's own revision."""
    revision = _scripts().get_current_head()
    if revision is None:
        raise RuntimeError("the portal's migrations are missing")
    return revision


def known() -> list[str]:
    """Every revision that this version knows, newest first: its own and the older ones."""
    return [script.revision for script in _scripts().walk_revisions()]


def look(connection: Connection) -> Schema:
    """For `AsyncConnection.run_sync`."""
    found = inspect(connection)
    tables = frozenset(found.get_table_names())
    revision = MigrationContext.configure(connection).get_current_revision()
    missing = _missing(found, tables) if revision == head() else []
    return Schema(revision, tables, missing)


def _missing(found: Any, tables: frozenset[str]) -> list[str]:
    missing = []
    for table in Base.metadata.sorted_tables:
        if table.name not in tables:
            missing.append(table.name)
            continue
        columns = {column["name"] for column in found.get_columns(table.name)}
        missing += [f"{table.name}.{one.name}" for one in table.columns if one.name not in columns]
    return missing


def place(url: str) -> str:
    """Where a database is, without its password."""
    file = sqlite_file(url)
    if file is not None:
        return str(file)
    parsed = make_url(url)
    host = parsed.host or str(parsed.query.get("host", "localhost"))
    return f"{parsed.database} at {host}:{parsed.port or 5432}"
