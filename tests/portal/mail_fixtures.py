"""The portal of mail_portal.py, for tests that name this among their `pytest_plugins`."""

import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in one file."""
    folder = tmp_path_factory.mktemp("smtp")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    return folder
