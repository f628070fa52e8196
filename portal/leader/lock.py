"""The leader lock: of the portals on one PostgreSQL, the leader is the one with a connection that
holds an advisory lock.

The lock belongs to its connection: PostgreSQL releases it when that connection ends, however the
portal ended, and grants it to the next one that waits. The connection's name is the leader's
address.
"""

import asyncio
import secrets
from types import TracebackType
from typing import Any, LiteralString, Self

import psycopg
import structlog
from sqlalchemy.engine import make_url

log = structlog.get_logger(__name__)

CLASS, OBJECT = 0x706F7274, 1  # the lock's two numbers; the first is "port"
# How the application names of connections begin: the one that holds the lock, followed by the
# leader's address, and those with which the leader works.
LEADS = "portal leads at "
AT_WORK = "portal at work "
ANSWER_S = 5.0

# If the network is cut silently, the leader notices it within about 11 seconds. PostgreSQL notices
# it later, within about 30 seconds; only then does it release the lock to another portal.
CLIENT_KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
SERVER_KEEPALIVES = (
    "SET tcp_keepalives_idle = 15",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
)

# Every account that can connect to the database can take the lock and choose any name: only the
# portal's own account is trusted for the leader's address.
_HELD: LiteralString = """
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
    AND l.classid = %(class)s AND l.objid = %(object)s AND a.datname = current_database()
    AND a.usename = current_user
"""
_MINE: LiteralString = f"SELECT a.application_name {_HELD} AND l.pid = %(pid)s"
_LEADER: LiteralString = f"SELECT a.application_name {_HELD}"
_TAKE: LiteralString = "SELECT pg_advisory_lock(%(class)s, %(object)s)"
_TRY: LiteralString = "SELECT pg_try_advisory_lock(%(class)s, %(object)s)"
_END_OTHERS: LiteralString = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
    AND starts_with(application_name, %(kind)s) AND application_name <> %(mine)s
"""


class LeaderLock:
    """The leader lock.

    `address` is where the other portals reach this one; `connection_name` is the application name
    of its working connections, so that a successor can end them.
    """

    def __init__(self, url: str, address: str) -> None:
        parsed = make_url(url)
        _, self._where = parsed.get_dialect()().create_connect_args(parsed)
        self.address = address
        self.connection_name = f"{AT_WORK}{secrets.token_hex(8)}"
        self._holding: psycopg.AsyncConnection[Any] | None = None
        self._query_connection: psycopg.AsyncConnection[Any] | None = None
        self._query_lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.release()
        if self._query_connection is not None:
            await self._query_connection.close()

    async def acquire(self, *, wait: bool) -> bool:
        """Return whether this portal leads from now on; with `wait`, wait until it does.

        Connections that a former leader still has open in the database are ended first. Raises
        psycopg.Error.
        """
        if self._holding is None:
            self._holding = await self._connect(f"{LEADS}{self.address}")
            for setting in SERVER_KEEPALIVES:
                await self._holding.execute(setting)
        numbers = {"class": CLASS, "object": OBJECT}
        result = await self._holding.execute(_TAKE if wait else _TRY, numbers)
        (taken,) = await result.fetchone() or (False,)
        if taken is False:  # `pg_advisory_lock` itself returns nothing
            return False
        await self._holding.execute(_END_OTHERS, {"kind": AT_WORK, "mine": self.connection_name})
        return True

    async def wait_until_lost(self) -> None:
        """Return when the connection that holds the lock has ended."""
        if self._holding is None:
            return
        try:
            async for _ in self._holding.notifies():
                pass  # there are no notifications: this only detects the end of the connection
        except psycopg.Error as error:
            log.warning("the connection that leads has ended", cause=_to_text(error))

    async def release(self) -> None:
        """Release the lock for another portal; it can be acquired again."""
        holding, self._holding = self._holding, None
        if holding is not None:
            await holding.close()

    async def is_held(self) -> bool:
        """Return whether this portal leads, according to the database now."""
        if self._holding is None or self._holding.closed:
            return False
        pid = self._holding.info.backend_pid
        return await self._query(_MINE, pid=pid) is not None

    async def find_leader(self) -> str | None:
        """Return the leader's address; None while there is no leader, or the database does not
        answer.
        """
        name = await self._query(_LEADER)
        return name.removeprefix(LEADS) if name else None

    async def _query(self, query: LiteralString, **values: Any) -> str | None:
        """Run a query on a separate connection, because the other one waits; reconnect if it has
        ended.
        """
        numbers = {"class": CLASS, "object": OBJECT, **values}
        async with self._query_lock:
            try:
                async with asyncio.timeout(ANSWER_S):
                    if self._query_connection is None or self._query_connection.closed:
                        self._query_connection = await self._connect("portal asks who leads")
                    row = await (await self._query_connection.execute(query, numbers)).fetchone()
            except (psycopg.Error, TimeoutError) as error:
                log.warning("the database doesn't say who leads", cause=_to_text(error))
                if self._query_connection is not None:
                    await self._query_connection.close()
                return None
        return str(row[0]) if row else None

    async def _connect(self, name: str) -> psycopg.AsyncConnection[Any]:
        # PostgreSQL truncates a name to 63 bytes.
        where = {"connect_timeout": int(ANSWER_S), **self._where, **CLIENT_KEEPALIVES}
        return await psycopg.AsyncConnection.connect(
            **where, application_name=name[:63], autocommit=True
        )


def _to_text(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
