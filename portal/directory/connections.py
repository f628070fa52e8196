"""Connections to the directory's servers: encrypted, verified, kept open, with fail-over.

ldap3 blocks, so all of this runs in threads. A kept connection is bound to an identity, which
`OpenConnection` tracks: every user of a connection binds before anything else. A failed read is
tried on the next server; a change that was sent to a server never is.
"""

import math
import select
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

from portal.config.settings import Settings
from portal.directory.contract import ServerHealth
from portal.directory.mapping import Entry, texts
from portal.errors import DirectoryUnavailable, DirectoryUnfinished, PortalError
from spawner.timing import Measure, measured, unmeasured

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ldap3 uses pyasn1's older names
    from ldap3 import (
        BASE,
        MODIFY_ADD,
        MODIFY_DELETE,
        MODIFY_REPLACE,
        NONE,
        SUBTREE,
        Connection,
        Server,
        Tls,
    )
    from ldap3.core.exceptions import LDAPException
    from ldap3.protocol.rfc4511 import Filter
    from pyasn1.codec.ber.encoder import encode
    from pyasn1.error import PyAsn1Error

__all__ = ["BASE", "MODIFY_ADD", "MODIFY_DELETE", "MODIFY_REPLACE", "SUBTREE", "Filter", "encode"]

log = structlog.get_logger(__name__)
T = TypeVar("T")

AVOID_DEAD_SERVER_S = 30.0
MAX_IDLE = 8
"""Maximum number of idle connections per server."""
KEEP_S = 300.0
"""Maximum age of a connection in seconds: a changed password or certificate takes effect after
that.
"""
REMEMBER_FEATURES_S = 600.0

SUCCESS = 0
SIZE_LIMIT_EXCEEDED = 4
ADMIN_LIMIT_EXCEEDED = 11
REFERRAL = 10
NO_SUCH_OBJECT = 32
PAGED = "1.2.840.113556.1.4.319"

Result = dict[str, Any]


class ServerTrouble(Exception):
    """This server cannot serve now; another may."""


class TakesNoChanges(ServerTrouble):
    """This server is a replica: it answers, but another server has to make the change."""


FAILURES = (LDAPException, OSError, ServerTrouble)


@dataclass(frozen=True)
class Features:
    """The features that a server advertises in its root entry."""

    controls: frozenset[str]
    capabilities: frozenset[str]


@dataclass(frozen=True)
class Batch:
    """The entries of one page. `cookie` is b"" at the end; `cut`: the server withholds the rest."""

    entries: list[Entry]
    cookie: bytes
    cut: bool


@dataclass
class OpenConnection:
    """An open connection. ldap3's own errors mean that the server did not answer.

    `bound` is the DN of the last bind, "" for an anonymous one, None if there is none in effect.
    `reserved` keeps the connection with its current user. `changing` describes a change that was
    sent and not yet answered.
    """

    url: str
    connection: Any  # ldap3's Connection, whose published types are incomplete
    settings: Settings
    opened: float
    bound: str | None = None
    reserved: bool = False
    changing: str | None = None

    def bind_reader(self, *, force: bool = False) -> None:
        """Bind as the account that searches; anonymously if there is none."""
        settings = self.settings
        self._bind_service_account(settings.ldap_bind_dn, settings.ldap_bind_password, force=force)

    def bind_writer(self) -> None:
        """Bind as the account that changes things."""
        settings = self.settings
        self._bind_service_account(
            settings.ldap_write_dn, settings.ldap_write_password, force=False
        )

    def _bind_service_account(self, dn: str | None, password: str | None, *, force: bool) -> None:
        bind_dn = dn if dn is not None and password is not None else ""
        if self.bound == bind_dn and not force:
            return
        self.bound = None
        with speaking_ldap():
            if bind_dn:
                self.connection.rebind(bind_dn, password, read_server_info=False)
            else:
                self.connection.rebind(authentication="ANONYMOUS", read_server_info=False)
        result = self.result()
        if result["result"] != SUCCESS:
            who = bind_dn or "anonymous"
            raise ServerTrouble(f"the portal's account {who} is refused: {result['description']}")
        self.bound = bind_dn

    def try_bind(self, dn: str, password: str, controls: list[Any]) -> Result:
        """Bind with a user's password and return the result, whatever it is."""
        self.bound = None
        self.connection.rebind(dn, password, read_server_info=False, controls=controls)
        return self.result()

    def search(
        self, base: str, query: str, scope: Any, attributes: list[str], *, size_limit: int
    ) -> list[Entry]:
        """Return up to `size_limit` entries; none if the base does not exist."""
        self.connection.search(base, query, scope, attributes=attributes, size_limit=size_limit)
        return self._read_entries({SUCCESS, NO_SUCH_OBJECT, SIZE_LIMIT_EXCEEDED})

    def search_page(
        self, base: str, query: str, attributes: list[str], size: int, cookie: bytes
    ) -> Batch:
        """Return one page of simple paged results (RFC 2696) of everything below `base`."""
        self.connection.search(
            base,
            query,
            SUBTREE,
            attributes=attributes,
            paged_size=size,
            paged_criticality=True,
            paged_cookie=cookie or None,
        )
        cut = {SIZE_LIMIT_EXCEEDED, ADMIN_LIMIT_EXCEEDED}
        entries = self._read_entries({SUCCESS, NO_SUCH_OBJECT, *cut})
        result = self.result()
        if result["result"] != SUCCESS:
            return Batch(entries, b"", cut=result["result"] in cut)
        control = (result.get("controls") or {}).get(PAGED)
        return Batch(entries, control["value"]["cookie"] if control else b"", cut=False)

    def _read_entries(self, fine: set[int]) -> list[Entry]:
        result = self.result()
        if result["result"] not in fine:
            raise ServerTrouble(f"search: {result['description']} {result['message']}".strip())
        response = self.connection.response or []
        return [entry for entry in response if entry["type"] == "searchResEntry"]

    def result(self) -> Result:
        result: Result = self.connection.result
        return result

    def close(self) -> None:
        self.connection.strategy.close()
        if self.connection.socket is not None:  # ldap3 forgets a socket that failed to connect
            self.connection.socket.close()

    def usable(self) -> bool:
        """Return whether the connection can be reused: readable data means that the server has hung
        up.
        """
        if time.monotonic() - self.opened > KEEP_S or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.socket, select.POLLIN)
        return not poll.poll(0)


@dataclass(frozen=True)
class Servers:
    """All servers of the directory; methods are called in threads.

    `measure` is called for each request.
    """

    settings: Settings
    measure: Measure = unmeasured
    _dead_until: dict[str, float] = field(default_factory=dict)
    _idle: dict[str, list[OpenConnection]] = field(default_factory=dict)
    _features: dict[str, tuple[float, Features]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: threading.Event = field(default_factory=threading.Event)

    def use(self, act: Callable[[OpenConnection], T], *, only: str | None = None) -> T:
        """Return the result of `act` on the first server that serves; recently failed ones are
        tried last.

        `only` restricts the call to one server.

        A failure on a kept connection does not count against its server: `act` gets a new
        connection. Raises DirectoryUnavailable; DirectoryUnfinished comes from `act` itself.
        """
        causes = []
        for url in [only] if only else self._order_urls():
            try:
                with measured(self.measure, url, (LDAPException, OSError, DirectoryUnfinished)):
                    result = self._run_on(url, act)
            except TakesNoChanges as error:
                causes.append(f"{url}: {error}")
            except FAILURES as error:
                cause = explain(error)
                log.warning("directory server failed", url=url, cause=cause)
                self._dead_until[url] = time.monotonic() + AVOID_DEAD_SERVER_S
                causes.append(f"{url}: {cause}")
            else:
                self._dead_until.pop(url, None)
                return result
        raise DirectoryUnavailable("; ".join(causes))

    def _run_on(self, url: str, act: Callable[[OpenConnection], T]) -> T:
        kept = self._take_idle(url)
        if kept is not None:
            try:
                return self._run_with(kept, act)
            except TakesNoChanges:
                raise
            except FAILURES as error:
                log.info("a kept directory connection failed", url=url, cause=explain(error))
                self.forget(url)
        return self._run_with(open_link(url, self.settings), act)

    def _run_with(self, link: OpenConnection, act: Callable[[OpenConnection], T]) -> T:
        try:
            result = act(link)
        except PortalError:
            self.give_back(link)
            raise
        except BaseException:
            link.close()
            raise
        if not link.reserved:
            self.give_back(link)
        return result

    def _take_idle(self, url: str) -> OpenConnection | None:
        while True:
            with self._lock:
                idle = self._idle.get(url)
                link = idle.pop() if idle else None
            if link is None or link.usable():
                return link
            link.close()

    def give_back(self, link: OpenConnection) -> None:
        """Keep a connection for reuse, unless enough are kept.

        After `close` it is closed instead: a thread may finish later, when the task that waited for
        it was cancelled.
        """
        link.reserved = False
        if link.changing is None:
            with self._lock:
                idle = self._idle.setdefault(link.url, [])
                if len(idle) < MAX_IDLE and not self._closed.is_set():
                    idle.append(link)
                    return
        link.close()

    def forget(self, url: str) -> None:
        """Close the connections kept to a server."""
        with self._lock:
            idle = self._idle.pop(url, [])
        for link in idle:
            link.close()

    def close(self) -> None:
        with self._lock:
            self._closed.set()
        for url in list(self._idle):
            self.forget(url)

    def features(self, link: OpenConnection) -> Features:
        """Return the features of the link's server, cached for REMEMBER_FEATURES_S."""
        known = self._features.get(link.url)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        names = ["supportedControl", "supportedCapabilities"]
        entries = link.search("", "(objectClass=*)", BASE, names, size_limit=1)
        root = entries[0] if entries else {"raw_attributes": {}}
        features = Features(*(frozenset(texts(root, name)) for name in names))
        self._features[link.url] = (time.monotonic() + REMEMBER_FEATURES_S, features)
        return features

    def health(self, url: str) -> ServerHealth:
        """Open a new connection to one server and bind the portal's accounts on it."""
        began = time.monotonic()
        try:
            link = open_link(url, self.settings)
            try:
                link.bind_reader()
                if self.settings.ldap_write_dn is not None:
                    link.bind_writer()
            finally:
                link.close()
        except FAILURES as error:
            return ServerHealth(url, explain(error))
        return ServerHealth(url, None, round((time.monotonic() - began) * 1000))

    def _order_urls(self) -> list[str]:
        now = time.monotonic()
        return sorted(self.settings.ldap_urls, key=lambda url: self._dead_until.get(url, 0.0) > now)


@contextmanager
def changing(link: OpenConnection, unknown: str) -> Iterator[None]:
    """Guard a change: without an answer its outcome is unknown, so raise DirectoryUnfinished with
    `unknown` as the message. No other server is tried then.
    """
    link.changing = unknown
    try:
        yield
    except FAILURES as error:
        log.warning("no answer to a change", url=link.url, cause=explain(error))
        raise DirectoryUnfinished(unknown) from error
    link.changing = None


def explain(error: Exception) -> str:
    """Return why a server could not be used, for logs and `portal check`."""
    text = str(error)[:300]
    if "certificate" in text.lower():
        return f"its certificate can't be verified ({text})"
    if isinstance(error, ServerTrouble):
        return text
    return f"no answer ({text})"


@contextmanager
def speaking_ldap() -> Iterator[None]:
    """Translate the errors of ldap3's decoder, which fails in many ways on data that is not
    LDAP.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, PyAsn1Error) as error:
        raise ServerTrouble(f"it doesn't speak LDAP ({type(error).__name__}: {error})") from error


class _VerifyingTls(Tls):
    """ldap3's TLS with Python's own host name check, which supports IP addresses and current
    rules.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(validate=context.verify_mode)
        self._context = context

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        connection.socket = self._context.wrap_socket(
            connection.socket,
            do_handshake_on_connect=do_handshake,
            server_hostname=connection.server.host,
        )


def open_link(url: str, settings: Settings) -> OpenConnection:
    """Open a new, encrypted connection without a bind. Raises one of FAILURES."""
    tls = _VerifyingTls(_create_tls_context(settings))
    server = Server(url, get_info=NONE, connect_timeout=settings.ldap_timeout_s, tls=tls)
    connection = Connection(
        server,
        auto_referrals=False,
        check_names=False,
        raise_exceptions=False,
        # ldap3 passes this to the kernel as whole seconds.
        receive_timeout=math.ceil(settings.ldap_timeout_s),
    )
    link = OpenConnection(url, connection, settings, opened=time.monotonic())
    try:
        with speaking_ldap():
            connection.open(read_server_info=False)
            if not server.ssl and settings.ldap_start_tls:
                connection.start_tls(read_server_info=False)
    except BaseException:
        link.close()
        raise
    return link


def _create_tls_context(settings: Settings) -> ssl.SSLContext:
    cafile = str(settings.ldap_ca_file) if settings.ldap_ca_file else None
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=cafile)
    if not settings.ldap_verify_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
