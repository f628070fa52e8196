"""Alembic's environment: runs the migrations on the caller's URL.

Callers are `portal migrate`, the portal's startup, and `alembic -x url=…` during development. The
models are used only for comparison.
"""

import asyncio

from alembic import context
from sqlalchemy import Connection, func, select

from portal.db import create_engine
from portal.models import Base

LOCK = 0x706F7274616C  # "portal": any number that no other program uses


def main() -> None:
    url = context.config.attributes.get("url") or context.get_x_argument(as_dictionary=True)["url"]
    if context.is_offline_mode():
        context.configure(url=url, target_metadata=Base.metadata, literal_binds=True)
        with context.begin_transaction():
            context.run_migrations()
    else:
        asyncio.run(_online(url))


async def _online(url: str) -> None:
    engine = create_engine(url)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(_run)
            await connection.commit()
    finally:
        await engine.dispose()


def _run(connection: Connection) -> None:
    # One transaction for all: an interrupted migration leaves the schema unchanged. A second
    # process that migrates at the same time waits here, and then finds nothing left to do.
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        transactional_ddl=True,
        # SQLite alters a table by copying it
        render_as_batch=connection.dialect.name == "sqlite",
    )
    with context.begin_transaction():
        context.run_migrations()


main()
