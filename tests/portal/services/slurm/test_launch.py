"""Submission of a session a second time, after a crash in which the first answer was lost."""

import json
from pathlib import Path

import pytest

from portal.models import Session
from portal.services.hashes import hash_token
from portal.services.slurm import launch
from tests.portal.services.sessions.test_extending import extending
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


async def test_both_copies_of_a_session_have_a_valid_secret(
    slapd: Slapd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm may have accepted both; the one that claims the session may be either."""
    monkeypatch.setattr(launch, "check_environment", lambda *_: (True, None))
    async with extending(slapd, tmp_path) as portal:
        context = portal.job_portal.context
        async with context.db.session() as db:
            row = await db.get_one(Session, portal.session_id)
        secrets = []
        for _ in range(2):
            await launch.submit_session(context, row)
            _, _, files = portal.job_portal.launchers.submitted[-1]
            secrets.append(json.loads(files["config.json"])["secret"])
        async with context.db.session() as db:
            row = await db.get_one(Session, portal.session_id)
        assert [hash_token(secret) for secret in secrets] == [row.secret_hash] * 2
        assert launch.derive_secret(context, "another") not in secrets
        assert context.settings.internal_secret not in secrets
