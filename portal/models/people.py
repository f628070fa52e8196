"""People: who they are, how they are logged in, what they may.

`users` has a row for everyone who has logged in, or whom an administrator has made or named.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from portal.db import utcnow
from portal.models.base import (
    GROUP_NAME_LENGTH,
    AccountState,
    Base,
    HalfLoginStep,
    HomeState,
    HomeTask,
    JobsPolicy,
    Role,
    new_id,
)


class User(Base):
    """Someone who has logged in, or whom an administrator has made or named.

    `uid` is what the directory said last. `role` is what counts: the higher of `directory_role`,
    which the groups gave at the last look, and `granted_role`, which an administrator gave here.

    Of the disabled `closed_at` is when all that was open was seen to be closed; until then the
    closing loop goes on. `directory_wants` is what the directory has yet to be told;
    `missing_since` when it was first found not to know the person any more. `files_wanted` is what
    is still to become of the home directory of someone being deleted, `closing_problem` what the
    closing loop met last. Once all is over, the name of the deleted is free: `username` is then one
    that nobody can have, `former_username` the one they had.

    `preferences` has the shape of services/people/preferences.py; null where nothing was chosen.
    """

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    username: Mapped[str] = mapped_column(String(32), unique=True)
    display_name: Mapped[str] = mapped_column(String(200), default="")
    email: Mapped[str | None] = mapped_column(String(320))
    role: Mapped[Role] = mapped_column(default=Role.USER)
    directory_role: Mapped[Role | None]
    granted_role: Mapped[Role | None]
    granted_by: Mapped[str | None] = mapped_column(String(100))
    granted_at: Mapped[datetime | None]
    uid: Mapped[int | None] = mapped_column(BigInteger)
    disabled_at: Mapped[datetime | None] = mapped_column(index=True)
    disabled_by: Mapped[str | None] = mapped_column(String(100))
    disabled_why: Mapped[str | None] = mapped_column(Text)
    disabled_jobs: Mapped[JobsPolicy | None]
    closed_at: Mapped[datetime | None]
    closing_problem: Mapped[str | None] = mapped_column(Text)
    directory_wants: Mapped[AccountState | None]
    missing_since: Mapped[datetime | None]
    files_wanted: Mapped[HomeTask | None]
    deleted_at: Mapped[datetime | None]
    former_username: Mapped[str | None] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    last_login_at: Mapped[datetime | None]
    groups_at: Mapped[datetime | None]
    second_factor_reset_at: Mapped[datetime | None]
    preferences: Mapped[dict[str, Any] | None]


class GroupMembership(Base):
    """A group that the directory named for someone when it was last asked, at `users.groups_at`."""

    __tablename__ = "group_memberships"

    user_id: Mapped[str] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(String(GROUP_NAME_LENGTH), primary_key=True, index=True)


class GroupLeader(Base):
    """Someone who sees what a group's members use, and sets their limits."""

    __tablename__ = "group_leaders"

    group_name: Mapped[str] = mapped_column(String(GROUP_NAME_LENGTH), primary_key=True)
    user_id: Mapped[str] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    created_by: Mapped[str] = mapped_column(String(100))


class HomeRun(Base):
    """One run of the site's command for somebody's home directory. `output` is what it printed,
    both streams, the end of it where it is long."""

    __tablename__ = "home_runs"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    task: Mapped[HomeTask]
    state: Mapped[HomeState] = mapped_column(default=HomeState.QUEUED, index=True)
    home: Mapped[str] = mapped_column(String(4096))
    uid: Mapped[int] = mapped_column(BigInteger)
    gid: Mapped[int] = mapped_column(BigInteger)
    output: Mapped[str] = mapped_column(Text, default="")
    exit_code: Mapped[int | None]
    requested_by: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class WebSession(Base):
    """One login of one browser. The cookie's token itself is never stored.

    `second_factor_at` is null for a login that gave a password only.
    """

    __tablename__ = "web_sessions"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    last_seen_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime] = mapped_column(index=True)
    password_at: Mapped[datetime] = mapped_column(default=utcnow)
    second_factor_at: Mapped[datetime | None]
    ip: Mapped[str] = mapped_column(String(45), default="")
    user_agent: Mapped[str] = mapped_column(String(300), default="")

    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class ContentLogin(Base):
    """A web session of its owner's on one content host: what the cookie there is kept as. It opens
    nothing else, ends with its web session, and has no end of its own.
    """

    __tablename__ = "content_logins"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    web_session_id: Mapped[str] = mapped_column(
        ForeignKey("web_sessions.id", ondelete="CASCADE"), index=True
    )
    host: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class ContentCode(Base):
    """A code, good once and for seconds, that becomes a `ContentLogin` in the one browser whose
    content host has sent it here: `state_hash` is of what that browser keeps."""

    __tablename__ = "content_codes"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    web_session_id: Mapped[str] = mapped_column(
        ForeignKey("web_sessions.id", ondelete="CASCADE"), index=True
    )
    host: Mapped[str] = mapped_column(String(255))
    state_hash: Mapped[str] = mapped_column(String(64))
    expires_at: Mapped[datetime] = mapped_column(index=True)


class HalfLogin(Base):
    """A login whose password was right, and which `awaits` something still: a code, or another
    password in place of one that was good for one change only.

    A table of its own, so that nothing which looks for a web session can take it for one.
    """

    __tablename__ = "half_logins"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    awaits: Mapped[HalfLoginStep] = mapped_column(default=HalfLoginStep.CODE)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime] = mapped_column(index=True)

    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class AccessToken(Base):
    """What a program of someone's shows instead of a cookie; the token itself is never stored."""

    __tablename__ = "access_tokens"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class SecondFactor(Base):
    """Someone's authenticator app. `secret` is encrypted; it counts once `confirmed_at` is set.

    `last_step` is the time step of the newest code that was accepted: no code counts twice.
    """

    __tablename__ = "second_factors"

    user_id: Mapped[str] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    secret: Mapped[str] = mapped_column(String(200))
    last_step: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    confirmed_at: Mapped[datetime | None]


class RecoveryCode(Base):
    """One of the codes that replace the authenticator app, each once; the row goes with its use."""

    __tablename__ = "recovery_codes"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class LoginFailure(Base):
    """One failed login; counted by username and by address, and dropped once out of the window.

    `kind` tells passwords from second factors, whose failures a right password must not forgive.
    """

    __tablename__ = "login_failures"
    __table_args__ = (
        Index("ix_login_failures_username_at", "username", "at"),
        Index("ix_login_failures_ip_at", "ip", "at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(String(256))
    ip: Mapped[str] = mapped_column(String(45))
    kind: Mapped[str] = mapped_column(String(16), default="password")
    at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
