"""Which of the portals on one PostgreSQL leads: the one whose connection holds an advisory lock.

The lock is its connection's own: PostgreSQL lets go of it when that connection ends, however the
portal ended, and gives it to the next one that waits. The same connection tells whoever held it.
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
LEADS = "portal leads at "
AT_WORK = "portal at work "
ANSWER_S = 5.0

# Where the network is cut without a word, the leader gives up before the server lets another lead.
GIVES_UP = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
LETS_GO = (
    "SET tcp_keepalives_idle = 15",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
)

_HELD: LiteralString = """
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
    AND l.classid = %(class)s AND l.objid = %(object)s AND a.datname = current_database()
    AND a.usename = current_user
"""
# Whoever may connect to the database can take the lock and call itself what it likes: only the
# portal's own account is believed where the leader is.
_MINE: LiteralString = f"SELECT a.application_name {_HELD} AND l.pid = %(pid)s"
_LEADER: LiteralString = f"SELECT a.application_name {_HELD}"
_TAKE: LiteralString = "SELECT pg_advisory_lock(%(class)s, %(object)s)"
_TRY: LiteralString = "SELECT pg_try_advisory_lock(%(class)s, %(object)s)"
_END_OTHERS: LiteralString = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
    AND starts_with(application_name, %(kind)s) AND application_name <> %(mine)s
"""


class Lock:
    """The right to act. `address` is where the other portals reach this one; `name` is what its
    connections at work are called, so that a successor can end them."""

    def __init__(self, url: str, address: str) -> None:
        parsed = make_url(url)
        _, self._where = parsed.get_dialect()().create_connect_args(parsed)
        self.address = address
        self.name = f"{AT_WORK}{secrets.token_hex(8)}"
        self._holding: psycopg.AsyncConnection[Any] | None = None
        self._asking: psycopg.AsyncConnection[Any] | None = None
        self._one_asks = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.release()
        if self._asking is not None:
            await self._asking.close()

    async def take(self, *, wait: bool) -> bool:
        """Whether this portal leads from now on; with `wait` once it does. Whatever a former leader
        still has open in the database is ended first. Raises psycopg.Error."""
        if self._holding is None:
            self._holding = await self._connect(f"{LEADS}{self.address}")
            for setting in LETS_GO:
                await self._holding.execute(setting)
        numbers = {"class": CLASS, "object": OBJECT}
        found = await self._holding.execute(_TAKE if wait else _TRY, numbers)
        (taken,) = await found.fetchone() or (False,)
        if taken is False:  # `pg_advisory_lock` itself returns nothing
            return False
        await self._holding.execute(_END_OTHERS, {"kind": AT_WORK, "mine": self.name})
        return True

    async def until_lost(self) -> None:
        """Return when the connection that holds the lock has ended."""
        if self._holding is None:
            return
        try:
            async for _ in self._holding.notifies():
                pass  # nobody sends any: this only hears the connection end
        except psycopg.Error as error:
            log.warning("the connection that leads has ended", cause=_in_short(error))

    async def release(self) -> None:
        """Let another portal lead; it may be taken again."""
        holding, self._holding = self._holding, None
        if holding is not None:
            await holding.close()

    async def held(self) -> bool:
        """Whether the database, asked now, says that this portal leads."""
        if self._holding is None or self._holding.closed:
            return False
        pid = self._holding.info.backend_pid
        return await self._ask(_MINE, pid=pid) is not None

    async def leader(self) -> str | None:
        """The leader's address; None while nobody leads, or the database doesn't say."""
        name = await self._ask(_LEADER)
        return name.removeprefix(LEADS) if name else None

    async def _ask(self, query: LiteralString, **values: Any) -> str | None:
        """By a connection of its own, for the other one waits; a new one where that has ended."""
        numbers = {"class": CLASS, "object": OBJECT, **values}
        async with self._one_asks:
            try:
                async with asyncio.timeout(ANSWER_S):
                    if self._asking is None or self._asking.closed:
                        self._asking = await self._connect("portal asks who leads")
                    row = await (await self._asking.execute(query, numbers)).fetchone()
            except (psycopg.Error, TimeoutError) as error:
                log.warning("the database doesn't say who leads", cause=_in_short(error))
                if self._asking is not None:
                    await self._asking.close()
                return None
        return str(row[0]) if row else None

    async def _connect(self, name: str) -> psycopg.AsyncConnection[Any]:
        # PostgreSQL keeps 63 bytes of a name
        where = {"connect_timeout": int(ANSWER_S), **self._where, **GIVES_UP}
        return await psycopg.AsyncConnection.connect(
            **where, application_name=name[:63], autocommit=True
        )


def _in_short(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
