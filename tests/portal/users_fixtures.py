"""Fixtures of the tests of users and groups: a portal that may change its directory."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.portal.conftest import Browser, MakeSettings, Portal, running_portal
from tests.portal.job_portal import FakeSlurm
from tests.portal.users_portal import RunHere, content, logged_in
from tests.servers.directory import WRITER_DN, WRITER_PASSWORD
from tests.servers.slapd import Slapd, running


@pytest.fixture(scope="session")
def users_slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with running(tmp_path_factory.mktemp("users"), content()) as slapd:
        yield slapd


@pytest.fixture
def writing_settings(users_slapd: Slapd, tmp_path: Path) -> dict[str, Any]:
    """Return the additional settings with which a portal changes this directory."""
    password = tmp_path / "writer.secret"
    password.touch(mode=0o600)
    password.write_text(WRITER_PASSWORD)
    return {
        "ldap_urls": [users_slapd.ldap_url],
        "ldap_ca_file": users_slapd.ca,
        "ldap_write_dn": WRITER_DN,
        "ldap_write_password_file": password,
        "ldap_timeout_s": 30,
        "ldap_uid_range": (50_000, 59_999),
        "ldap_gid_range": (50_000, 59_999),
    }


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """A Slurm that answers, without jobs unless a test adds some."""
    slurm = FakeSlurm()
    monkeypatch.setattr("portal.context.Slurm", lambda *_, **__: slurm)
    return slurm


@pytest.fixture
def run_here(make_settings: MakeSettings, writing_settings: dict[str, Any]) -> RunHere:
    return lambda **changes: running_portal(make_settings(**{**writing_settings, **changes}))


@pytest.fixture
async def here(run_here: RunHere) -> AsyncIterator[Portal]:
    async with run_here() as portal:
        yield portal


@pytest.fixture
async def carol(here: Portal) -> AsyncIterator[Browser]:
    """An administrator."""
    async with logged_in(here, "carol") as browser:
        yield browser
