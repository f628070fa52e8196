"""What someone may do: roles from the directory and by grant, and who leads which group."""

from sqlalchemy import select

from portal.db import Database
from portal.models import GroupLeader


async def leads(database: Database, user_id: str, group: str) -> bool:
    """Whether someone is a leader of the group."""
    async with database.session() as db:
        return await db.get(GroupLeader, (group, user_id)) is not None


async def led_by(database: Database, user_id: str) -> list[str]:
    """Names of the groups that someone leads."""
    query = select(GroupLeader.group_name).where(GroupLeader.user_id == user_id)
    async with database.session() as db:
        return sorted((await db.scalars(query)).all())
