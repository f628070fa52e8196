"""Users and groups in pages, by simple paged results (RFC 2696), with or without a search word.

The position in a list is kept by the server for as long as the connection, so the connection is
kept for a while between two pages. A cursor also holds the DN of the last entry: if the connection
is gone, or in another process, the list is read again up to there, with one page in memory at a
time. The order may differ between servers, so a list continues on the server where it began.
"""

import hashlib
import json
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from portal.directory.connections import FAILURES, SUBTREE, OpenConnection, Servers
from portal.directory.contract import MAX_PAGE, DirectoryUser
from portal.directory.groups import MAX_FILTER_TERMS, batches
from portal.directory.mapping import Entry, Mapping, any_of, conjunction
from portal.errors import DirectoryUnavailable, FieldError, InvalidInput, invalid_input

KEEP_PLACE_S = 60.0
MAX_PLACES = 4
"""Maximum number of connections kept for lists in progress."""
INCOMPLETE = (
    "The list is incomplete: the directory limits the number of results for the portal's "
    "account. Raise this size limit, or search for a word."
)


@dataclass(frozen=True)
class Question:
    """The contents of a list: matching entries below `base`, and their attributes."""

    base: str
    query: str
    attributes: tuple[str, ...]

    @property
    def digest(self) -> str:
        return _short_hash(f"{self.base}\0{self.query}")


@dataclass(frozen=True)
class Slice:
    """Entries of a list; `cursor` is None at its end, `cut` if the server withholds the rest."""

    entries: list[Entry]
    cursor: str | None
    cut: bool


@dataclass(frozen=True)
class _Position:
    """The position in a list, encoded in a cursor."""

    token: str
    question: str
    server: str
    last: str


@dataclass(frozen=True)
class _Kept:
    link: OpenConnection
    cookie: bytes
    since: float


@dataclass(frozen=True)
class Lists:
    """Lists in progress; methods are called in threads."""

    servers: Servers
    _kept: dict[str, _Kept] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self, question: Question, cursor: str | None, limit: int) -> Slice:
        """Return up to `limit` next entries.

        Raises InvalidInput for a cursor that is not valid here.
        """
        if not 1 <= limit <= MAX_PAGE:
            message = f"This must be between 1 and {MAX_PAGE}."
            raise invalid_input([FieldError("limit", message)])
        if cursor is None:
            return self.servers.use(lambda link: self._begin(link, question, limit))
        position = _decode_cursor(cursor)
        if position.question != question.digest:
            _refuse()
        kept = self._pop(position.token)
        if kept is not None:
            try:
                return self._continue(kept.link, question, kept.cookie, limit)
            except FAILURES:
                kept.link.close()
        return self._resume(question, position, limit)

    def _begin(self, link: OpenConnection, question: Question, limit: int) -> Slice:
        link.bind_reader()
        return self._continue(link, question, b"", limit)

    def _continue(
        self, link: OpenConnection, question: Question, cookie: bytes, limit: int
    ) -> Slice:
        attributes = list(question.attributes)
        while True:
            batch = link.search_page(question.base, question.query, attributes, limit, cookie)
            if batch.entries or not batch.cookie:
                return self._to_slice(link, question, batch.entries, batch.cookie, cut=batch.cut)
            cookie = batch.cookie

    def _resume(self, question: Question, position: _Position, limit: int) -> Slice:
        """Read the list again up to the position, on the server where it began."""
        urls = self.servers.settings.ldap_urls
        url = next((url for url in urls if _short_hash(url) == position.server), None)
        if url is None:
            _refuse()
        try:
            return self.servers.use(
                lambda link: self._skip(link, question, position.last, limit), only=url
            )
        except DirectoryUnavailable as error:
            if len(urls) == 1:
                raise
            raise _to_refusal() from error

    def _skip(self, link: OpenConnection, question: Question, last: str, limit: int) -> Slice:
        link.bind_reader()
        attributes, cookie = list(question.attributes), b""
        while True:
            batch = link.search_page(question.base, question.query, attributes, limit, cookie)
            cookie = batch.cookie
            places = [at for at, entry in enumerate(batch.entries) if entry["dn"] == last]
            if places:
                rest = batch.entries[places[0] + 1 :]
                if rest or not cookie:
                    return self._to_slice(link, question, rest, cookie, cut=batch.cut)
                return self._continue(link, question, cookie, limit)
            if not cookie:
                _refuse()

    def _to_slice(
        self,
        link: OpenConnection,
        question: Question,
        entries: list[Entry],
        cookie: bytes,
        *,
        cut: bool,
    ) -> Slice:
        if not cookie:
            if link.reserved:
                self.servers.give_back(link)
            return Slice(entries, None, cut)
        link.reserved = True
        position = _Position(
            secrets.token_urlsafe(9), question.digest, _short_hash(link.url), entries[-1]["dn"]
        )
        self._keep(position.token, _Kept(link, cookie, time.monotonic()))
        return Slice(entries, _encode_cursor(position), cut)

    def _keep(self, token: str, kept: _Kept) -> None:
        now = time.monotonic()
        with self._lock:
            self._kept[token] = kept
            oldest = sorted(self._kept, key=lambda name: self._kept[name].since)
            old = [name for name in oldest if now - self._kept[name].since > KEEP_PLACE_S]
            surplus = oldest[: max(0, len(oldest) - MAX_PLACES)]
            gone = [self._kept.pop(name) for name in {*old, *surplus}]
        for entry in gone:
            self.servers.give_back(entry.link)

    def _pop(self, token: str) -> _Kept | None:
        with self._lock:
            kept = self._kept.pop(token, None)
        if kept is None or kept.link.usable():
            return kept
        kept.link.close()
        return None

    def close(self) -> None:
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
        for entry in kept:
            entry.link.close()


def find_many(link: OpenConnection, usernames: Sequence[str]) -> dict[str, DirectoryUser]:
    """Return users by username, without their groups. Names with several entries are left out."""
    link.bind_reader()
    settings, mapping = link.settings, Mapping(link.settings)
    users: dict[str, DirectoryUser] = {}
    twice: set[str] = set()
    for some in batches(sorted({name.lower() for name in usernames})):
        name_query = any_of(settings.ldap_username_attribute, some)
        query = conjunction([mapping.users(), name_query])
        attributes = mapping.user_attributes
        base = settings.ldap_user_base or ""
        for entry in link.search(base, query, SUBTREE, attributes, size_limit=2 * MAX_FILTER_TERMS):
            user = mapping.user(entry, "")
            if user.username in users:
                twice.add(user.username)
            users[user.username] = user
    return {name: user for name, user in users.items() if name not in twice}


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _encode_cursor(position: _Position) -> str:
    parts = [position.token, position.question, position.server, position.last]
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _decode_cursor(cursor: str) -> _Position:
    try:
        parts = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise _to_refusal() from error
    if not isinstance(parts, list) or len(parts) != 4 or not all(isinstance(p, str) for p in parts):
        _refuse()
    return _Position(*parts)


def _to_refusal() -> InvalidInput:
    message = "This list can't be continued. Start again from the first page."
    return invalid_input([FieldError("cursor", message)])


def _refuse() -> NoReturn:
    raise _to_refusal()
