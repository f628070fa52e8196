"""SMTP client: sends one e-mail at a time, each over a connection of its own. Uses no database.

smtplib blocks, so it runs in a thread; each of its steps times out after STEP_S seconds.
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

from portal.config.mail import one_address
from portal.config.settings import Settings
from portal.db import utcnow
from spawner.names import replace_unprintable

STEP_S = 10.0
MAX_REPLY = 300
PERMANENT = 500
NOT_AUTHENTICATED = frozenset({530, 534, 535, 538})
"""Refusals that concern the portal's account, not the e-mail (RFC 4954)."""
OF_THIS_SIZE = frozenset({452, 552})
"""Refusals of the sender that concern the e-mail's size (RFC 1870)."""
CLOSING = 421
"""In reply to any command: the server closes the connection (RFC 5321)."""

FAULTS = (OSError, smtplib.SMTPException, ValueError)
"""Exceptions that smtplib raises."""

Step = Callable[[smtplib.SMTP], object]


class MailError(Exception):
    """An e-mail was not accepted; the text is the reason, in one line."""


class MailUnavailable(MailError):
    """The server can't be used now, or not by the portal: the e-mail may be retried."""


class MailDeferred(MailUnavailable):
    """The server can't take this e-mail now; others it may."""


class MailRefused(MailError):
    """The server will never accept this e-mail."""


@dataclass
class Smtp:
    """The mail server of the settings.

    `answered_at` is when it last accepted something, `trouble` when and why it last could not be
    used.
    """

    settings: Settings
    answered_at: datetime | None = None
    trouble: tuple[datetime, str] | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, email: EmailMessage) -> None:
        """Send an e-mail. Raises MailUnavailable, MailDeferred, MailRefused."""
        await self._track(lambda: self._run(lambda smtp: smtp.send_message(email)))

    async def check_login_and_sender(self) -> None:
        """Raise unless the server accepts the login and the sender, as for an e-mail."""
        sender = one_address(self.settings.smtp_from or "").addr_spec

        def try_sender(smtp: smtplib.SMTP) -> None:
            code, reply = smtp.mail(sender)
            if code != 250:
                raise smtplib.SMTPSenderRefused(code, reply, sender)
            smtp.rset()

        await self._track(lambda: self._run(try_sender))

    async def check_connection(self) -> None:
        """Raise unless the server answers. Does not log in, so that it may be called often."""
        await asyncio.to_thread(self._run, lambda smtp: smtp.noop(), log_in=False)

    async def _track(self, act: Callable[[], None]) -> None:
        async with self._one_at_a_time:
            try:
                await asyncio.to_thread(act)
            except MailDeferred:
                raise
            except MailUnavailable as error:
                self.trouble = (utcnow(), str(error))
                raise
            self.answered_at = utcnow()

    def _run(self, act: Step, *, log_in: bool = True) -> None:
        """Connect, log in if configured, and run `act`. Blocks."""
        try:
            smtp = self._open(log_in=log_in)
        except FAULTS as error:
            raise _to_connection_error(error) from error
        try:
            act(smtp)
            with suppress(OSError, smtplib.SMTPException):  # what it accepted stays accepted
                smtp.quit()
        except FAULTS as error:
            raise _to_mail_error(error) from error
        finally:
            smtp.close()

    def _open(self, *, log_in: bool) -> smtplib.SMTP:
        """Open a connection that is ready to send; the caller closes it."""
        smtp = self._connect()
        try:
            smtp.ehlo_or_helo_if_needed()
            if log_in and self.settings.smtp_user is not None:
                smtp.login(self.settings.smtp_user, self.settings.smtp_password or "")
        except FAULTS:
            smtp.close()
            raise
        return smtp

    def _connect(self) -> smtplib.SMTP:
        """Open a connection with TLS as configured; the caller closes it."""
        address = self.settings.smtp_address
        if address is None:
            raise MailUnavailable("No mail server is configured.")
        host, port = address
        if self.settings.smtp_tls == "tls":
            return smtplib.SMTP_SSL(
                host, port, self._get_own_name(), timeout=STEP_S, context=self._tls()
            )
        smtp = smtplib.SMTP(host, port, self._get_own_name(), timeout=STEP_S)
        if self.settings.smtp_tls == "starttls":
            try:
                smtp.starttls(context=self._tls())
            except smtplib.SMTPNotSupportedError as error:
                smtp.close()
                raise MailUnavailable("The server does not offer STARTTLS.") from error
            except FAULTS:
                smtp.close()
                raise
        return smtp

    def _get_own_name(self) -> str:
        """Return the name for EHLO: the portal's public name.

        Looking up this machine's own name may take seconds.
        """
        name = urlsplit(self.settings.public_url).hostname or "localhost"
        if ":" in name:
            return f"[IPv6:{name}]"
        return f"[{name}]" if name.replace(".", "").isdigit() else name

    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.settings.smtp_ca_file)


def _to_connection_error(error: Exception) -> MailUnavailable:
    """Convert an error before any e-mail was sent."""
    match error:
        case smtplib.SMTPAuthenticationError() | ssl.SSLCertVerificationError():
            return MailUnavailable(str(_to_mail_error(error)))
        case smtplib.SMTPResponseException():
            reply = _to_line(error.smtp_error)
            return MailUnavailable(f"The server refused the connection: {error.smtp_code} {reply}")
        case smtplib.SMTPNotSupportedError():
            return MailUnavailable(f"The server refused the connection: {_to_line(str(error))}")
        case ValueError():  # its text may hold a part of the password
            return MailUnavailable("The mail settings are invalid.")
        case _:
            return MailUnavailable(str(_to_mail_error(error)))


def _to_mail_error(error: Exception) -> MailError:
    """Convert an exception of smtplib or the connection."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            code, reply = next(iter(error.recipients.values()))
            problem = _classify_reply(code, reply, "The server refused the recipient address")
        case smtplib.SMTPAuthenticationError():
            problem = MailUnavailable(f"The server refused the login: {_to_line(error.smtp_error)}")
        case smtplib.SMTPSenderRefused(smtp_code=code) if code not in OF_THIS_SIZE:
            problem = MailUnavailable(
                f"The server refused the sender address: {_to_line(error.smtp_error)}"
            )
        case smtplib.SMTPResponseException():
            problem = _classify_reply(
                error.smtp_code, error.smtp_error, "The server refused the e-mail"
            )
        case ssl.SSLCertVerificationError():
            problem = MailUnavailable(
                f"The server's certificate is not trusted: {error.verify_message}"
            )
        case smtplib.SMTPNotSupportedError() | ValueError():
            problem = MailRefused(f"The server can't accept the e-mail: {_to_line(str(error))}")
        case TimeoutError():
            problem = MailUnavailable("The server did not answer in time.")
        case _:
            problem = MailUnavailable(f"No connection: {_to_line(str(error))}")
    return problem


def _classify_reply(code: int, reply: bytes | str, what: str) -> MailError:
    kind: type[MailError] = MailDeferred
    if code == CLOSING or code in NOT_AUTHENTICATED:
        kind = MailUnavailable
    elif code >= PERMANENT:
        kind = MailRefused
    return kind(f"{what}: {code} {_to_line(reply)}")


def _to_line(reply: bytes | str) -> str:
    """Return the server's reply in one line of bounded length."""
    text = reply.decode(errors="replace") if isinstance(reply, bytes) else reply
    return " ".join(replace_unprintable(text, " ").split())[:MAX_REPLY]
