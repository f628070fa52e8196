"""Who may enter a session, and where it is: one answer for nginx and for the portal's own pages.

`decide` is pure and believes nothing but our own rows: the owner of the path against the user of
the web session, and the target that was taken from Slurm when the session called home. It knows
no HTTP. What is asked at every request of a notebook or a TensorBoard is one query, without
building objects.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from sqlalchemy import Boolean, Select, and_, bindparam, or_, select

from portal.db import Database, utcnow
from portal.models import (
    ContentLogin,
    Job,
    JobKind,
    JobState,
    Role,
    Session,
    User,
    Wanted,
    WebSession,
)
from portal.services.login import web_sessions
from portal.services.login.hashes import hash_token
from portal.services.people.roles import MAY_ENTER
from portal.settings import USERNAME_PATTERN, Settings

SERVER_PATTERN = r"^[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,29}$"
MIN_PORT = 1024
MAX_PORT = 65535

_USERNAME = re.compile(USERNAME_PATTERN)
_SERVER = re.compile(SERVER_PATTERN)


class Answer(Enum):
    """What the gate says to a request for a session."""

    ENTER = auto()  # the owner, and the session serves
    AWAY = auto()  # the owner, but nothing serves: the portal itself answers
    LOGIN = auto()  # nobody
    REFUSED = auto()  # somebody else, an admin too


@dataclass(frozen=True)
class Decision:
    """An answer; `host` and `port` are the session's, for ENTER only, and `tls_name` is whose
    certificate its server must show: a server without one speaks plain HTTP."""

    answer: Answer
    host: str = ""
    port: int = 0
    tls_name: str | None = None


@dataclass(frozen=True)
class Live:
    """What counts of a session that has not ended."""

    owner: str
    name: str
    state: JobState
    wanted: Wanted
    ready_at: datetime | None
    host: str | None
    port: int | None
    tls_name: str | None = None

    @classmethod
    def of(cls, session: Session | None) -> "Live | None":
        if session is None or session.state is JobState.ENDED:
            return None
        return cls(
            owner=session.user.username,
            name=session.name,
            state=session.state,
            wanted=session.wanted,
            ready_at=session.ready_at,
            host=session.target_host,
            port=session.target_port,
            tls_name=session.tls_name,
        )


def decide(username: str | None, owner: str, server: str, live: Live | None) -> Decision:
    """May `username` (None: nobody) enter /user/`owner`/`server`/? `live` is that session."""
    if username is None:
        return Decision(Answer.LOGIN)
    if username != owner or not (_USERNAME.match(owner) and _SERVER.match(server)):
        return Decision(Answer.REFUSED)
    target = target_of(live) if live is not None else None
    if live is None or target is None:
        return Decision(Answer.AWAY)
    if (live.owner, live.name) != (owner, server):
        return Decision(Answer.REFUSED)
    return Decision(Answer.ENTER, *target, live.tls_name)


def target_of(live: Live) -> tuple[str, int] | None:
    """Where this session's server answers requests, if it does and should."""
    if live.state is not JobState.RUNNING or live.wanted is not Wanted.RUN:
        return None
    if live.ready_at is None or not live.host or live.port is None:
        return None
    return (live.host, live.port) if MIN_PORT <= live.port <= MAX_PORT else None


@dataclass(frozen=True)
class Login:
    """Whose web session it is, as one query found it."""

    user_id: str
    username: str
    last_seen_at: datetime


_MAY_DO_WITHOUT = [
    and_(User.role == role, bindparam(f"{role.value}_without", type_=Boolean)) for role in Role
]
"""The roles whose logins need no second factor."""


def open_login(*columns: Any, content: bool = False) -> Select[Any]:
    """The login that a cookie's token opens, and more columns, of what the caller joins to it;
    `content`: the cookie of a content host, which counts at that host alone.

    The rule is web_sessions.resume_at's, in SQL; tests hold the two together. Its parameters are
    `login_parameters`: a query is made once, for making one costs more than asking it.
    """
    query = select(User.id, User.username, WebSession.last_seen_at, *columns)
    query = query.select_from(WebSession).join(User, WebSession.user_id == User.id)
    token = WebSession.token_hash == bindparam("token_hash")
    if content:
        query = query.join(ContentLogin, ContentLogin.web_session_id == WebSession.id)
        there = ContentLogin.host == bindparam("host")
        token = and_(ContentLogin.token_hash == bindparam("token_hash"), there)
    return query.where(
        token,
        WebSession.expires_at > bindparam("now"),
        WebSession.last_seen_at > bindparam("idle_since"),
        MAY_ENTER,
        or_(WebSession.second_factor_at.is_not(None), *_MAY_DO_WITHOUT),
    )


def login_parameters(settings: Settings, token: str, host: str | None = None) -> dict[str, Any]:
    now = utcnow()
    idle = timedelta(hours=settings.web_session_idle_hours)
    required = settings.second_factor_required_for
    return {
        "token_hash": hash_token(token),
        **({"host": host} if host is not None else {}),
        "now": now,
        "idle_since": now - idle,
        **{f"{role.value}_without": role not in required for role in Role},
    }


async def keep(
    database: Database, settings: Settings, token: str, login: Login, host: str | None = None
) -> bool:
    """Keep a login alive by its use, about once a minute; False if it is over after all."""
    if utcnow() - login.last_seen_at < web_sessions.TOUCH_EVERY:
        return True
    return await web_sessions.resume_at(database, settings, token, host) is not None


_JOB = Job.__table__
_SESSION = Session.__table__
_OWN_LIVE = and_(
    _JOB.c.user_id == User.id,
    _JOB.c.name == bindparam("server"),
    _JOB.c.kind == JobKind.SESSION,
    _JOB.c.state != JobState.ENDED,
)


def _look(*, content: bool) -> Select[Any]:
    return (
        open_login(
            _JOB.c.name,
            _JOB.c.state,
            _JOB.c.wanted,
            _SESSION.c.ready_at,
            _SESSION.c.target_host,
            _SESSION.c.target_port,
            _SESSION.c.tls_name,
            content=content,
        )
        .outerjoin(_JOB, _OWN_LIVE)
        .outerjoin(_SESSION, _SESSION.c.id == _JOB.c.id)
    )


LOOK = _look(content=False)
LOOK_AT_CONTENT = _look(content=True)


async def look(
    database: Database, settings: Settings, token: str, server: str, host: str | None = None
) -> tuple[Login | None, Live | None]:
    """Whose cookie this is, and their own live session of that name: one indexed query. `host` is
    the content host that the cookie was shown at; None: the portal's own."""
    parameters = {**login_parameters(settings, token, host), "server": server}
    query = LOOK if host is None else LOOK_AT_CONTENT
    async with database.engine.connect() as connection:
        row = (await connection.execute(query, parameters)).one_or_none()
    if row is None:
        return None, None
    login = Login(*row[:3])
    return login, Live(login.username, *row[3:]) if row[3] is not None else None


async def newest(database: Database, owner: str, server: str) -> Session | None:
    """The newest session of that name, ended or not: at most one of them lives, and it is newest.

    One indexed query: by username, then by owner and time.
    """
    query = (
        select(Session)
        .join(User, Session.user_id == User.id)
        .where(User.username == owner, Session.name == server, Session.removed_at.is_(None))
        .order_by(Session.created_at.desc())
        .limit(1)
    )
    async with database.session() as db:
        return (await db.scalars(query)).first()


def portal_address(settings: Settings) -> str:
    """Where nginx finds the portal: its upstream, and the target of what isn't running."""
    return settings.address


def host_port(host: str, port: int) -> str:
    """`host:port` as URLs and nginx write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
