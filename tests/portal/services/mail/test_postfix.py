"""E-mails to a real mail server, Debian's Postfix, which delivers them to mailboxes."""

from collections.abc import Iterator
from email.header import decode_header, make_header
from email.message import EmailMessage, Message
from pathlib import Path
from typing import Any

import pytest

from portal.context import open_context
from portal.health.checks.mail import check_mail
from portal.health.result import ComponentState
from portal.services.mail.smtp import MailRefused, Smtp
from tests.needs import needs_root
from tests.polling import until
from tests.portal.conftest import MakeSettings, RunPortal
from tests.portal.mail_portal import SENDER, smtp_settings
from tests.servers import postfix
from tests.servers.postfix import DOMAIN, MAX_MESSAGE_BYTES, Postfix

pytestmark = [pytest.mark.anyio, needs_root("Postfix changes its account")]
pytest_plugins = ["tests.portal.mail_fixtures"]

TEXT = "It ended.\n.\n..\nA long line: " + "x" * 2000 + "\n已完成 ✓\n"


@pytest.fixture(scope="module")
def server(certificate: Path) -> Iterator[Postfix]:
    with postfix.running(certificate, "alice", "bob") as running:
        yield running


@pytest.fixture
def secured(server: Postfix, certificate: Path) -> dict[str, Any]:
    """Settings of a portal that uses the server."""
    return smtp_settings(server.port, smtp_tls="starttls", smtp_ca_file=certificate / "cert.pem")


def build_email(recipient: str, subject: str = "Job done", text: str = TEXT) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = SENDER, recipient, subject
    made.set_content(text)
    return made


async def received(server: Postfix, user: str) -> Message:
    (found,) = await until(lambda: server.messages(user), "the mailbox has a message")
    return found


async def test_the_test_message_arrives_by_tls(
    run_portal: RunPortal, server: Postfix, secured: dict[str, Any]
) -> None:
    async with run_portal(**secured) as portal, portal.browser() as alice:
        await alice.login("alice")
        assert (await alice.post("/api/v1/me/mail/test")).status == 204
    found = await received(server, "alice")
    assert (found["From"], found["To"]) == (SENDER, f"alice@{DOMAIN}")
    assert "using TLSv1.3" in found["Received"]


async def test_text_arrives_as_it_was_written(
    make_settings: MakeSettings, server: Postfix, secured: dict[str, Any]
) -> None:
    """Lines of dots, longer than SMTP allows, and in Chinese."""
    subject = f"训练 {'long ' * 60}完成"
    smtp = Smtp(make_settings(**secured))
    await smtp.send(build_email(f"bob@{DOMAIN}", subject))
    found = await received(server, "bob")
    payload = found.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode() == TEXT
    assert str(make_header(decode_header(found["Subject"]))) == subject
    assert smtp.answered_at is not None


@pytest.mark.parametrize(
    ("recipient", "size", "problem"),
    [
        (f"unknown@{DOMAIN}", 1, "The server refused the recipient address: 550 5.1.1 "),
        ("alice@elsewhere.example", 1, "The server refused the recipient address: 554 5.7.1 "),
        (f"alice@{DOMAIN}", MAX_MESSAGE_BYTES, "The server refused the e-mail: 552 5.3.4 "),
    ],
)
async def test_what_it_will_never_accept_is_refused(
    make_settings: MakeSettings,
    secured: dict[str, Any],
    recipient: str,
    size: int,
    problem: str,
) -> None:
    """The server counts as working."""
    smtp = Smtp(make_settings(**secured))
    with pytest.raises(MailRefused) as caught:
        await smtp.send(build_email(recipient, text="x" * size))
    assert str(caught.value).startswith(problem)
    assert smtp.trouble is None


async def test_portal_check_trusts_only_its_certificate(
    make_settings: MakeSettings, secured: dict[str, Any]
) -> None:
    async def state(**changes: Any) -> ComponentState:
        async with open_context(make_settings(**{**secured, **changes})) as context:
            result = await check_mail(context)
        assert result is not None
        return result.state

    assert await state() is ComponentState.OK
    assert await state(smtp_ca_file=None) is ComponentState.FAILING
