"""Guarded updates: read a row, change it, write it, and start over if another transaction has
changed it since.

`modify` is a plain function of the row. It may run more than once, so it must have no side effects
outside the given session.
"""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import CursorResult, Delete, Update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.exc import StaleDataError

from portal.db import Database
from portal.models import Base

Row = TypeVar("Row", bound=Base)
ATTEMPTS = 8


async def update_row(
    db: Database,
    kind: type[Row],
    row_id: str,
    modify: Callable[[Row], object],
    record: Callable[[AsyncSession, Row], object] | None = None,
) -> Row | None:
    """Modify a row and commit. Return None if there is no such row. `record` adds what belongs to
    the change, such as its audit event, to the same transaction.

    Raises StaleDataError if other transactions keep changing the row.
    """
    for attempt in range(1, ATTEMPTS + 1):
        async with db.session() as session:
            row = await session.get(kind, row_id)
            if row is None:
                return None
            modify(row)
            if record is not None:
                record(session, row)
            try:
                await session.commit()
            except StaleDataError:
                if attempt == ATTEMPTS:
                    raise
                continue
            return row
    return None


async def affects_one_row(db: AsyncSession, statement: Update | Delete) -> bool:
    """Execute a guarded statement; return False if its condition no longer holds for the row."""
    result = await db.execute(statement, execution_options={"synchronize_session": False})
    return isinstance(result, CursorResult) and result.rowcount == 1
