"""The directory: is this password right, whose is it, and a new one in its place.

The only module that talks LDAP. ldap3 blocks, so every call runs in one of a few threads; each
opens a connection of its own, verified by TLS, and closes it. It decides nothing about roles and
knows no database.
"""

import math
import secrets
import ssl
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import structlog

from portal.errors import (
    AccountLocked,
    DirectoryUnavailable,
    FieldError,
    InvalidInput,
    PasswordExpired,
    WrongCredentials,
)
from portal.ppolicy import (
    CONTROL_OID,
    REQUEST_CONTROL,
    PolicyError,
    active_directory_error,
    change_refusal,
    decode_control,
)
from portal.settings import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ldap3 uses pyasn1's older names
    from ldap3 import BASE, NONE, SUBTREE, Connection, Server, Tls
    from ldap3.core.exceptions import LDAPException
    from ldap3.utils.conv import escape_filter_chars
    from ldap3.utils.dn import escape_rdn
    from pyasn1.error import PyAsn1Error

log = structlog.get_logger(__name__)
T = TypeVar("T")

MAX_PASSWORD_LENGTH = 1024
MAX_USERNAME_LENGTH = 256
MAX_THREADS = 8
AVOID_DEAD_SERVER_S = 30.0
MAX_GROUPS = 1000
_SUCCESS = 0
_INVALID_CREDENTIALS = 49
_NO_SUCH_OBJECT = 32
_SIZE_LIMIT_EXCEEDED = 4
_CONSTRAINT_VIOLATION = 19
_UNWILLING = 53
_INSUFFICIENT_ACCESS = 50
# Results of a bind that speak about the account, whatever the password was.
_NOT_THIS_ACCOUNT = frozenset({_INVALID_CREDENTIALS, _NO_SUCH_OBJECT, 48, 34, _UNWILLING})


@dataclass(frozen=True)
class Person:
    """An entry of the directory; `groups` are the names of the groups found for it."""

    username: str
    dn: str
    display_name: str
    email: str | None
    uid: int | None
    groups: frozenset[str]


@dataclass(frozen=True)
class ServerHealth:
    """One server of the directory; `cause` says what is wrong, None when nothing is."""

    url: str
    cause: str | None


class _ServerTrouble(Exception):
    """This server can't serve now; another may."""


class _VerifyingTls(Tls):
    """ldap3's TLS with Python's own host name check, which knows addresses and current rules."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(validate=context.verify_mode)
        self._context = context

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        connection.socket = self._context.wrap_socket(
            connection.socket,
            do_handshake_on_connect=do_handshake,
            server_hostname=connection.server.host,
        )


@dataclass(frozen=True)
class Directory:
    """All servers of the directory; one instance per application."""

    settings: Settings
    _dead_until: dict[str, float] = field(default_factory=dict)
    _limiter: anyio.CapacityLimiter = field(
        default_factory=lambda: anyio.CapacityLimiter(MAX_THREADS)
    )

    async def authenticate(self, username: str, password: str) -> Person:
        """The person this username and password belong to.

        Raises WrongCredentials (AccountLocked, PasswordExpired) or DirectoryUnavailable. Nothing is
        sent to a server for what can't be right: an empty password would be an anonymous bind.
        """
        if not 0 < len(password) <= MAX_PASSWORD_LENGTH or "\0" in password:
            raise WrongCredentials
        if not 0 < len(username) <= MAX_USERNAME_LENGTH or not username.isprintable():
            raise WrongCredentials
        return await self._in_thread(
            lambda: self._with_a_server(lambda link: link.authenticate(username, password))
        )

    @property
    def finds(self) -> bool:
        """Whether people can be found without their password: not where a template makes the DN,
        for there each is looked up as themselves."""
        return self.settings.ldap_user_dn_template is None

    async def find(self, username: str) -> Person | None:
        """Someone as the portal's own account sees them, None if there is nobody of that name.
        Only where `finds`. Raises DirectoryUnavailable."""
        return await self._in_thread(lambda: self._with_a_server(lambda link: link.find(username)))

    async def change_password(self, username: str, current: str, new: str) -> None:
        """Set a new password as the person, by the password modify operation (RFC 3062).

        Raises InvalidInput with the directory's reason, and what `authenticate` raises.
        """
        if not current or not new or max(len(current), len(new)) > MAX_PASSWORD_LENGTH:
            raise WrongCredentials
        await self._in_thread(
            lambda: self._with_a_server(lambda link: link.change_password(username, current, new))
        )

    async def health(self) -> list[ServerHealth]:
        """Each server tried on its own: connection, certificate, and the service account's bind."""
        return await self._in_thread(lambda: [self._health(url) for url in self.settings.ldap_urls])

    async def answers(self) -> None:
        """Raise DirectoryUnavailable unless some server serves."""
        await self._in_thread(lambda: self._with_a_server(lambda link: link.bind_service()))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    def _health(self, url: str) -> ServerHealth:
        try:
            with _link(url, self.settings) as link:
                link.bind_service()
        except (LDAPException, OSError, _ServerTrouble) as error:
            return ServerHealth(url, explain(error))
        return ServerHealth(url, None)

    def _with_a_server(self, act: Callable[["_Link"], T]) -> T:
        """What `act` returns on the first server that serves; one that didn't is tried last."""
        causes = []
        for url in self._in_order():
            try:
                with _link(url, self.settings) as link:
                    result = act(link)
            except (LDAPException, OSError, _ServerTrouble) as error:
                cause = explain(error)
                log.warning("directory server failed", url=url, cause=cause)
                self._dead_until[url] = time.monotonic() + AVOID_DEAD_SERVER_S
                causes.append(f"{url}: {cause}")
            else:
                self._dead_until.pop(url, None)
                return result
        raise DirectoryUnavailable("; ".join(causes))

    def _in_order(self) -> list[str]:
        now = time.monotonic()
        return sorted(self.settings.ldap_urls, key=lambda url: self._dead_until.get(url, 0.0) > now)


def explain(error: Exception) -> str:
    """Why a server couldn't be used, for logs and `portal check`."""
    text = str(error)[:300]
    if "certificate" in text.lower():
        return f"its certificate doesn't verify ({text})"
    if isinstance(error, _ServerTrouble):
        return text
    return f"no answer ({text})"


@contextmanager
def _speaking_ldap() -> Iterator[None]:
    """The first words with a server: what isn't LDAP makes ldap3's decoder stumble in many ways."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, PyAsn1Error) as error:
        raise _ServerTrouble(f"it doesn't speak LDAP ({type(error).__name__}: {error})") from error


@contextmanager
def _link(url: str, settings: Settings) -> Iterator["_Link"]:
    """An open, encrypted connection, nobody bound on it."""
    tls = _VerifyingTls(_tls_context(settings))
    server = Server(url, get_info=NONE, connect_timeout=settings.ldap_timeout_s, tls=tls)
    connection = Connection(
        server,
        auto_referrals=False,
        check_names=False,
        raise_exceptions=False,
        # ldap3 hands this to the kernel as whole seconds
        receive_timeout=math.ceil(settings.ldap_timeout_s),
    )
    try:
        with _speaking_ldap():
            connection.open(read_server_info=False)
            if not server.ssl and settings.ldap_start_tls:
                connection.start_tls(read_server_info=False)
        yield _Link(connection, settings)
    finally:
        connection.strategy.close()
        if connection.socket is not None:  # ldap3 forgets the one that failed to connect
            connection.socket.close()


def _tls_context(settings: Settings) -> ssl.SSLContext:
    cafile = str(settings.ldap_ca_file) if settings.ldap_ca_file else None
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=cafile)
    if not settings.ldap_verify_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@dataclass(frozen=True)
class _Link:
    """What is said on one connection. ldap3's own errors mean that the server didn't answer."""

    connection: Connection
    settings: Settings

    def authenticate(self, username: str, password: str) -> Person:
        settings = self.settings
        if settings.ldap_user_dn_template is not None:
            dn = settings.ldap_user_dn_template.format(username=escape_rdn(username))
            self._bind_person(dn, password)
            entry = self._one(dn, "(objectClass=*)", BASE)
        else:
            entry = self._find(username)
            if entry is None:
                # As much work as for someone who exists, so that time tells nobody who does.
                self._bind_person(f"cn={secrets.token_hex(8)},{settings.ldap_user_base}", "-")
                raise WrongCredentials
            self._bind_person(entry["dn"], password)
            self.bind_service()
        if entry is None:
            raise WrongCredentials
        return self._person(entry, username)

    def find(self, username: str) -> Person | None:
        entry = self._find(username)
        return self._person(entry, username) if entry is not None else None

    def change_password(self, username: str, current: str, new: str) -> None:
        template = self.settings.ldap_user_dn_template
        if template is not None:
            dn = template.format(username=escape_rdn(username))
        else:
            entry = self._find(username)
            if entry is None:
                raise WrongCredentials
            dn = entry["dn"]
        self._bind_person(dn, current, may_be_expired=True)
        self.connection.extend.standard.modify_password(
            dn, current, new, controls=[REQUEST_CONTROL]
        )
        result = self._result()
        if result["result"] == _SUCCESS:
            return
        if result["result"] not in {_CONSTRAINT_VIOLATION, _UNWILLING, _INSUFFICIENT_ACCESS}:
            raise _ServerTrouble(f"password change: {result['description']}")
        sentence = change_refusal(_policy_error(result), str(result["message"]))
        raise InvalidInput(sentence, errors=[FieldError("new_password", sentence)])

    def bind_service(self) -> None:
        """Bind as the account that searches; without one, anonymously."""
        settings = self.settings
        password = settings.ldap_bind_password
        with _speaking_ldap():
            if settings.ldap_bind_dn is None or password is None:
                self.connection.rebind(authentication="ANONYMOUS", read_server_info=False)
            else:
                self.connection.rebind(settings.ldap_bind_dn, password, read_server_info=False)
        result = self._result()
        if result["result"] != _SUCCESS:
            raise _ServerTrouble(f"the portal's own account is refused: {result['description']}")

    def _bind_person(self, dn: str, password: str, *, may_be_expired: bool = False) -> None:
        """Check the password by binding with it; the control tells a locked account apart."""
        self.connection.rebind(dn, password, read_server_info=False, controls=[REQUEST_CONTROL])
        result = self._result()
        policy = _policy_error(result)
        if policy is None:
            policy = active_directory_error(str(result["message"]))
        if policy is PolicyError.ACCOUNT_LOCKED:
            raise AccountLocked(
                "This account is locked in the directory, usually after too many wrong passwords. "
                "Wait a while, or ask your administrators to unlock it."
            )
        if policy is PolicyError.PASSWORD_EXPIRED and result["result"] != _SUCCESS:
            raise PasswordExpired("Your password has expired; ask your administrators for help.")
        if policy is PolicyError.CHANGE_AFTER_RESET and not may_be_expired:
            raise PasswordExpired(
                "Your password was reset and must be changed before you can log in here: log in to "
                "the cluster by ssh, or run passwd, and choose a new one."
            )
        if result["result"] in _NOT_THIS_ACCOUNT:
            raise WrongCredentials
        if result["result"] != _SUCCESS:
            raise _ServerTrouble(f"login: {result['description']}")

    def _find(self, username: str) -> dict[str, Any] | None:
        self.bind_service()
        query = self.settings.ldap_user_filter.format(username=escape_filter_chars(username))
        return self._one(self.settings.ldap_user_base or "", query, SUBTREE)

    def _one(self, base: str, query: str, scope: Any) -> dict[str, Any] | None:
        """The one entry that matches; none when there are several, for then nobody knows whose."""
        settings = self.settings
        attributes = [
            settings.ldap_username_attribute,
            *settings.ldap_name_attributes,
            settings.ldap_mail_attribute,
            settings.ldap_uid_attribute,
        ]
        entries = self._search(base, query, scope, attributes, size_limit=2)
        if len(entries) > 1:
            log.warning("several entries match one username", base=base)
        return entries[0] if len(entries) == 1 else None

    def _search(
        self, base: str, query: str, scope: Any, attributes: list[str], *, size_limit: int
    ) -> list[dict[str, Any]]:
        self.connection.search(base, query, scope, attributes=attributes, size_limit=size_limit)
        result = self._result()
        if result["result"] not in {_SUCCESS, _NO_SUCH_OBJECT, _SIZE_LIMIT_EXCEEDED}:
            raise _ServerTrouble(f"search: {result['description']}")
        found = self.connection.response or []
        return [entry for entry in found if entry["type"] == "searchResEntry"]

    def _person(self, entry: dict[str, Any], typed: str) -> Person:
        settings = self.settings
        username = (_first(entry, settings.ldap_username_attribute) or typed).lower()
        names = (_first(entry, name) for name in settings.ldap_name_attributes)
        uid = _first(entry, settings.ldap_uid_attribute) or ""
        return Person(
            username=username,
            dn=entry["dn"],
            display_name=next((name for name in names if name), username)[:200],
            email=(_first(entry, settings.ldap_mail_attribute) or "")[:320] or None,
            uid=int(uid) if uid.isdecimal() else None,
            groups=self._groups(username, entry["dn"]),
        )

    def _groups(self, username: str, dn: str) -> frozenset[str]:
        settings = self.settings
        if settings.ldap_group_base is None:
            return frozenset()
        query = settings.ldap_group_filter.format(
            username=escape_filter_chars(username), dn=escape_filter_chars(dn)
        )
        name = settings.ldap_group_name_attribute
        entries = self._search(
            settings.ldap_group_base, query, SUBTREE, [name], size_limit=MAX_GROUPS
        )
        return frozenset(group for entry in entries if (group := _first(entry, name)))

    def _result(self) -> dict[str, Any]:
        result: dict[str, Any] = self.connection.result
        return result


def _policy_error(result: dict[str, Any]) -> PolicyError | None:
    control = (result.get("controls") or {}).get(CONTROL_OID)
    value = control.get("value") if control else None
    return decode_control(value) if isinstance(value, bytes) else None


def _first(entry: dict[str, Any], attribute: str) -> str | None:
    """The first value of an attribute, as text; names of attributes ignore case."""
    raw = {name.lower(): values for name, values in entry["raw_attributes"].items()}
    values = raw.get(attribute.lower())
    return values[0].decode("utf-8", "replace") if values else None
