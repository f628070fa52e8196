"""Files over the API, with real launchers of two users."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import os
import signal
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest
from sqlalchemy import select

from portal.api import file_answer
from portal.models import AuditEvent
from tests.needs import needs_root
from tests.portal.file_portal import AS_ROOT, FileWorld, file_world, running_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
ODD = b"caf\xe9"
ODD_TEXT = "caf\uefe9"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FileWorld]:
    async with file_world(slapd, tmp_path_factory.mktemp("files")) as made:
        yield made


@pytest.fixture
def world(shared: FileWorld) -> FileWorld:
    """A world with empty home directories, as if unused."""
    shared.empty()
    return shared


def confined(headers: dict[str, str]) -> bool:
    return (
        headers["X-Content-Type-Options"] == "nosniff"
        and headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        and headers["Content-Disposition"].startswith("attachment; ")
    )


async def test_places_with_what_is_free(world: FileWorld) -> None:
    found = (await world.ask("GET", "/roots")).body
    home, scratch = found["items"]
    assert (home["name"], home["path"], home["writable"]) == ("home", str(world.home), True)
    assert 0 < home["free_bytes"] <= home["total_bytes"]
    assert home["quota"]["limit_bytes"] == 10
    assert scratch["path"] == str(world.scratch)
    (of_bob,) = (await world.ask("GET", "/roots", who="bob")).body["items"][1:]
    assert of_bob["problem"]
    assert of_bob["free_bytes"] is None
    space = (await world.ask("GET", "/space")).body["items"]
    assert [place["name"] for place in space] == ["home", "scratch"]
    assert space[0]["quota"] == home["quota"]
    assert space[0]["total_bytes"] == home["total_bytes"]
    (also_bobs,) = (await world.ask("GET", "/space", who="bob")).body["items"][1:]
    assert also_bobs["problem"] == of_bob["problem"]
    where = await world.ask("GET", f"/where?path={world.scratch}/a/b")
    assert where.body == {"root": "scratch", "path": "a/b"}
    assert (await world.ask("GET", "/where?path=~/x")).body == {"root": "home", "path": "x"}
    assert (await world.ask("GET", "/where?path=/etc")).status == 422


async def test_folders_are_looked_at_a_page_at_a_time(world: FileWorld) -> None:
    for number in range(12):
        world.write(f"d/run{number}")
    world.write("d/x").rename(world.home / "d" / os.fsdecode(ODD))
    seen, cursor = [], ""
    while cursor is not None:
        page = (
            await world.ask(
                "GET", f"?path=d&limit=5&cursor={cursor}" if cursor else "?path=d&limit=5"
            )
        ).body
        assert (page["total"], page["complete"], page["real"]) == (13, True, None)
        seen += page["items"]
        cursor = page["next_cursor"]
    assert [entry["name"] for entry in seen[1:]] == [f"run{number}" for number in range(12)]
    assert (seen[0]["name"], seen[0]["name_is_text"]) == (ODD_TEXT, False)
    moved = {"root": "home", "path": seen[0]["path"], "to_path": "d/ok"}
    assert (await world.ask("POST", "/move", moved)).status == 200
    assert (world.home / "d/ok").exists()
    for wrong in ("cursor=x", "cursor=W10", "sort=owner", "limit=501"):
        assert (await world.ask("GET", f"?path=d&{wrong}")).status == 422


async def test_links_lead_to_where_things_are(world: FileWorld) -> None:
    world.write("in", who="scratch-alice") if not AS_ROOT else (world.scratch / "in").touch()
    (world.home / "out").symlink_to(world.scratch)
    page = (await world.ask("GET", "?path=out")).body
    assert page["real"] == {"root": "scratch", "path": ""}
    answer = await world.ask("POST", "/folders", {"root": "home", "path": "out/new"})
    assert (answer.status, answer.slug) == (409, "file-link")


MISSING = "%ef%be%80%ef"  # a valid name without a file


async def test_paths_that_lead_nowhere(world: FileWorld) -> None:
    for path in ("..", "../bob", "/etc/passwd", "a/../../x", "x" * 300, "%00", MISSING):
        for route in ("", "/entry", "/preview", "/download", "/text", "/image", "/archive"):
            answer = await world.ask("GET", f"{route}?root=home&path={path}")
            expected = 404 if path == MISSING else 422
            assert answer.status == expected, (path, route, answer)
    assert (await world.ask("GET", "?root=nowhere")).status == 422


@needs_root("it acts as two users")
async def test_link_to_files_of_another_user_is_refused(world: FileWorld) -> None:
    world.write("secret", b"bob's", who="bob")
    (world.home / "bobs").symlink_to(world.homes / "bob")
    for path in ("", "/download", "/preview"):
        answer = await world.ask("GET", f"{path}?root=home&path=bobs/secret")
        assert (answer.status, answer.slug) == (403, "file-denied")


async def test_downloads_are_attachments_and_go_on(world: FileWorld) -> None:
    data = os.urandom(3 << 20)
    world.write('<b>"x"\n.html', data)
    path = "/download?root=home&path=" + quote('<b>"x"\n.html')
    status, headers, got = await world.raw("GET", path)
    assert (status, got) == (200, data)
    assert confined(dict(headers))
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == (
        "attachment; filename=\"<b>_x__.html\"; filename*=UTF-8''%3Cb%3E%22x%22%0A.html"
    )
    etag = headers["ETag"]
    status, headers, got = await world.raw("GET", path, Range="bytes=1000000-", If_Range=etag)
    assert (status, got) == (206, data[1000000:])
    assert headers["Content-Range"] == f"bytes 1000000-{len(data) - 1}/{len(data)}"
    assert (await world.raw("GET", path, Range="bytes=-10"))[2] == data[-10:]
    assert (await world.raw("GET", path, Range="bytes=5-9"))[2] == data[5:10]
    assert (await world.raw("GET", path, Range="bytes=5-9", If_Range='"other"'))[0] == 200
    assert (await world.raw("GET", path, Range=f"bytes={len(data)}-"))[0] == 416
    assert (await world.raw("GET", path, If_None_Match=etag))[0] == 304
    world.write("empty", b"")
    assert (await world.raw("GET", "/download?root=home&path=empty"))[::2] == (200, b"")


async def test_archives(world: FileWorld) -> None:
    for name in ("d/a", "d/e/b", "c"):
        world.write(name, name.encode())
    for query, names in (
        ("path=d", {"d/", "d/a", "d/e/", "d/e/b"}),
        ("path=d&name=a", {"a"}),
        ("name=c&name=d", {"c", "d/", "d/a", "d/e/", "d/e/b"}),
    ):
        status, headers, got = await world.raw("GET", f"/archive?root=home&{query}")
        assert (status, confined(dict(headers))) == (200, True)
        with zipfile.ZipFile(io.BytesIO(got)) as archive:
            assert set(archive.namelist()) == names
    assert (await world.raw("GET", "/archive?root=home&name=gone"))[0] == 404


async def test_only_so_many_streams_at_once(world: FileWorld) -> None:
    world.write("large", bytes(64 << 20))
    browser = world.users["alice"]
    asked = ["/api/v1/files/download?root=home&path=large"] * 8
    held = await asyncio.gather(*(browser.http.get(url) for url in asked))
    assert sorted(answer.status for answer in held) == [200] * 6 + [429] * 2
    answer = await world.ask("GET", "/download?root=home&path=large")
    assert (answer.status, answer.slug) == (429, "too-many-streams")
    assert (await world.ask("GET", "?path=")).status == 200, "looking on goes on beside them"
    for one in held:
        one.close()
    world.write("small")
    async with asyncio.timeout(120):
        while (await world.raw("GET", "/download?root=home&path=small"))[0] == 429:
            await asyncio.sleep(0.05)


async def test_previews_are_data(world: FileWorld) -> None:
    cases = {
        "page.html": (b"<script>alert(1)</script>", "text"),
        "image.svg": (b"<svg onload='x'/>", "text"),
        "utf16.txt": ("hallo wörld".encode("utf-16"), "text"),
        "latin": (b"caf\xe9", "text"),
        "binary": (b"\x00\x01", "binary"),
        "nothing": (b"", "empty"),
        "photo.txt": (PNG, "image"),
        "t.csv": (b'name;n\n"a;b";1\nc;2\n', "csv"),
        "broken.ipynb": (b"{", "text"),
    }
    for name, (data, kind) in cases.items():
        world.write(name, data)
        found = (await world.ask("GET", f"/preview?root=home&path={name}")).body
        assert found["kind"] == kind, (name, found)
    table = (await world.ask("GET", "/preview?root=home&path=t.csv")).body["table"]
    assert (table["columns"], table["rows"]) == (["name", "n"], [["a;b", "1"], ["c", "2"]])
    status, headers, got = await world.raw("GET", "/image?root=home&path=photo.txt")
    assert (status, got, headers["Content-Type"]) == (200, PNG, "image/png")
    assert confined(dict(headers))
    for name in ("image.svg", "page.html"):
        assert (await world.ask("GET", f"/image?root=home&path={name}")).slug == "not-a-file"


async def test_streams_of_all_places_count_together(world: FileWorld) -> None:
    """Six downloads from one root leave none for another root; other users have their own limit."""
    size = 64 << 20
    for folder in (world.home, world.scratch):
        with (folder / "large").open("wb") as file:
            file.truncate(size)
    world.write("small", who="bob")
    async with contextlib.AsyncExitStack() as stack:
        http = world.users["alice"].http
        path = "/api/v1/files/download?path=large&root="
        roots = ["home"] * 4 + ["scratch"] * 4
        held = [await stack.enter_async_context(http.get(path + root)) for root in roots]
        assert [answer.status for answer in held] == [200] * 6 + [429] * 2
        status, _, _ = await world.raw("GET", "/download?root=home&path=small", who="bob")
        assert status == 200


async def test_notebooks_are_shown_without_html(world: FileWorld) -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]},
        {"output_type": "display_data", "data": {
            "text/html": "<script>x</script>", "image/png": base64.b64encode(PNG).decode(),
        }},
        {"output_type": "display_data", "data": {
            "image/png": base64.b64encode(b"<svg/>").decode(), "text/plain": "plain",
        }},
        {"output_type": "execute_result", "data": {"text/html": "<b>x</b>"}},
        {"output_type": "error", "traceback": ["\x1b[31mBoom\x1b[0m"]},
    ]  # fmt: skip
    cells = [
        {"cell_type": "markdown", "source": ["# <img src=x onerror=y>"]},
        {"cell_type": "code", "source": "1", "execution_count": 3, "outputs": outputs},
        "nonsense",
    ]
    world.write("n.ipynb", json.dumps({"cells": cells, "metadata": 5}).encode())
    found = (await world.ask("GET", "/preview?root=home&path=n.ipynb")).body
    assert found["kind"] == "notebook"
    text, code = found["notebook"]["cells"]
    assert (text["kind"], text["source"]) == ("markdown", "# <img src=x onerror=y>")
    assert [(o["kind"], o["text"]) for o in code["outputs"]] == [
        ("text", "a\nb"), ("image", None), ("text", "plain"), ("error", "Boom")
    ]  # fmt: skip
    assert "html" not in json.dumps(found)


async def test_text_is_saved_only_over_what_was_read(world: FileWorld) -> None:
    file = world.write("a.txt", "\ufeffhällo".encode())
    found = (await world.ask("GET", "/text?root=home&path=a.txt")).body
    assert (found["text"], found["encoding"]) == ("hällo", "utf-8-sig")
    body = {"root": "home", "path": "a.txt", "text": "new ✓", "encoding": "utf-8-sig"}
    saved = await world.ask("PUT", "/text", {**body, "version": found["version"]})
    assert (saved.status, file.read_bytes()) == (200, "\ufeffnew ✓".encode())
    again = await world.ask("PUT", "/text", {**body, "version": found["version"]})
    assert (again.status, again.slug) == (409, "file-changed")
    assert again.body["version"] == saved.body["version"]
    assert (await world.ask("PUT", "/text", body)).slug == "file-exists"
    wrong = await world.ask("PUT", "/text", {**body, "path": "b", "encoding": "latin-1"})
    assert wrong.body["errors"][0]["field"] == "text"
    made = await world.ask("PUT", "/text", {**body, "path": "-rf <b>"})
    assert (made.status, made.body["path"]) == (200, "-rf <b>")


async def test_deleted_and_brought_back(world: FileWorld) -> None:
    world.write("d/a", b"1")
    body = {"root": "home", "paths": ["d", "gone"]}
    done, missing = (await world.ask("POST", "/delete", body)).body["items"]
    assert done["trash_id"]
    assert missing["error"]["type"] == "urn:portal:file-not-there"
    (item,) = (await world.ask("GET", "/trash")).body["items"]
    assert (item["id"], item["path"]) == (done["trash_id"], "d")
    back = {"root": "home", "ids": [item["id"]]}
    (restored,) = (await world.ask("POST", "/trash/restore", back)).body["items"]
    assert (restored["name"], restored["error"]) == ("d", None)
    assert (world.home / "d/a").read_bytes() == b"1"
    await world.ask("POST", "/delete", body)
    assert (await world.ask("POST", "/trash/empty", {"root": "home"})).body == {"done": True}
    assert (await world.ask("GET", "/trash")).body["items"] == []
    world.write("e")
    gone = {"root": "home", "paths": ["e"], "permanent": True}
    assert (await world.ask("POST", "/delete", gone)).body["items"][0]["error"] is None
    async with world.portal.app.state.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "file.delete")
        events = (await db.scalars(query)).all()
    deleted = [event.target for event in events if event.target in {"home:d", "home:e"}]
    assert deleted == ["home:d", "home:d", "home:e"]


async def test_an_upload_goes_on_after_a_restart(
    world: FileWorld, slapd: Slapd, tmp_path: Path
) -> None:
    data = os.urandom(20 << 20)
    body = {"root": "home", "path": "new folder/data.bin", "size_bytes": len(data)}
    assert (await world.ask("POST", "/uploads", body)).slug == "file-not-there"
    await world.ask("POST", "/folders", {"root": "home", "path": "new folder"})
    begun = (await world.ask("POST", "/uploads", body)).body
    chunk, upload = begun["chunk_bytes"], f"/uploads/{begun['id']}"
    status, _, got = await world.raw("PUT", f"{upload}?offset=0", data[:chunk])
    assert (status, json.loads(got)) == (200, {"offset": chunk})
    refused = json.loads((await world.raw("PUT", f"{upload}?offset=0", b"x"))[2])
    assert (refused["type"], refused["offset"]) == ("urn:portal:wrong-offset", chunk)
    too_much = await world.raw("PUT", f"{upload}?offset={chunk}", bytes(chunk + 1))
    assert too_much[0] == 413
    settings = world.portal.settings
    other = tmp_path / "other"
    other.mkdir()
    async with running_world(
        slapd, other, settings.sudo_path, settings.launcher_path, world.homes
    ) as after:
        (listed,) = (await after.ask("GET", "/uploads")).body["items"]
        assert (listed["root"], listed["path"]) == ("home", "new folder/data.bin")
        offset = (await after.ask("GET", upload)).body["offset"]
        assert offset == chunk
        while offset < len(data):
            piece = data[offset : offset + chunk]
            _, _, got = await after.raw("PUT", f"{upload}?offset={offset}", piece)
            offset = json.loads(got)["offset"]
        wrong = await after.ask("POST", f"{upload}/complete", {"sha256": "0" * 64})
        assert wrong.slug == "checksum-differs"
        done = (await after.ask("POST", f"{upload}/complete", {})).body
        assert done["sha256"] == hashlib.sha256(data).hexdigest()
        assert (await after.ask("GET", upload)).status == 404
    assert (world.home / "new folder/data.bin").read_bytes() == data
    answer = await world.ask("POST", "/uploads", body)
    assert (answer.slug, answer.body["replaceable"]) == ("file-exists", True)


async def test_uploads_that_can_not_be(world: FileWorld) -> None:
    body = {"root": "home", "path": "a", "size_bytes": 1 << 49}
    answer = await world.ask("POST", "/uploads", body)
    assert (answer.status, answer.slug) == (507, "no-space")
    begun = (await world.ask("POST", "/uploads", {**body, "size_bytes": 3})).body
    upload = f"/uploads/{begun['id']}"
    world.files.writing.add(("alice", begun["id"]))
    status, _, got = await world.raw("PUT", f"{upload}?offset=0", b"abc")
    assert (status, json.loads(got)["type"]) == (409, "urn:portal:file-busy")
    world.files.writing.clear()
    assert (await world.raw("PUT", f"{upload}?offset=0", b"abcd"))[0] == 413
    assert (await world.ask("GET", upload, who="bob")).status == 404 or not AS_ROOT
    assert (await world.raw("DELETE", upload))[0] == 204
    for data in (b"abc", b""):
        assert (await world.raw("PUT", f"{upload}?offset=0", data))[0] == 404
    assert (await world.ask("GET", "/uploads/no-id")).status == 404
    assert (await world.ask("GET", "/uploads")).body["items"] == []


async def test_a_login_that_ends_ends_its_download(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_answer, "STILL_EVERY_S", 0.0)
    world.write("large", bytes(64 << 20))
    async with world.portal.browser() as browser:
        await browser.login("alice")
        answer = await browser.http.get("/api/v1/files/download?root=home&path=large")
        await answer.content.readexactly(1 << 20)
        assert (await browser.post("/api/v1/logout")).status == 204
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_place_that_hangs_holds_up_no_other(world: FileWorld) -> None:
    assert (await world.ask("GET", "?root=scratch")).status == 200
    launcher = world.files.pool("scratch")._channels["alice"]._process.pid
    os.kill(launcher, signal.SIGSTOP)
    try:
        waiting = asyncio.create_task(world.ask("GET", "?root=scratch"))
        assert (await world.ask("GET", "?root=home")).status == 200
        assert (await world.ask("GET", "/uploads")).status == 200
        assert not waiting.done()
    finally:
        os.kill(launcher, signal.SIGCONT)
    assert (await waiting).status == 200


async def test_tidying_up_keeps_what_is_young(world: FileWorld) -> None:
    for name in ("old", "young"):
        world.write(name)
        body = {"root": "home", "paths": [name]}
        (item,) = (await world.ask("POST", "/delete", body)).body["items"]
        if name == "old":
            os.utime(world.home / ".portal-trash" / item["trash_id"], (1, 1))
    await world.ask("GET", "/roots")
    await asyncio.gather(*world.files.tasks)
    assert [item["path"] for item in (await world.ask("GET", "/trash")).body["items"]] == ["young"]
    assert world.files.tidied.keys() == {"alice"}, "once an hour"
