"""Changes sent to one server, with an accurate report of their outcome.

Before anything was sent, a failure lets another server try. After that it does not: the error lists
the finished and the uncertain steps, in a message for the administrator.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from portal.directory.connections import (
    FAILURES,
    MODIFY_ADD,
    MODIFY_DELETE,
    MODIFY_REPLACE,
    REFERRAL,
    SUCCESS,
    Filter,
    OpenConnection,
    Result,
    Servers,
    ServerTrouble,
    TakesNoChanges,
    encode,
    explain,
)
from portal.errors import Conflict, DirectoryReadOnly, DirectoryUnfinished

log = structlog.get_logger(__name__)

ASSERTION = "1.3.6.1.1.12"  # RFC 4528
NO_SUCH_ATTRIBUTE = 16
CONSTRAINT_VIOLATION = 19
VALUE_EXISTS = 20
ENTRY_EXISTS = 68
CLASS_VIOLATION = 65
ASSERTION_FAILED = 122
_INSUFFICIENT_ACCESS = 50
_BUSY = frozenset({51, 52})

Values = list[Any]
Modifications = dict[str, list[tuple[str, Values]]]
"""Per attribute: MODIFY_ADD, MODIFY_DELETE or MODIFY_REPLACE, and values."""


@dataclass
class DirectoryChange:
    """A change in progress, of one or more steps.

    `done` and `pending` are clauses for messages, for example "ada's entry was made".
    """

    link: OpenConnection
    servers: Servers
    done: list[str] = field(default_factory=list)
    pending: str | None = None

    def add(self, dn: str, classes: list[str], attributes: dict[str, Any], clause: str) -> int:
        """Add an entry. Return SUCCESS, ENTRY_EXISTS or CONSTRAINT_VIOLATION."""
        present = {name: value for name, value in attributes.items() if value not in (None, "")}
        send = lambda: self.link.connection.add(dn, classes, present)  # noqa: E731
        return self._send(send, clause, {ENTRY_EXISTS, CONSTRAINT_VIOLATION})

    def modify(
        self,
        dn: str,
        changes: Modifications,
        clause: str,
        *,
        accept: Collection[int] = (),
        if_csn: str = "",
    ) -> int:
        """Modify an entry. Return SUCCESS or one of `accept`.

        With `if_csn`, an entryCSN, the entry is modified only if it still has that value;
        otherwise ASSERTION_FAILED is returned.
        """
        controls = [assertion("entryCSN", if_csn)] if if_csn else None
        send = lambda: self.link.connection.modify(dn, changes, controls=controls)  # noqa: E731
        accept = {*accept, ASSERTION_FAILED} if if_csn else accept
        return self._send(send, clause, accept)

    def delete(self, dn: str, clause: str, *, accept: Collection[int]) -> int:
        return self._send(lambda: self.link.connection.delete(dn), clause, accept)

    def asserts(self) -> bool:
        """Return whether this server supports the assertion control (RFC 4528), which compares and
        changes in one step.
        """
        return ASSERTION in self.servers.features(self.link).controls

    def send(self, act: Callable[[], Any], clause: str) -> Result:
        """Send one operation and return the server's result, whatever it is.

        Raises one of FAILURES if there is no answer.
        """
        self.pending, self.link.changing = clause, clause
        act()
        result = self.link.result()
        self.pending, self.link.changing = None, None
        if result["result"] == SUCCESS:
            self.done.append(clause)
        return result

    def _send(self, act: Callable[[], Any], clause: str, accept: Collection[int]) -> int:
        result = self.send(act, clause)
        code = int(result["result"])
        if code == SUCCESS or code in accept:
            return code
        raise _to_exception(result)


@contextmanager
def change(servers: Servers, link: OpenConnection) -> Iterator[DirectoryChange]:
    """Run a change as the account that writes."""
    link.bind_writer()
    steps = DirectoryChange(link, servers)
    try:
        yield steps
    except FAILURES as error:
        if not steps.done and steps.pending is None:
            raise  # nothing is changed: the next server may do it
        log.warning("a change broke off", url=link.url, cause=explain(error), done=steps.done)
        raise DirectoryUnfinished(unfinished(steps.done, steps.pending)) from error


def unfinished(done: list[str], pending: str | None) -> str:
    """Return a message with the state after an interrupted change."""
    parts = ["The directory stopped answering during the change."]
    if done:
        parts.append(f"Completed: {'; '.join(done)}.")
    if pending:
        parts.append(f"May or may not be completed: {pending}.")
    parts.append("Reload the page, then repeat the missing steps.")
    return " ".join(parts)


def _to_exception(result: Result) -> Exception:
    """Convert any other result of a change to an exception."""
    code, message = result["result"], str(result["message"])[:200]
    if code == REFERRAL:
        return TakesNoChanges("it is a read-only replica")
    if code in _BUSY:
        return ServerTrouble(f"change: {result['description']} {message}")
    if code == _INSUFFICIENT_ACCESS:
        return DirectoryReadOnly(
            "The portal's account (ldap_write_dn) doesn't have permission to change this "
            "in the directory."
        )
    words = f"{result['description']}: {message}" if message else str(result["description"])
    return Conflict(f"The directory refused this ({words}).")


def assertion(attribute: str, value: str) -> tuple[str, bool, bytes]:
    """Return the assertion control: the change happens only if `attribute` equals `value` at that
    time.
    """
    condition = Filter()
    condition["equalityMatch"]["attributeDesc"] = attribute
    condition["equalityMatch"]["assertionValue"] = value
    return ASSERTION, True, encode(condition)


def add_value(attribute: str, value: str) -> Modifications:
    return {attribute: [(MODIFY_ADD, [value])]}


def remove_value(attribute: str, value: str) -> Modifications:
    return {attribute: [(MODIFY_DELETE, [value])]}


def replace(values: dict[str, str | None]) -> Modifications:
    """Set each attribute to this one value; None removes it, whether present or not."""
    return {
        name: [(MODIFY_REPLACE, [] if value is None else [value])] for name, value in values.items()
    }


def swap_value(attribute: str, old: str, new: str) -> Modifications:
    """Replace a value in one step, only if the old value is present: otherwise
    NO_SUCH_ATTRIBUTE.
    """
    return {attribute: [(MODIFY_DELETE, [old]), (MODIFY_ADD, [new])]}
