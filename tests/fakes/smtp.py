"""A small mail server for tests, with named behaviors; it keeps the accepted messages."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Literal

Mood = Literal[
    "takes",
    "defers",
    "rejects recipients",
    "rejects logins",
    "hangs up",
    "rejects clients",
    "is rude",
]
"""`defers` replies with a temporary error; `hangs up` accepts the message and disconnects without
a reply to QUIT; `rejects clients` refuses at once, `is rude` after the greeting."""
WAIT_S = 60.0


@dataclass(frozen=True)
class ReceivedEmail:
    """An accepted message: sender, recipients, the authenticated account, and whether TLS was
    used."""

    sender: str
    recipients: tuple[str, ...]
    message: EmailMessage
    raw: bytes
    account: str | None
    secured: bool


@dataclass
class MailServer:
    port: int
    mood: Mood = "takes"
    account: tuple[str, str] | None = None
    tls: ssl.SSLContext | None = None
    emails: list[ReceivedEmail] = field(default_factory=list)
    refused: int = 0
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def has(self, count: int) -> list[ReceivedEmail]:
        """Wait until this many messages have arrived."""
        async with asyncio.timeout(WAIT_S), self._news:
            await self._news.wait_for(lambda: len(self.emails) >= count)
        return self.emails

    async def has_refused(self, count: int) -> None:
        """Wait until this many messages have been refused."""
        async with asyncio.timeout(WAIT_S), self._news:
            await self._news.wait_for(lambda: self.refused >= count)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        try:
            await _Talk(self, reader, writer).run()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has disconnected
        finally:
            writer.close()

    async def keep(self, email: ReceivedEmail) -> None:
        async with self._news:
            self.emails.append(email)
            self._news.notify_all()

    async def refuse(self) -> None:
        async with self._news:
            self.refused += 1
            self._news.notify_all()


class _Talk:
    """The part of RFC 5321 that smtplib uses."""

    def __init__(
        self, server: MailServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.account: str | None = None
        self.secured = False
        self.sender, self.recipients = "", list[str]()

    async def run(self) -> None:
        if self.server.mood == "rejects clients":
            await self.server.refuse()
            await self._say("554 no service here")
            return
        await self._say("220 stand ready")
        while line := await self.reader.readline():
            verb, _, rest = line.decode().rstrip("\r\n").partition(" ")
            match verb.upper():
                case "EHLO" | "HELO":
                    await self._greet()
                case "STARTTLS" if self.server.tls is not None:
                    await self._say("220 go ahead")
                    await self.writer.start_tls(self.server.tls)
                    self.secured = True
                case "AUTH":
                    await self._log_in(rest)
                case "MAIL":
                    await self._mail(rest)
                case "RCPT":
                    await self._recipient(rest)
                case "DATA":
                    if not await self._data():
                        return
                case "QUIT":
                    await self._say("221 bye")
                    return
                case "RSET" | "NOOP":
                    await self._say("250 well")
                case _:
                    await self._say("502 never heard of it")

    async def _say(self, text: str) -> None:
        self.writer.write(f"{text}\r\n".encode())
        await self.writer.drain()

    async def _greet(self) -> None:
        if self.server.mood == "is rude":
            await self._say("550 not with you")
            return
        offers = ["STARTTLS"] if self.server.tls is not None and not self.secured else []
        offers += ["AUTH PLAIN"] if self.server.account is not None else []
        lines = ["stand", *offers]
        for line in lines[:-1]:
            await self._say(f"250-{line}")
        await self._say(f"250 {lines[-1]}")

    async def _log_in(self, rest: str) -> None:
        given = base64.b64decode(rest.removeprefix("PLAIN ")).decode().split("\0")[1:]
        if self.server.mood != "rejects logins" and tuple(given) == self.server.account:
            self.account = given[0]
            await self._say("235 welcome")
        else:
            await self.server.refuse()
            await self._say("535 no")

    async def _mail(self, rest: str) -> None:
        self.sender, self.recipients = _address(rest), []
        if self.server.account is not None and self.account is None:
            await self._say("530 log in first")
        else:
            await self._say("250 well")

    async def _recipient(self, rest: str) -> None:
        if self.server.mood == "rejects recipients":
            await self.server.refuse()
            await self._say("550 5.1.1 no such\tmailbox")
        elif self.server.mood == "defers":
            await self.server.refuse()
            await self._say("451 come again later")
        else:
            self.recipients.append(_address(rest))
            await self._say("250 well")

    async def _data(self) -> bool:
        """Accept a message; return False when the connection must end."""
        await self._say("354 go on")
        raw = (await self.reader.readuntil(b"\r\n.\r\n")).removesuffix(b".\r\n")
        message = message_from_bytes(raw, policy=default)
        assert isinstance(message, EmailMessage)
        recipients = tuple(self.recipients)
        email = ReceivedEmail(self.sender, recipients, message, raw, self.account, self.secured)
        await self._say("250 taken")
        await self.server.keep(email)
        return self.server.mood != "hangs up"


def _address(rest: str) -> str:
    return rest.partition("<")[2].partition(">")[0]


@asynccontextmanager
async def mail_server(
    *, account: tuple[str, str] | None = None, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[MailServer]:
    mail = MailServer(port, account=account, tls=tls)
    server = await asyncio.start_server(mail.talk, "127.0.0.1", port)
    mail.port = server.sockets[0].getsockname()[1]
    async with server:
        yield mail
