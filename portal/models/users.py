"""The tables of users: identity, roles and groups, logins, and home directories.

`users` has a row for each user who logged in, or whose account an administrator created or changed
here. Other users of the directory have none.
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
    """A user who logged in, or whose account an administrator created or changed here.

    `uid` is the last value read from the directory. `role` is the effective role: the higher of
    `directory_role`, derived from the groups at the last refresh, and `granted_role`, granted by an
    administrator here.

    For a disabled user, `deprovisioned_at` is the time at which all their sessions and jobs were
    seen to have ended; until then the deprovisioning loop retries. `directory_wants` is the account
    state that the portal still has to write to the directory, null if there is none; it is not what
    the directory reports. `missing_since` is the time at which the user was first not found in the
    directory. `files_wanted` is the pending task for the home directory of a user being deleted,
    `deprovision_problem` the last problem that the deprovisioning loop met. When deletion is
    complete the name is free again: `username` is then a placeholder that begins with "~", as no
    account's name does, and `former_username` the old name.

    `preferences` has the shape of services/identity/preferences.py; null if the user has chosen
    nothing.
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
    deprovisioned_at: Mapped[datetime | None]
    deprovision_problem: Mapped[str | None] = mapped_column(Text)
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
    """A group of a user according to the directory when it was last read, at `users.groups_at`."""

    __tablename__ = "group_memberships"

    user_id: Mapped[str] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(String(GROUP_NAME_LENGTH), primary_key=True, index=True)


class GroupManager(Base):
    """A group manager: sees the usage of the group's members and sets their limits."""

    __tablename__ = "group_managers"

    group_name: Mapped[str] = mapped_column(String(GROUP_NAME_LENGTH), primary_key=True)
    user_id: Mapped[str] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    created_by: Mapped[str] = mapped_column(String(100))


class HomeCommandRun(Base):
    """One run of the site's command for a user's home directory.

    `output` is its stdout and stderr combined, only the end if it is long.
    """

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

    `password_at` is when the password was last entered: at the login, or again later.
    `second_factor_at` is null for a login with a password only.
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
    """A web session's login on one content host; `token_hash` is the hash of the cookie there.

    It grants nothing else, ends with its web session, and has no expiry of its own.
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
    """A single-use code, valid for seconds, that becomes a `ContentLogin` in the browser whose
    content host redirected here.

    `state_hash` is the hash of the random state in that browser's cookie: no other browser can use
    the code.
    """

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
    """A login with a correct password that still `awaits` a second-factor code, or a new password
    in place of a one-time one.

    A separate table, so that no query for web sessions can mistake one for a full login.
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
    """An access token that a user's program presents instead of a cookie; the token itself is never
    stored.
    """

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


class DeviceLogin(Base):
    """A login of a program on a user's device, until its user has confirmed it in the browser and
    the device has collected its token.

    The device keeps the device code, and its user types the user code; both are stored as hashes.
    `device` is the name that the device reported, `ip` the address of its request, and `network`
    the part of it that limits apply to. `approved` is null until the user decides; `user_id` and
    the token's `days` are set with the decision.
    """

    __tablename__ = "device_logins"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    device_code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    device: Mapped[str] = mapped_column(String(60))
    scopes: Mapped[list[Any]]
    ip: Mapped[str] = mapped_column(String(45))
    network: Mapped[str] = mapped_column(String(45), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime] = mapped_column(index=True)
    polled_at: Mapped[datetime | None]
    approved: Mapped[bool | None]
    user_id: Mapped[str | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    days: Mapped[int | None]

    user: Mapped[User | None] = relationship(lazy="joined")


class SecondFactor(Base):
    """A user's authenticator app. It counts once `confirmed_at` is set. `secret` is encrypted.

    `last_step` is the time step of the newest accepted code: no code is accepted twice.
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
    """A single-use code that replaces the authenticator app; the row is deleted when the code is
    used.
    """

    __tablename__ = "recovery_codes"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class LoginFailure(Base):
    """A failed login, counted by username and by address, and deleted once it leaves the window.

    `kind` separates passwords from second factors, whose failures a correct password must not
    clear. `browser` is empty for an unrecognized browser; see services/auth/attempts.py.
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
    browser: Mapped[str] = mapped_column(String(80), default="")
    at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
