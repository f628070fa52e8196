"""One user keeps archives and previews busy while another user's files stay responsive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.polling import PATIENCE_S, until
from tests.portal.file_portal import FilePortal, run_file_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
HOLES = 15 << 30  # sparse, but archiving still takes minutes of compression
HOSTILE = b'{"cells":[' + b"[[[[]]]]," * (900 * 1024) + b"[]]}"
ARCHIVES = 8
PREVIEWS = 20
ASKED = 5


@pytest.fixture(scope="module")
async def file_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("files")) as made:
        yield made


async def test_others_work_while_one_user_packs_and_previews(file_portal: FilePortal) -> None:
    with file_portal.write("holes", b"").open("wb") as file:
        file.truncate(HOLES)
    file_portal.write("evil.ipynb", HOSTILE)
    file_portal.write("n.ipynb", b'{"cells": []}', who="bob")
    alice, statuses, answered = file_portal.users["alice"].http, list[int](), list[int]()

    async def pack() -> None:
        path = "/api/v1/files/archive?root=home&name=holes&format=zip"
        async with alice.get(path) as answer:
            statuses.append(answer.status)
            async for _ in answer.content.iter_any():
                pass

    async def preview() -> None:
        while True:
            answer = await file_portal.ask("GET", "/preview?root=home&path=evil.ipynb")
            answered.append(answer.status)

    attack = [asyncio.create_task(pack()) for _ in range(ARCHIVES)]
    attack += [asyncio.create_task(preview()) for _ in range(PREVIEWS)]
    try:
        await until(lambda: len(statuses) == ARCHIVES, "each archive is begun or refused")
        assert sorted(statuses) == [200] * 6 + [429] * 2
        before = answered.count(200)
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(ASKED):
                listed = await file_portal.ask("GET", "?root=home&path=", who="bob")
                assert [one["name"] for one in listed.body["items"]] == ["n.ipynb"]
                found = await file_portal.ask("GET", "/preview?root=home&path=n.ipynb", who="bob")
                assert found.body["kind"] == "notebook"
        # a portal that parsed by itself would answer bob only after each of alice's previews
        assert answered.count(200) - before < 2 * ASKED
        assert [one.done() for one in attack[:ARCHIVES]].count(False) == 6
        assert not any(one.done() for one in attack[ARCHIVES:])
    finally:
        for one in attack:
            one.cancel()
        await asyncio.wait(attack)
