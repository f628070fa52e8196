"""Connections to the directory's servers: encrypted, verified, kept open, and to another in time.

ldap3 blocks, so all of this runs in threads. A connection that is kept has an identity, which
`Link` keeps account of: whoever takes one binds before anything else. A read is tried on the next
server when one fails; a change that was sent to a server never is.
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

from portal.directory.contract import ServerHealth
from portal.directory.mapping import Entry, texts
from portal.errors import DirectoryUnavailable, DirectoryUnfinished, PortalError
from portal.settings import Settings
from spawner.measured import Measure, measured, unmeasured

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
    from pyasn1.error import PyAsn1Error

__all__ = ["BASE", "MODIFY_ADD", "MODIFY_DELETE", "MODIFY_REPLACE", "SUBTREE"]

log = structlog.get_logger(__name__)
T = TypeVar("T")

AVOID_DEAD_SERVER_S = 30.0
MAX_IDLE = 8
"""Connections kept open to one server."""
KEEP_S = 300.0
"""How long a connection may be used: a new password or certificate counts after that."""
REMEMBER_FEATURES_S = 600.0

SUCCESS = 0
SIZE_LIMIT_EXCEEDED = 4
ADMIN_LIMIT_EXCEEDED = 11
REFERRAL = 10
NO_SUCH_OBJECT = 32
PAGED = "1.2.840.113556.1.4.319"

Result = dict[str, Any]


class ServerTrouble(Exception):
    """This server can't serve now; another may."""


class TakesNoChanges(ServerTrouble):
    """This server is a replica: it answers, but another one has to make the change."""


FAILURES = (LDAPException, OSError, ServerTrouble)


@dataclass(frozen=True)
class Features:
    """What a server says it can do, in its root entry."""

    controls: frozenset[str]
    capabilities: frozenset[str]


@dataclass(frozen=True)
class Batch:
    """The entries of one page. `cookie` b"" at the end; `cut`: the server keeps the rest."""

    entries: list[Entry]
    cookie: bytes
    cut: bool


@dataclass
class Link:
    """One open connection. ldap3's own errors mean that the server didn't answer.

    `bound` is the DN that was bound last, "" for anonymously, None for nobody in particular;
    `held` keeps it with its taker; `changing` is what was sent to be changed and not answered.
    """

    url: str
    connection: Any  # ldap3's Connection, whose published types are incomplete
    settings: Settings
    opened: float
    bound: str | None = None
    held: bool = False
    changing: str | None = None

    def bind_reader(self, *, anew: bool = False) -> None:
        """Bind as the account that searches; without one, anonymously."""
        settings = self.settings
        self._bind_own(settings.ldap_bind_dn, settings.ldap_bind_password, anew=anew)

    def bind_writer(self) -> None:
        """Bind as the account that changes things."""
        settings = self.settings
        self._bind_own(settings.ldap_write_dn, settings.ldap_write_password, anew=False)

    def _bind_own(self, dn: str | None, password: str | None, *, anew: bool) -> None:
        wanted = dn if dn is not None and password is not None else ""
        if self.bound == wanted and not anew:
            return
        self.bound = None
        with speaking_ldap():
            if wanted:
                self.connection.rebind(wanted, password, read_server_info=False)
            else:
                self.connection.rebind(authentication="ANONYMOUS", read_server_info=False)
        result = self.result()
        if result["result"] != SUCCESS:
            who = wanted or "anonymous"
            raise ServerTrouble(
                f"the portal's own account, {who}, is refused: {result['description']}"
            )
        self.bound = wanted

    def try_bind(self, dn: str, password: str, controls: list[Any]) -> Result:
        """Bind with somebody's password; the answer, be it what it may."""
        self.bound = None
        self.connection.rebind(dn, password, read_server_info=False, controls=controls)
        return self.result()

    def search(
        self, base: str, query: str, scope: Any, attributes: list[str], *, size_limit: int
    ) -> list[Entry]:
        """Up to `size_limit` entries; none where the base doesn't exist."""
        self.connection.search(base, query, scope, attributes=attributes, size_limit=size_limit)
        return self._entries({SUCCESS, NO_SUCH_OBJECT, SIZE_LIMIT_EXCEEDED})

    def search_page(
        self, base: str, query: str, attributes: list[str], size: int, cookie: bytes
    ) -> Batch:
        """One page of simple paged results (RFC 2696), everything below `base`."""
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
        entries = self._entries({SUCCESS, NO_SUCH_OBJECT, *cut})
        result = self.result()
        if result["result"] != SUCCESS:
            return Batch(entries, b"", cut=result["result"] in cut)
        control = (result.get("controls") or {}).get(PAGED)
        return Batch(entries, control["value"]["cookie"] if control else b"", cut=False)

    def _entries(self, fine: set[int]) -> list[Entry]:
        result = self.result()
        if result["result"] not in fine:
            raise ServerTrouble(f"search: {result['description']} {result['message']}".strip())
        found = self.connection.response or []
        return [entry for entry in found if entry["type"] == "searchResEntry"]

    def result(self) -> Result:
        result: Result = self.connection.result
        return result

    def close(self) -> None:
        self.connection.strategy.close()
        if self.connection.socket is not None:  # ldap3 forgets the one that failed to connect
            self.connection.socket.close()

    def usable(self) -> bool:
        """Whether it may still be used: something to read means that the server has hung up."""
        if time.monotonic() - self.opened > KEEP_S or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.socket, select.POLLIN)
        return not poll.poll(0)


@dataclass(frozen=True)
class Servers:
    """All servers of the directory; called in threads. `measure` hears of each question."""

    settings: Settings
    measure: Measure = unmeasured
    _dead_until: dict[str, float] = field(default_factory=dict)
    _idle: dict[str, list[Link]] = field(default_factory=dict)
    _features: dict[str, tuple[float, Features]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: threading.Event = field(default_factory=threading.Event)

    def use(self, act: Callable[[Link], T], *, only: str | None = None) -> T:
        """What `act` returns on the first server that serves; one that didn't is tried last.
        `only` names one server.

        A connection that was kept and fails says nothing of its server: `act` gets a new one.
        Raises DirectoryUnavailable; DirectoryUnfinished comes from `act` itself.
        """
        causes = []
        for url in [only] if only else self._in_order():
            try:
                with measured(self.measure, url, (LDAPException, OSError, DirectoryUnfinished)):
                    result = self._on(url, act)
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

    def _on(self, url: str, act: Callable[[Link], T]) -> T:
        kept = self._take(url)
        if kept is not None:
            try:
                return self._with(kept, act)
            except TakesNoChanges:
                raise
            except FAILURES as error:
                log.info("a kept directory connection failed", url=url, cause=explain(error))
                self.forget(url)
        return self._with(open_link(url, self.settings), act)

    def _with(self, link: Link, act: Callable[[Link], T]) -> T:
        try:
            result = act(link)
        except PortalError:
            self.give_back(link)
            raise
        except BaseException:
            link.close()
            raise
        if not link.held:
            self.give_back(link)
        return result

    def _take(self, url: str) -> Link | None:
        while True:
            with self._lock:
                idle = self._idle.get(url)
                link = idle.pop() if idle else None
            if link is None or link.usable():
                return link
            link.close()

    def give_back(self, link: Link) -> None:
        """Keep a connection for the next one, if there aren't enough. A thread may come to its end
        after everything was closed: who waited for it was cancelled."""
        link.held = False
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

    def features(self, link: Link) -> Features:
        """What the server of this link can do; asked once in a while."""
        known = self._features.get(link.url)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        names = ["supportedControl", "supportedCapabilities"]
        entries = link.search("", "(objectClass=*)", BASE, names, size_limit=1)
        found = entries[0] if entries else {"raw_attributes": {}}
        features = Features(*(frozenset(texts(found, name)) for name in names))
        self._features[link.url] = (time.monotonic() + REMEMBER_FEATURES_S, features)
        return features

    def health(self, url: str) -> ServerHealth:
        """A new connection to one server, and the portal's accounts' binds on it."""
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

    def _in_order(self) -> list[str]:
        now = time.monotonic()
        return sorted(self.settings.ldap_urls, key=lambda url: self._dead_until.get(url, 0.0) > now)


@contextmanager
def changing(link: Link, unknown: str) -> Iterator[None]:
    """Around what changes something: with no answer nobody knows whether it did, and `unknown` is
    the sentence that says so. No other server is tried then."""
    link.changing = unknown
    try:
        yield
    except FAILURES as error:
        log.warning("no answer to a change", url=link.url, cause=explain(error))
        raise DirectoryUnfinished(unknown) from error
    link.changing = None


def explain(error: Exception) -> str:
    """Why a server couldn't be used, for logs and `portal check`."""
    text = str(error)[:300]
    if "certificate" in text.lower():
        return f"its certificate doesn't verify ({text})"
    if isinstance(error, ServerTrouble):
        return text
    return f"no answer ({text})"


@contextmanager
def speaking_ldap() -> Iterator[None]:
    """The first words with a server: what isn't LDAP makes ldap3's decoder stumble in many ways."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, PyAsn1Error) as error:
        raise ServerTrouble(f"it doesn't speak LDAP ({type(error).__name__}: {error})") from error


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


def open_link(url: str, settings: Settings) -> Link:
    """A new, encrypted connection, nobody bound on it. Raises one of FAILURES."""
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
    link = Link(url, connection, settings, opened=time.monotonic())
    try:
        with speaking_ldap():
            connection.open(read_server_info=False)
            if not server.ssl and settings.ldap_start_tls:
                connection.start_tls(read_server_info=False)
    except BaseException:
        link.close()
        raise
    return link


def _tls_context(settings: Settings) -> ssl.SSLContext:
    cafile = str(settings.ldap_ca_file) if settings.ldap_ca_file else None
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=cafile)
    if not settings.ldap_verify_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
