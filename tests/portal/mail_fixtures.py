"""The portal of mail_portal.py, for tests that name this among their `pytest_plugins`."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from portal.db import utcnow
from portal.services.mail.sender import MailSender
from portal.services.mail.smtp import Smtp
from tests.fakes.smtp import mail_server
from tests.portal.conftest import RunPortal
from tests.portal.mail_portal import MailPortal, smtp_settings


@pytest.fixture
async def mail_portal(run_portal: RunPortal) -> AsyncIterator[MailPortal]:
    async with mail_server() as server, run_portal() as portal, portal.browser() as alice:
        settings = portal.settings.model_copy(update=smtp_settings(server.port))
        smtp = Smtp(settings)
        context = replace(portal.context, settings=settings, smtp=smtp)
        portal.app.state.context = context  # the parts that routes use
        users = {}
        for name in ("bob", "alice"):
            users[name] = (await alice.login(name)).body["id"]
        found = MailPortal(portal, server, MailSender(context, smtp), users, alice, utcnow())
        assert await found.look(found.now)  # only events after this count
        yield found
