"""In-memory cache of current and upcoming announcements.

The database is queried at a fixed interval, not once per reader. Browsers decide from the times of
an announcement when to show it.
"""

from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import and_, or_, select

from portal.db import Database, utcnow
from portal.models import Announcement, AnnouncementLevel

MAX_SHOWN = 20
"""Maximum number shown at the same time: users would not read more."""
LOADED_AHEAD = timedelta(minutes=10)
ORDER = {AnnouncementLevel.CRITICAL: 0, AnnouncementLevel.WARNING: 1, AnnouncementLevel.INFO: 2}


@dataclass
class AnnouncementCache:
    """Announcements that are shown now or begin soon, most severe first.

    `version` increases with every change.
    """

    rows: tuple[Announcement, ...] = ()
    version: int = 0
    _key: tuple[tuple[str, int], ...] = field(default=(), repr=False)

    async def refresh(self, database: Database) -> bool:
        """Reload the announcements. Return whether they changed."""
        now = utcnow()
        shown = and_(
            Announcement.starts_at <= now + LOADED_AHEAD,
            or_(Announcement.ends_at.is_(None), Announcement.ends_at > now),
        )
        query = select(Announcement).where(shown).order_by(Announcement.created_at.desc())
        async with database.session() as db:
            rows = list((await db.scalars(query.limit(MAX_SHOWN * 5))).all())
        rows.sort(key=lambda row: ORDER[row.level])
        self.rows = tuple(rows[:MAX_SHOWN])
        key = tuple((row.id, row.version) for row in self.rows)
        if key == self._key:
            return False
        self._key, self.version = key, self.version + 1
        return True
