"""Faults of an installation, each reported in one sentence.

The sentence comes from the refused start, from `portal check`, or from the Status page.
docs/operation.md has the table; test_startup.py and health/ have the other cases.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from portal.directory import open_directory
from portal.health.checks.directory import advise
from portal.health.checks.launcher import HOMES_SUGGESTION, check_last_use
from portal.health.registry import Component
from portal.health.result import ComponentState
from portal.health.status import SystemStatus
from tests.paths import CHECKOUT
from tests.portal.conftest import MakeSettings, RunPortal
from tests.portal.test_startup import InstalledPortal, installed
from tests.servers.postgresql import PostgreSql
from tests.servers.slapd import free_port
from tests.servers.tls import DAY, NOW, Make, Serve, make, serve

__all__ = ["installed", "make", "serve"]  # fixtures


class TestWrongDatabase:
    """A valid DSN that leads nowhere."""

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            ("s3cr", "other", "password authentication failed"),
            ("/gone", "/nowhere", 'database "nowhere" does not exist'),
            (":{port}/", ":{free}/", "onnection refused"),
        ],
    )
    def test_it_stops_the_start(
        self,
        installed: InstalledPortal,
        postgres: PostgreSql,
        before: str,
        after: str,
        words: str,
    ) -> None:
        places = {"port": postgres.port, "free": free_port()}
        url = postgres.url("gone").replace(before.format(**places), after.format(**places), 1)
        error_text = installed.refused("serve", database_url=url)
        assert error_text.startswith("The portal can't start: The database ")
        assert words in error_text
        assert "can't be opened" in error_text
        assert "s3cr" not in error_text
        assert "other" not in error_text


@pytest.mark.anyio
async def test_a_directory_whose_certificate_has_expired(
    make_settings: MakeSettings, make: Make, serve: Serve
) -> None:
    pair = make(until=NOW - DAY)
    url = serve(pair).replace("https", "ldaps")
    directory = open_directory(make_settings(ldap_urls=[url], ldap_ca_file=pair))
    (health,) = await directory.health()
    assert health.cause is not None
    assert "certificate" in health.cause
    assert "expired" in health.cause
    assert "ldap_ca_file" in advise(health.cause)


@pytest.mark.anyio
async def test_an_nginx_whose_certificate_has_expired_is_on_the_page(
    run_portal: RunPortal, make: Make, serve: Serve
) -> None:
    async with run_portal() as portal:
        status: SystemStatus = portal.app.state.status
        for until, state, words in (
            (NOW + 90 * DAY, ComponentState.OK, "Responding, and it reaches the portal."),
            (NOW + 3 * DAY, ComponentState.FAILING, " localhost expires on "),
            (NOW - DAY, ComponentState.FAILING, " localhost expired on "),
        ):
            settings = portal.settings.model_copy(update={"public_url": serve(make(until=until))})
            looks = SystemStatus(status.checks, replace(status.context, settings=settings))
            await looks.check_now(Component.NGINX)
            (found,) = [item for item in looks.items if item.part is Component.NGINX]
            assert (found.state, words in found.message) == (state, True)
            assert bool(found.suggestion) == (state is ComponentState.FAILING)


@pytest.mark.anyio
async def test_home_directories_that_are_away_are_on_the_page(run_portal: RunPortal) -> None:
    """One user's home directory may be full; if no home directory is usable, the file system is
    down."""
    async with run_portal() as portal:
        status: SystemStatus = portal.app.state.status
        context = portal.context
        context.launchers.home_problems = {"alice": "Your home directory doesn't exist."}
        assert "home directory" not in (await check_last_use(status.context)).text.lower()
        context.launchers.home_problems["bob"] = "Your home directory doesn't exist."
        found = await check_last_use(status.context)
        assert found.state is ComponentState.FAILING
        assert "alice, bob" in found.text
        assert found.suggestion == HOMES_SUGGESTION
        parts = {check.part for check in status.checks if check.run is check_last_use}
        assert parts == {Component.LAUNCHER}


@pytest.mark.parametrize("name", ["docs/operation.md"])
def test_the_table_names_every_one(name: str) -> None:
    text = (CHECKOUT / name).read_text()
    for word in ("Wrong `database_url`", "unreachable directory", "another version", "clock",
                 "home directories", "certificate", "port", "migration", "hides jobs"):  # fmt: skip
        assert word in text
