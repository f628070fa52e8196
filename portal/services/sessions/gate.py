"""Authorization for sessions, and their upstream targets: shared by nginx and the portal's pages.

`decide` is pure, knows no HTTP, and trusts only our own rows: the owner in the path is compared
with the user of the web session, and the target is the one that was taken from Slurm when the
session called home. The checks made at each request of a notebook or a TensorBoard are one query,
which builds no ORM objects.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from sqlalchemy import Boolean, Select, and_, bindparam, or_, select

from portal.config.settings import Settings
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
from portal.services.auth import web_sessions
from portal.services.hashes import hash_token
from portal.services.identity.roles import IS_ADMITTED_AND_ENABLED
from spawner.names import SESSION, USERNAME

MIN_PORT = 1024
MAX_PORT = 65535


class GateAnswer(Enum):
    """The gate's answer to a request for a session."""

    ENTER = auto()  # the owner, and the session serves requests
    UNAVAILABLE = auto()  # the owner, but nothing serves requests: the portal itself answers
    LOGIN = auto()  # not logged in
    REFUSED = auto()  # another user, even an administrator


@dataclass(frozen=True)
class Decision:
    """The gate's answer with the upstream target.

    `host` and `port` are set for ENTER only. `tls_name` is the name that the server's certificate
    must show; a server without one speaks plain HTTP.
    """

    answer: GateAnswer
    host: str = ""
    port: int = 0
    tls_name: str | None = None


@dataclass(frozen=True)
class LiveSession:
    """The fields of a session that has not ended that the decision depends on."""

    owner: str
    name: str
    state: JobState
    wanted: Wanted
    ready_at: datetime | None
    host: str | None
    port: int | None
    tls_name: str | None = None
    session_id: str = ""
    stale_since: datetime | None = None

    @classmethod
    def of(cls, session: Session | None) -> "LiveSession | None":
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
            session_id=session.id,
            stale_since=session.stale_since,
        )


def decide(username: str | None, owner: str, server: str, live: LiveSession | None) -> Decision:
    """Decide whether `username` (None: not logged in) may enter /user/`owner`/`server`/, which is
    the session `live`.
    """
    if username is None:
        return Decision(GateAnswer.LOGIN)
    if username != owner or not (USERNAME.fullmatch(owner) and SESSION.fullmatch(server)):
        return Decision(GateAnswer.REFUSED)
    target = get_target(live) if live is not None else None
    if live is None or target is None:
        return Decision(GateAnswer.UNAVAILABLE)
    if (live.owner, live.name) != (owner, server):
        return Decision(GateAnswer.REFUSED)
    return Decision(GateAnswer.ENTER, *target, live.tls_name)


def get_target(live: LiveSession) -> tuple[str, int] | None:
    """Return the host and port of the session's server if it serves requests and should, else
    None.
    """
    if live.state is not JobState.RUNNING or live.wanted is not Wanted.RUN:
        return None
    if live.ready_at is None or not live.host or live.port is None:
        return None
    return (live.host, live.port) if MIN_PORT <= live.port <= MAX_PORT else None


@dataclass(frozen=True)
class GateLogin:
    """The login of a cookie's token: its user and web session, as read by one query."""

    user_id: str
    username: str
    last_seen_at: datetime
    web_session_id: str


_NO_SECOND_FACTOR_NEEDED = [
    and_(User.role == role, bindparam(f"{role.value}_without", type_=Boolean)) for role in Role
]
"""SQL conditions for the roles that may log in without a second factor."""


def build_login_query(*columns: Any, content: bool = False) -> Select[Any]:
    """Build the query for the login of a cookie's token, plus `columns` of tables that the
    caller joins. `content`: the cookie is one of a content host (web/content_host.py), which is
    valid at that host only.

    The rule is the one of web_sessions.resume_at, in SQL; tests compare the two. The parameters
    come from `login_parameters`. Build the query once: building it costs more than running it.
    """
    query = select(User.id, User.username, WebSession.last_seen_at, WebSession.id, *columns)
    query = query.select_from(WebSession).join(User, WebSession.user_id == User.id)
    token = WebSession.token_hash == bindparam("token_hash")
    if content:
        query = query.join(ContentLogin, ContentLogin.web_session_id == WebSession.id)
        is_same_host = ContentLogin.host == bindparam("host")
        token = and_(ContentLogin.token_hash == bindparam("token_hash"), is_same_host)
    return query.where(
        token,
        WebSession.expires_at > bindparam("now"),
        WebSession.last_seen_at > bindparam("idle_since"),
        IS_ADMITTED_AND_ENABLED,
        or_(WebSession.second_factor_at.is_not(None), *_NO_SECOND_FACTOR_NEEDED),
    )


def login_parameters(settings: Settings, token: str, host: str | None = None) -> dict[str, Any]:
    """Return the parameters of a query from `build_login_query`; `host` is the content host, if it
    is that of one.
    """
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


async def record_activity(
    database: Database, settings: Settings, token: str, login: GateLogin, host: str | None = None
) -> bool:
    """Record that a login is in use, about once a minute. Return False if it has expired after
    all.
    """
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


def _build_lookup(*, content: bool) -> Select[Any]:
    return (
        build_login_query(
            _JOB.c.name,
            _JOB.c.state,
            _JOB.c.wanted,
            _SESSION.c.ready_at,
            _SESSION.c.target_host,
            _SESSION.c.target_port,
            _SESSION.c.tls_name,
            _JOB.c.id,
            _JOB.c.stale_since,
            content=content,
        )
        .outerjoin(_JOB, _OWN_LIVE)
        .outerjoin(_SESSION, _SESSION.c.id == _JOB.c.id)
    )


GATE_QUERY = _build_lookup(content=False)
CONTENT_GATE_QUERY = _build_lookup(content=True)


async def load_gate_row(
    database: Database, settings: Settings, token: str, server: str, host: str | None = None
) -> tuple[GateLogin | None, LiveSession | None]:
    """Return the login of this cookie and that user's live session of this name, with one indexed
    query. `host` is the content host (web/content_host.py) that received the cookie; None is the
    portal's own host.
    """
    parameters = {**login_parameters(settings, token, host), "server": server}
    query = GATE_QUERY if host is None else CONTENT_GATE_QUERY
    async with database.connection() as connection:
        row = (await connection.execute(query, parameters)).one_or_none()
    if row is None:
        return None, None
    login = GateLogin(*row[:4])
    return login, LiveSession(login.username, *row[4:]) if row[4] is not None else None


async def load_newest_session(database: Database, owner: str, server: str) -> Session | None:
    """Return the newest session of that name, ended or not; if one is live, it is the newest.

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


def host_port(host: str, port: int) -> str:
    """Format `host:port` as in URLs and in nginx, with IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
