"""What is wrong with an installation is said in one sentence: by the start that refuses, by `portal
check`, or by the page Status. docs/operation.md has the table; test_start.py and test_front.py have
the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.check import directory_advice
from portal.directory import open_directory
from portal.services import probes
from portal.services.probes import Looks
from portal.services.status import Part, State
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
    """A DSN that can be read, and leads nowhere."""

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
        said = stand.refused("serve", database_url=url)
        assert said.startswith("The portal can't start: The database ")
        assert words in said
        assert "doesn't answer" in said
        assert "s3cr" not in said
        assert "other" not in said


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
        looks = Looks(portal.app.state.parts, portal.app.state.directory)
        for until, state, words in (
            (NOW + 90 * DAY, State.OK, "It answers, and reaches the portal."),
            (NOW + 3 * DAY, State.FAILING, "its certificate expires on "),
            (NOW - DAY, State.FAILING, "its certificate expired on "),
        ):
            settings = portal.settings.model_copy(update={"public_url": serve(make(until=until))})
            looks.parts = replace(portal.app.state.parts, settings=settings)
            found = (await looks.nginx())[""]
            assert (found.state, words in found.message) == (state, True)
            assert bool(found.advice) == (state is State.FAILING)


@pytest.mark.anyio
async def test_home_directories_that_are_away_are_on_the_page(
    run_portal: RunPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person's may be full; when nobody's can be used any more, the file system is away."""
    monkeypatch.setattr(probes, "launcher", lambda _: SimpleNamespace(problem=None))
    async with run_portal() as portal:
        parts = portal.app.state.parts
        looks = Looks(parts, portal.app.state.directory)

        async def launcher() -> Any:
            return (await looks.launcher())[""]

        parts.agents.homeless = {"alice": "Your home directory doesn't exist."}
        assert "home directory" not in (await launcher()).message.lower()
        parts.agents.homeless["bob"] = "Your home directory doesn't exist."
        found = await launcher()
        assert found.state is State.FAILING
        assert "alice, bob" in found.message
        assert found.advice == probes.HOMES_ADVICE
        assert Part.LAUNCHER in {probe.part for probe in portal.app.state.status.probes}


@pytest.mark.parametrize("name", ["docs/operation.md"])
def test_the_table_names_every_one(name: str) -> None:
    text = (Path(__file__).parents[2] / name).read_text()
    for word in ("Wrong `database_url`", "unreachable directory", "another version", "clock",
                 "home directories", "certificate", "port", "migration", "hides jobs"):  # fmt: skip
        assert word in text
