"""The mail server: one letter at a time, by a connection of its own. Knows no database.

smtplib blocks, so it works in a thread; each of its steps ends within STEP_S.
"""

import asyncio
import smtplib
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from urllib.parse import urlsplit

from portal.db import utcnow
from portal.settings import Settings
from portal.settings_mail import one_address

STEP_S = 10.0
MAX_SAID = 300
PERMANENT = 500
NOT_AUTHENTICATED = frozenset({530, 534, 535, 538})
"""Refusals that are about the portal's account, not about a letter (RFC 4954)."""
CLOSING = 421
"""Whatever it answers, by this the server ends the conversation (RFC 5321)."""

FAULTS = (OSError, smtplib.SMTPException, ValueError)
"""What smtplib raises."""

Step = Callable[[smtplib.SMTP], object]


class MailError(Exception):
    """A letter was not taken; the text says why, in one line."""


class MailUnavailable(MailError):
    """The server can't be used at the moment, or not by us: the letter may be tried again."""


class MailDeferred(MailUnavailable):
    """It can't take this letter at the moment; others it may."""


class MailRefused(MailError):
    """The server will never take this letter."""


@dataclass
class Smtp:
    """The server of the settings. `answered_at` is when it last took something, `trouble` when and
    why it last could not be used."""

    settings: Settings
    answered_at: datetime | None = None
    trouble: tuple[datetime, str] | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, letter: EmailMessage) -> None:
        """Hand a letter over. Raises MailUnavailable, MailDeferred, MailRefused."""
        await self._note(lambda: self._with(lambda smtp: smtp.send_message(letter)))

    async def answers(self) -> None:
        """Raise unless it would take a letter of ours: it lets us in and takes our sender."""
        sender = one_address(self.settings.smtp_from or "").addr_spec

        def try_out(smtp: smtplib.SMTP) -> None:
            code, said = smtp.mail(sender)
            if code != 250:
                raise smtplib.SMTPSenderRefused(code, said, sender)
            smtp.rset()

        await self._note(lambda: self._with(try_out))

    async def greets(self) -> None:
        """Raise unless it answers; nobody logs in, so that this may be asked often."""
        await asyncio.to_thread(self._with, lambda smtp: smtp.noop(), log_in=False)

    async def _note(self, act: Callable[[], None]) -> None:
        async with self._one_at_a_time:
            try:
                await asyncio.to_thread(act)
            except MailDeferred:
                raise
            except MailUnavailable as error:
                self.trouble = (utcnow(), str(error))
                raise
            self.answered_at = utcnow()

    def _with(self, act: Step, *, log_in: bool = True) -> None:
        """Connect, log in where that is set, and do it; in a thread."""
        try:
            smtp = self._ready(log_in=log_in)
        except FAULTS as error:
            raise _shut(error) from error
        try:
            act(smtp)
            with suppress(OSError, smtplib.SMTPException):  # what it took, it has
                smtp.quit()
        except FAULTS as error:
            raise _plain(error) from error
        finally:
            smtp.close()

    def _ready(self, *, log_in: bool) -> smtplib.SMTP:
        """A connection over which letters can be sent; whoever gets it closes it."""
        smtp = self._connected()
        try:
            smtp.ehlo_or_helo_if_needed()
            if log_in and self.settings.smtp_user is not None:
                smtp.login(self.settings.smtp_user, self.settings.smtp_password or "")
        except FAULTS:
            smtp.close()
            raise
        return smtp

    def _connected(self) -> smtplib.SMTP:
        """A connection, secured as the settings say; whoever gets it closes it."""
        address = self.settings.smtp_address
        if address is None:
            raise MailUnavailable("There is no mail server.")
        host, port = address
        if self.settings.smtp_tls == "tls":
            return smtplib.SMTP_SSL(
                host, port, self._own_name(), timeout=STEP_S, context=self._tls()
            )
        smtp = smtplib.SMTP(host, port, self._own_name(), timeout=STEP_S)
        if self.settings.smtp_tls == "starttls":
            try:
                smtp.starttls(context=self._tls())
            except smtplib.SMTPNotSupportedError as error:
                smtp.close()
                raise MailUnavailable("It offers no STARTTLS.") from error
            except FAULTS:
                smtp.close()
                raise
        return smtp

    def _own_name(self) -> str:
        """Who greets: the portal's public name; looking for this machine's may take seconds."""
        name = urlsplit(self.settings.public_url).hostname or "localhost"
        if ":" in name:
            return f"[IPv6:{name}]"
        return f"[{name}]" if name.replace(".", "").isdigit() else name

    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.settings.smtp_ca_file)


def _shut(error: Exception) -> MailUnavailable:
    """What came in the way before there was a word of any letter."""
    match error:
        case smtplib.SMTPAuthenticationError() | ssl.SSLCertVerificationError():
            return MailUnavailable(str(_plain(error)))
        case smtplib.SMTPResponseException():
            said = _line(error.smtp_error)
            return MailUnavailable(f"It doesn't serve us: {error.smtp_code} {said}")
        case smtplib.SMTPNotSupportedError():
            return MailUnavailable(f"It doesn't serve us: {_line(str(error))}")
        case ValueError():  # its text may hold a part of the password
            return MailUnavailable("It can't be asked with these settings.")
        case _:
            return MailUnavailable(str(_plain(error)))


def _plain(error: Exception) -> MailError:
    """What smtplib and the connection raise over a letter, as ours."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            code, said = next(iter(error.recipients.values()))
            found = _by_code(code, said, "It doesn't take the address")
        case smtplib.SMTPAuthenticationError():
            found = MailUnavailable(f"It doesn't let us in: {_line(error.smtp_error)}")
        case smtplib.SMTPSenderRefused():
            found = MailUnavailable(f"It doesn't take our sender: {_line(error.smtp_error)}")
        case smtplib.SMTPResponseException():
            found = _by_code(error.smtp_code, error.smtp_error, "It refuses the letter")
        case ssl.SSLCertVerificationError():
            found = MailUnavailable(f"Its certificate isn't valid here: {error.verify_message}")
        case smtplib.SMTPNotSupportedError() | ValueError():
            found = MailRefused(f"It can't take the letter: {_line(str(error))}")
        case TimeoutError():
            found = MailUnavailable("No answer in time.")
        case _:
            found = MailUnavailable(f"No connection: {_line(str(error))}")
    return found


def _by_code(code: int, said: bytes | str, what: str) -> MailError:
    kind: type[MailError] = MailDeferred
    if code == CLOSING or code in NOT_AUTHENTICATED:
        kind = MailUnavailable
    elif code >= PERMANENT:
        kind = MailRefused
    return kind(f"{what}: {code} {_line(said)}")


def _line(said: bytes | str) -> str:
    """What the server said, in one line of bounded length."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    found = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(found.split())[:MAX_SAID]
