"""Files with real nginx, sudo, the installed launcher, and the home directories of two users."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import AWAY, AWAY_STATUSES, is_away
from tests.live import Live

pytestmark = pytest.mark.anyio
MANY = 100_000
SIZE = 64 << 20


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client
        await remove(client, "files-test")


async def remove(client: Client, path: str) -> None:
    body = {"root": "home", "paths": [path], "permanent": True}
    async with asyncio.timeout(120):
        while True:
            (item,) = (await client.api("POST", "/files/delete", body))["items"]
            if item["error"] is None or item["error"]["type"].endswith("file-not-there"):
                return
            assert item["error"]["type"] == "urn:portal:conflict", item


async def put(client: Client, upload: str, offset: int, chunk: bytes) -> int | None:
    """Return the offset of the next chunk; None without a response."""
    url = f"{client.base_url}/api/v1/files/uploads/{upload}?offset={offset}"
    try:
        headers = {"Origin": client.base_url}
        async with client.http.put(url, data=io.BytesIO(chunk), headers=headers) as answer:
            text = await answer.text()
            if answer.status in AWAY_STATUSES:
                return None
            assert answer.status in {200, 409}, text
            return int(json.loads(text)["offset"])
    except AWAY:
        return None


async def where(client: Client, upload: str) -> int:
    """Return the offset to resume at; the portal may be restarting."""
    async with asyncio.timeout(120):
        while True:
            try:
                return int((await client.api("GET", f"/files/uploads/{upload}"))["offset"])
            except AWAY as error:
                if not is_away(error):
                    raise
            await asyncio.sleep(0.1)


async def fetched(client: Client, path: str, **headers: str) -> tuple[int, bytes]:
    url = f"{client.base_url}/api/v1/files/download"
    asked = {"root": "home", "path": path}
    async with client.http.get(url, params=asked, headers=headers) as answer:
        return answer.status, await answer.read()


async def test_a_file_goes_up_through_a_killed_portal_and_comes_down_whole(
    portal: Live, alice: Client
) -> None:
    await alice.api("POST", "/files/folders", {"root": "home", "path": "files-test"})
    data = os.urandom(1 << 20) * (SIZE >> 20)
    body = {"root": "home", "path": "files-test/64 MiB", "size_bytes": SIZE}
    begun = await alice.api("POST", "/files/uploads", body)
    upload, chunk, offset, killed = begun["id"], begun["chunk_bytes"], 0, False
    while offset < SIZE:
        sending = asyncio.create_task(put(alice, upload, offset, data[offset : offset + chunk]))
        if not killed and offset >= 3 * chunk:
            portal.kill("portal")
            killed = True
        following = await sending
        offset = await where(alice, upload) if following is None else following
    assert portal.exec_as("alice", ["ls", "files-test"]).strip() == "", "hidden until whole"
    done = await alice.api("POST", f"/files/uploads/{upload}/complete", {})
    assert (done["done"], done["sha256"]) == (True, hashlib.sha256(data).hexdigest())
    shown = portal.exec_as("alice", ["sh", "-c", "stat -c '%U %a' 'files-test/64 MiB'"])
    assert shown.split() == ["alice", "644"]
    assert await fetched(alice, "files-test/64 MiB") == (200, data)
    status, rest = await fetched(alice, "files-test/64 MiB", Range=f"bytes={SIZE - 10}-")
    assert (status, rest) == (206, data[-10:])


async def test_a_hundred_thousand_entries(portal: Live, alice: Client) -> None:
    make = f"import os\nfor n in range({MANY}): os.close(os.open(f'files-test/f{{n}}', os.O_CREAT))"
    await alice.api("POST", "/files/folders", {"root": "home", "path": "files-test"})
    portal.exec_as("alice", ["python3", "-c", make])
    asked = "/files?root=home&path=files-test&limit=3"
    page = await alice.api("GET", asked)
    assert (page["total"], page["complete"]) == (MANY, True)
    assert names(page) == ["f0", "f1", "f2"]
    page = await alice.api("GET", f"{asked}&cursor={page['next_cursor']}")
    assert names(page) == ["f3", "f4", "f5"]
    last = await alice.api("GET", f"{asked}&descending=true&q=9999")
    assert names(last) == ["f99999", "f99998", "f99997"]
    (deleted,) = (await delete(alice, "files-test"))["items"]
    assert deleted["trash_id"]
    with pytest.raises(RequestRefused) as gone:
        await alice.api("GET", asked)
    assert gone.value.status == 404
    back = {"root": "home", "ids": [deleted["trash_id"]]}
    (restored,) = (await alice.api("POST", "/files/trash/restore", back))["items"]
    assert restored["error"] is None
    assert (await alice.api("GET", asked))["total"] == MANY


def names(page: Any) -> list[str]:
    return [entry["name"] for entry in page["items"]]


async def delete(client: Client, path: str) -> Any:
    return await client.api("POST", "/files/delete", {"root": "home", "paths": [path]})


async def test_files_of_other_users_are_refused(portal: Live, alice: Client) -> None:
    await alice.api("POST", "/files/folders", {"root": "home", "path": "files-test"})
    home = (await alice.api("GET", "/files/roots"))["items"][0]["path"]
    portal.exec_as("alice", ["sh", "-c", "umask 077; echo hers > files-test/secret"])
    async with portal.login("bob") as bob:
        portal.exec_as("bob", ["ln", "-sfn", home, "alices"])
        try:
            for route in ("preview", "text", "image"):
                with pytest.raises(RequestRefused) as refused:
                    asked = "root=home&path=alices/files-test/secret"
                    await bob.api("GET", f"/files/{route}?{asked}")
                assert refused.value.status == 403
            assert (await fetched(bob, "alices/files-test/secret"))[0] == 403
            moved = {"root": "home", "path": "alices/files-test", "to_path": "mine"}
            with pytest.raises(RequestRefused) as refused:
                await bob.api("POST", "/files/move", moved)
            assert refused.value.status == 409, "no link leads to a change"
        finally:
            await remove(bob, "alices")
    shown = portal.exec_as("alice", ["cat", "files-test/secret"])
    assert shown.strip() == "hers"
