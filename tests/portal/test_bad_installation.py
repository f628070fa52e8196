"""Faults of an installation, each reported in one sentence.

The sentence comes from the refused start, from `portal check`, or from the Status page.
docs/operation.md has the table; test_start.py and test_front.py have the other cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.directory import open_directory
from portal.health import probes
from portal.health.check import directory_advice
from portal.health.probes import Probes
from portal.health.status import Component, ComponentState
from tests.portal import postgresql
from tests.portal.certificate_stand import DAY, NOW, Make, Serve, make, serve
from tests.portal.conftest import MakeSettings, RunPortal
from tests.portal.slapd import free_port
from tests.portal.test_start import Stand, stand

__all__ = ["make", "serve", "stand"]  # fixtures


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql.PostgreSql]:
    with postgresql.running() as found:
        yield found


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
        self, stand: Stand, server: postgresql.PostgreSql, before: str, after: str, words: str
    ) -> None:
        places = {"port": server.port, "free": free_port()}
        url = server.url("gone").replace(before.format(**places), after.format(**places), 1)
        error_text = stand.refused("serve", database_url=url)
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
    assert "ldap_ca_file" in directory_advice(health.cause)


@pytest.mark.anyio
async def test_a_front_door_whose_certificate_has_expired_is_on_the_page(
    run_portal: RunPortal, make: Make, serve: Serve
) -> None:
    async with run_portal() as portal:
        looks = Probes(portal.app.state.context, portal.app.state.directory)
        for until, state, words in (
            (NOW + 90 * DAY, ComponentState.OK, "Responding, and it reaches the portal."),
            (NOW + 3 * DAY, ComponentState.FAILING, "its certificate expires on "),
            (NOW - DAY, ComponentState.FAILING, "its certificate expired on "),
        ):
            settings = portal.settings.model_copy(update={"public_url": serve(make(until=until))})
            looks.context = replace(portal.app.state.context, settings=settings)
            found = (await looks.nginx())[""]
            assert (found.state, words in found.message) == (state, True)
            assert bool(found.advice) == (state is ComponentState.FAILING)


@pytest.mark.anyio
async def test_home_directories_that_are_away_are_on_the_page(
    run_portal: RunPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One user's home directory may be full; if no home directory is usable, the file system is
    down."""
    monkeypatch.setattr(probes, "launcher", lambda _: SimpleNamespace(problem=None))
    async with run_portal() as portal:
        context = portal.app.state.context
        looks = Probes(context, portal.app.state.directory)

        async def launcher() -> Any:
            return (await looks.launcher())[""]

        context.launchers.homeless = {"alice": "Your home directory doesn't exist."}
        assert "home directory" not in (await launcher()).message.lower()
        context.launchers.homeless["bob"] = "Your home directory doesn't exist."
        found = await launcher()
        assert found.state is ComponentState.FAILING
        assert "alice, bob" in found.message
        assert found.advice == probes.HOMES_ADVICE
        assert Component.LAUNCHER in {probe.part for probe in portal.app.state.status.probes}


@pytest.mark.parametrize("name", ["docs/operation.md"])
def test_the_table_names_every_one(name: str) -> None:
    text = (Path(__file__).parents[2] / name).read_text()
    for word in ("Wrong `database_url`", "unreachable directory", "another version", "clock",
                 "home directories", "certificate", "port", "migration", "hides jobs"):  # fmt: skip
        assert word in text
