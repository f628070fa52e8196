"""E-mails with a server that accepts, defers or refuses them, or does not answer."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portal.config.settings import Settings
from portal.context import open_context
from portal.health.checks.mail import check_mail
from portal.health.registry import Component
from portal.health.result import CheckResult, ComponentState
from portal.services.mail.smtp import MailUnavailable, Smtp
from tests.fakes.smtp import MailServer, Mood, mail_server
from tests.portal.conftest import MakeSettings, Portal, RunPortal
from tests.portal.mail_portal import HOUR, MINUTE, MailPortal, ended, forget, smtp_settings
from tests.servers.slapd import free_port

pytestmark = pytest.mark.anyio
pytest_plugins = ["tests.portal.mail_fixtures"]


async def test_what_is_deferred_is_tried_again_later_each_time(mail_portal: MailPortal) -> None:
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.add(**ended(name="late"))
    mail_portal.server.mood = "defers"
    for _ in range(3):
        assert await mail_portal.look(now)
        (mail,) = await mail_portal.mails()
        assert mail.problem == "The server refused the recipient address: 451 come again later"
        assert mail.next_try_at is not None
        assert mail.next_try_at > now
        now = mail.next_try_at
    assert (mail.tries, mail_portal.server.refused) == (3, 3)
    standing = (await mail_portal.alice.get("/api/v1/me/mail")).body
    assert standing["problem"] == mail.problem
    mail_portal.server.mood = "takes"
    assert await mail_portal.look(now)
    (mail,) = await mail_portal.mails()
    assert (mail.sent_at is not None, mail.next_try_at, mail.problem) == (True, None, None)
    assert await mail_portal.look(now + HOUR)
    assert mail_portal.subjects() == ["Job late has completed"]


async def test_what_can_never_arrive_is_given_up(mail_portal: MailPortal) -> None:
    """An unknown address; a server that is down for a day."""
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.add(**ended())
    mail_portal.server.mood = "rejects recipients"
    assert await mail_portal.look(now)
    (mail,) = await mail_portal.mails()
    assert (mail.next_try_at, mail.sent_at) == (None, None)
    assert mail.problem == "The server refused the recipient address: 550 5.1.1 no such mailbox"
    mail_portal.server.mood = "rejects clients"
    await mail_portal.add(**ended())
    assert not await mail_portal.look(now + 2 * MINUTE)
    assert not await mail_portal.look(now + 25 * HOUR)
    assert [mail.next_try_at for mail in await mail_portal.mails()] == [None, None]


async def test_full_mailbox_does_not_delay_other_recipients(mail_portal: MailPortal) -> None:
    """A deferral concerns one message: the others are tried, and the server counts as healthy."""
    await mail_portal.wants()
    await mail_portal.wants("bob")
    await mail_portal.add(**ended(name="mine"))
    await mail_portal.add(who="bob", **ended(name="theirs"))
    mail_portal.server.mood = "defers"
    assert await mail_portal.look(mail_portal.now)
    assert (mail_portal.server.refused, mail_portal.post.smtp.trouble) == (2, None)
    assert [(mail.tries, mail.next_try_at is not None) for mail in await mail_portal.mails()] == [
        (1, True), (1, True),
    ]  # fmt: skip


async def test_refusing_server_does_not_fail_messages(mail_portal: MailPortal) -> None:
    """Messages wait until the server works, whichever code it returns; the failure is reported."""
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.add(**ended(name="kept"))
    moods: tuple[Mood, ...] = ("rejects clients", "is rude")
    for mail_portal.server.mood in moods:
        assert not await mail_portal.look(now)
        (mail,) = await mail_portal.mails()
        assert (mail.problem or "").startswith("The server refused the connection: 55")
        assert mail_portal.post.smtp.trouble is not None
        assert mail.next_try_at is not None
        now = mail.next_try_at
    mail_portal.server.mood = "takes"
    secret = {"smtp_user": "portal", "smtp_password": "s3cret"}
    account = Smtp(mail_portal.post.smtp.settings.model_copy(update=secret))
    with pytest.raises(MailUnavailable, match="AUTH"):  # it has no accounts
        await account.check_login_and_sender()
    assert await mail_portal.look(now)
    assert mail_portal.subjects() == ["Job kept has completed"]


async def test_an_email_that_was_taken_is_not_sent_again(mail_portal: MailPortal) -> None:
    """The server closes the connection without a reply to QUIT, once it has the message."""
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.add(**ended())
    mail_portal.server.mood = "hangs up"
    assert await mail_portal.look(now)
    assert await mail_portal.look(now + HOUR)
    assert len(mail_portal.server.emails) == 1


@asynccontextmanager
async def secured(certificate: Path) -> AsyncIterator[MailServer]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    async with mail_server(account=("portal", "s3cret"), tls=context) as server:
        yield server


def checked(make_settings: MakeSettings, port: int, folder: Path, **changes: Any) -> Settings:
    secret = folder / "smtp.secret"
    secret.touch(mode=0o600)
    secret.write_text("s3cret")
    usual = {
        "smtp_tls": "starttls",
        "smtp_ca_file": folder / "cert.pem",
        "smtp_user": "portal",
        "smtp_password_file": secret,
    }
    return make_settings(**smtp_settings(port, **{**usual, **changes}))


async def test_portal_check_connects_to_server_and_gives_suggestion(
    make_settings: MakeSettings, certificate: Path
) -> None:
    async def check(settings: Settings) -> CheckResult | None:
        async with open_context(settings) as context:
            return await check_mail(context)

    assert await check(make_settings()) is None
    async with secured(certificate) as server:
        settings = checked(make_settings, server.port, certificate)
        accepted = await check(settings)
        assert accepted is not None
        assert (accepted.state, server.emails) == (ComponentState.OK, [])
        stranger = checked(make_settings, server.port, certificate, smtp_ca_file=None)
        untrusted = await check(stranger)
        assert untrusted is not None
        assert "smtp_ca_file" in untrusted.suggestion
        server.mood = "rejects logins"
        shut = await check(settings)
        assert shut is not None
        assert (shut.problem, "smtp_user" in shut.suggestion) == (
            "The server refused the login: no.",
            True,
        )
        assert server.emails == []
    async with mail_server() as plain:
        bare = await check(checked(make_settings, plain.port, certificate))
        assert bare is not None
        assert bare.problem == "The server does not offer STARTTLS."
    gone = await check(make_settings(**smtp_settings(free_port())))
    assert gone is not None
    assert gone.problem is not None
    assert "smtp_host" in gone.suggestion


async def test_an_email_goes_by_tls_as_the_portals_account(
    run_portal: RunPortal, make_settings: MakeSettings, certificate: Path
) -> None:
    """The status also distinguishes a server that answers from one that does not."""
    async with secured(certificate) as server:
        settings = checked(make_settings, server.port, certificate)
        changes = {name: getattr(settings, name) for name in settings.model_fields_set}
        async with run_portal(**changes) as portal, portal.browser() as alice:
            await alice.login("alice")
            assert (await alice.post("/api/v1/me/mail/test")).status == 204
            (email,) = server.emails
            assert (email.account, email.secured) == ("portal", True)
            assert await _status(portal) == (
                ComponentState.OK,
                "Responding; the last e-mail was accepted.",
            )
            server.mood = "rejects logins"
            await forget(portal)
            assert (await alice.post("/api/v1/me/mail/test")).status == 503
            state, message = await _status(portal)
            assert (state, message.partition(".")[0]) == (
                ComponentState.FAILING,
                "The server refused the login: no",
            )


async def _status(portal: Portal) -> tuple[ComponentState, str]:
    await portal.app.state.status.check_now(Component.MAIL)
    (item,) = [item for item in portal.app.state.status.items if item.part is Component.MAIL]
    return item.state, item.message


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"smtp_from": None}, "smtp_from"),
        ({"smtp_from": "portal"}, "smtp_from"),
        ({"smtp_user": "portal"}, "smtp_user"),
        ({"smtp_host": "mail.example", "smtp_user": "p", "smtp_password_file": "/x"}, "smtp_tls"),
    ],
)
def test_settings_that_can_not_work_stop_the_start(
    make_settings: MakeSettings, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValueError, match=field):
        make_settings(**smtp_settings(25, **changes))
