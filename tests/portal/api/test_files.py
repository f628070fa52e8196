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
from portal.services.concurrency import SEARCHES_AT_ONCE
from tests.needs import needs_root
from tests.polling import until
from tests.portal.file_portal import AS_ROOT, FilePortal, run_file_portal, serve_files
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
ODD = b"caf\xe9"
ODD_TEXT = "caf\uefe9"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("files")) as made:
        yield made


@pytest.fixture
def file_portal(shared: FilePortal) -> FilePortal:
    """A portal with empty home directories, as if unused."""
    shared.empty()
    return shared


def confined(headers: dict[str, str]) -> bool:
    return (
        headers["X-Content-Type-Options"] == "nosniff"
        and headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        and headers["Content-Disposition"].startswith("attachment; ")
    )


async def test_places_with_what_is_free(file_portal: FilePortal) -> None:
    found = (await file_portal.ask("GET", "/roots")).body
    home, scratch = found["items"]
    assert (home["name"], home["path"], home["writable"]) == ("home", str(file_portal.home), True)
    assert 0 < home["free_bytes"] <= home["total_bytes"]
    assert home["quota"]["limit_bytes"] == 10
    assert scratch["path"] == str(file_portal.scratch)
    (of_bob,) = (await file_portal.ask("GET", "/roots", who="bob")).body["items"][1:]
    assert of_bob["problem"]
    assert of_bob["free_bytes"] is None
    space = (await file_portal.ask("GET", "/space")).body["items"]
    assert [place["name"] for place in space] == ["home", "scratch"]
    assert space[0]["quota"] == home["quota"]
    assert space[0]["total_bytes"] == home["total_bytes"]
    (also_bobs,) = (await file_portal.ask("GET", "/space", who="bob")).body["items"][1:]
    assert also_bobs["problem"] == of_bob["problem"]
    where = await file_portal.ask("GET", f"/where?path={file_portal.scratch}/a/b")
    assert where.body == {"root": "scratch", "path": "a/b"}
    assert (await file_portal.ask("GET", "/where?path=~/x")).body == {"root": "home", "path": "x"}
    assert (await file_portal.ask("GET", "/where?path=/etc")).status == 422


async def test_search_finds_files_by_name(file_portal: FilePortal) -> None:
    file_portal.write("runs/a/model <b>.pt")
    file_portal.write(f"runs/model {os.fsdecode(ODD)}")
    (file_portal.home / "runs/link").symlink_to("/")
    answer = (await file_portal.ask("GET", "/search?q=model&path=runs")).body
    assert answer == {
        "items": [
            {"root": "home", "path": f"runs/model {ODD_TEXT}", "kind": "file"},
            {"root": "home", "path": "runs/a/model <b>.pt", "kind": "file"},
        ],
        "stopped": None,
        "unreadable": 0,
    }
    assert (await file_portal.ask("GET", "/search?q=model", who="bob")).body["items"] == []


async def test_search_is_refused_with_a_reason(file_portal: FilePortal) -> None:
    file_portal.write("file")
    for query, status, slug in (
        ("q=a", 422, "invalid-input"),
        ("q=%20%20", 422, "invalid-input"),
        ("q=aa&root=nowhere", 422, "invalid-input"),
        ("q=aa&path=gone", 404, "file-not-there"),
        ("q=aa&path=file", 422, "not-a-folder"),
    ):
        answer = await file_portal.ask("GET", f"/search?{query}")
        assert (answer.status, answer.body["type"]) == (status, f"urn:portal:{slug}"), query


async def test_searches_of_a_user_wait_for_each_other(file_portal: FilePortal) -> None:
    finished = asyncio.Event()

    async def search() -> None:
        async with file_portal.files.searches.wait_turn("alice", "home"):
            await finished.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(SEARCHES_AT_ONCE):
            group.create_task(search())
        await asyncio.sleep(0)
        assert (await file_portal.ask("GET", "/search?q=aa")).status == 429
        assert (await file_portal.ask("GET", "/search?q=aa", who="bob")).status == 200
        finished.set()
    assert (await file_portal.ask("GET", "/search?q=aa")).status == 200


async def test_folders_are_looked_at_a_page_at_a_time(file_portal: FilePortal) -> None:
    for number in range(12):
        file_portal.write(f"d/run{number}")
    file_portal.write("d/x").rename(file_portal.home / "d" / os.fsdecode(ODD))
    seen, cursor = [], ""
    while cursor is not None:
        page = (
            await file_portal.ask(
                "GET", f"?path=d&limit=5&cursor={cursor}" if cursor else "?path=d&limit=5"
            )
        ).body
        assert (page["total"], page["complete"], page["real"]) == (13, True, None)
        seen += page["items"]
        cursor = page["next_cursor"]
    assert [entry["name"] for entry in seen[1:]] == [f"run{number}" for number in range(12)]
    assert (seen[0]["name"], seen[0]["name_is_text"]) == (ODD_TEXT, False)
    moved = {"root": "home", "path": seen[0]["path"], "to_path": "d/ok"}
    assert (await file_portal.ask("POST", "/move", moved)).status == 200
    assert (file_portal.home / "d/ok").exists()
    for wrong in ("cursor=x", "cursor=W10", "sort=owner", "limit=501"):
        assert (await file_portal.ask("GET", f"?path=d&{wrong}")).status == 422


async def test_links_lead_to_where_things_are(file_portal: FilePortal) -> None:
    file_portal.write("in", who="scratch-alice") if not AS_ROOT else (
        file_portal.scratch / "in"
    ).touch()
    (file_portal.home / "out").symlink_to(file_portal.scratch)
    page = (await file_portal.ask("GET", "?path=out")).body
    assert page["real"] == {"root": "scratch", "path": ""}
    answer = await file_portal.ask("POST", "/folders", {"root": "home", "path": "out/new"})
    assert (answer.status, answer.slug) == (409, "file-link")


MISSING = "%ef%be%80%ef"  # a valid name without a file


async def test_paths_that_lead_nowhere(file_portal: FilePortal) -> None:
    for path in ("..", "../bob", "/etc/passwd", "a/../../x", "x" * 300, "%00", MISSING):
        for route in ("", "/entry", "/preview", "/download", "/text", "/image", "/archive"):
            answer = await file_portal.ask("GET", f"{route}?root=home&path={path}")
            expected = 404 if path == MISSING else 422
            assert answer.status == expected, (path, route, answer)
    assert (await file_portal.ask("GET", "?root=nowhere")).status == 422


@needs_root("it acts as two users")
async def test_link_to_files_of_another_user_is_refused(file_portal: FilePortal) -> None:
    file_portal.write("secret", b"bob's", who="bob")
    (file_portal.home / "bobs").symlink_to(file_portal.homes / "bob")
    for path in ("", "/download", "/preview"):
        answer = await file_portal.ask("GET", f"{path}?root=home&path=bobs/secret")
        assert (answer.status, answer.slug) == (403, "file-denied")


async def test_downloads_are_attachments_and_go_on(file_portal: FilePortal) -> None:
    data = os.urandom(3 << 20)
    file_portal.write('<b>"x"\n.html', data)
    path = "/download?root=home&path=" + quote('<b>"x"\n.html')
    status, headers, got = await file_portal.raw("GET", path)
    assert (status, got) == (200, data)
    assert confined(dict(headers))
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == (
        "attachment; filename=\"<b>_x__.html\"; filename*=UTF-8''%3Cb%3E%22x%22%0A.html"
    )
    etag = headers["ETag"]
    status, headers, got = await file_portal.raw("GET", path, Range="bytes=1000000-", If_Range=etag)
    assert (status, got) == (206, data[1000000:])
    assert headers["Content-Range"] == f"bytes 1000000-{len(data) - 1}/{len(data)}"
    assert (await file_portal.raw("GET", path, Range="bytes=-10"))[2] == data[-10:]
    assert (await file_portal.raw("GET", path, Range="bytes=5-9"))[2] == data[5:10]
    assert (await file_portal.raw("GET", path, Range="bytes=5-9", If_Range='"other"'))[0] == 200
    assert (await file_portal.raw("GET", path, Range=f"bytes={len(data)}-"))[0] == 416
    assert (await file_portal.raw("GET", path, If_None_Match=etag))[0] == 304
    file_portal.write("empty", b"")
    assert (await file_portal.raw("GET", "/download?root=home&path=empty"))[::2] == (200, b"")


async def test_archives(file_portal: FilePortal) -> None:
    for name in ("d/a", "d/e/b", "c"):
        file_portal.write(name, name.encode())
    for query, names in (
        ("path=d", {"d/", "d/a", "d/e/", "d/e/b"}),
        ("path=d&name=a", {"a"}),
        ("name=c&name=d", {"c", "d/", "d/a", "d/e/", "d/e/b"}),
    ):
        status, headers, got = await file_portal.raw("GET", f"/archive?root=home&{query}")
        assert (status, confined(dict(headers))) == (200, True)
        with zipfile.ZipFile(io.BytesIO(got)) as archive:
            assert set(archive.namelist()) == names
    assert (await file_portal.raw("GET", "/archive?root=home&name=gone"))[0] == 404


async def test_only_so_many_streams_at_once(file_portal: FilePortal) -> None:
    file_portal.write("large", bytes(64 << 20))
    browser = file_portal.users["alice"]
    asked = ["/api/v1/files/download?root=home&path=large"] * 8
    held = await asyncio.gather(*(browser.http.get(url) for url in asked))
    assert sorted(answer.status for answer in held) == [200] * 6 + [429] * 2
    answer = await file_portal.ask("GET", "/download?root=home&path=large")
    assert (answer.status, answer.slug) == (429, "too-many-streams")
    assert (await file_portal.ask("GET", "?path=")).status == 200, "looking on goes on beside them"
    for one in held:
        one.close()
    file_portal.write("small")
    await until(
        lambda: file_portal.raw("GET", "/download?root=home&path=small"),
        "a download is accepted again",
        done=lambda answer: answer[0] != 429,
    )


async def test_previews_are_data(file_portal: FilePortal) -> None:
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
        file_portal.write(name, data)
        found = (await file_portal.ask("GET", f"/preview?root=home&path={name}")).body
        assert found["kind"] == kind, (name, found)
    table = (await file_portal.ask("GET", "/preview?root=home&path=t.csv")).body["table"]
    assert (table["columns"], table["rows"]) == (["name", "n"], [["a;b", "1"], ["c", "2"]])
    status, headers, got = await file_portal.raw("GET", "/image?root=home&path=photo.txt")
    assert (status, got, headers["Content-Type"]) == (200, PNG, "image/png")
    assert confined(dict(headers))
    for name in ("image.svg", "page.html"):
        assert (await file_portal.ask("GET", f"/image?root=home&path={name}")).slug == "not-a-file"


async def test_streams_of_all_places_count_together(file_portal: FilePortal) -> None:
    """Six downloads from one root leave none for another root; other users have their own limit."""
    size = 64 << 20
    for folder in (file_portal.home, file_portal.scratch):
        with (folder / "large").open("wb") as file:
            file.truncate(size)
    file_portal.write("small", who="bob")
    async with contextlib.AsyncExitStack() as stack:
        http = file_portal.users["alice"].http
        path = "/api/v1/files/download?path=large&root="
        roots = ["home"] * 4 + ["scratch"] * 4
        held = [await stack.enter_async_context(http.get(path + root)) for root in roots]
        assert [answer.status for answer in held] == [200] * 6 + [429] * 2
        status, _, _ = await file_portal.raw("GET", "/download?root=home&path=small", who="bob")
        assert status == 200


async def test_notebooks_are_shown_without_html(file_portal: FilePortal) -> None:
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
    file_portal.write("n.ipynb", json.dumps({"cells": cells, "metadata": 5}).encode())
    found = (await file_portal.ask("GET", "/preview?root=home&path=n.ipynb")).body
    assert found["kind"] == "notebook"
    text, code = found["notebook"]["cells"]
    assert (text["kind"], text["source"]) == ("markdown", "# <img src=x onerror=y>")
    assert [(o["kind"], o["text"]) for o in code["outputs"]] == [
        ("text", "a\nb"), ("image", None), ("text", "plain"), ("error", "Boom")
    ]  # fmt: skip
    assert "html" not in json.dumps(found)


async def test_text_is_saved_only_over_what_was_read(file_portal: FilePortal) -> None:
    file = file_portal.write("a.txt", "\ufeffhällo".encode())
    found = (await file_portal.ask("GET", "/text?root=home&path=a.txt")).body
    assert (found["text"], found["encoding"]) == ("hällo", "utf-8-sig")
    body = {"root": "home", "path": "a.txt", "text": "new ✓", "encoding": "utf-8-sig"}
    saved = await file_portal.ask("PUT", "/text", {**body, "version": found["version"]})
    assert (saved.status, file.read_bytes()) == (200, "\ufeffnew ✓".encode())
    again = await file_portal.ask("PUT", "/text", {**body, "version": found["version"]})
    assert (again.status, again.slug) == (409, "file-changed")
    assert again.body["version"] == saved.body["version"]
    assert (await file_portal.ask("PUT", "/text", body)).slug == "file-exists"
    wrong = await file_portal.ask("PUT", "/text", {**body, "path": "b", "encoding": "latin-1"})
    assert wrong.body["errors"][0]["field"] == "text"
    made = await file_portal.ask("PUT", "/text", {**body, "path": "-rf <b>"})
    assert (made.status, made.body["path"]) == (200, "-rf <b>")


async def test_deleted_and_brought_back(file_portal: FilePortal) -> None:
    file_portal.write("d/a", b"1")
    body = {"root": "home", "paths": ["d", "gone"]}
    done, missing = (await file_portal.ask("POST", "/delete", body)).body["items"]
    assert done["trash_id"]
    assert missing["error"]["type"] == "urn:portal:file-not-there"
    (item,) = (await file_portal.ask("GET", "/trash")).body["items"]
    assert (item["id"], item["path"]) == (done["trash_id"], "d")
    back = {"root": "home", "ids": [item["id"]]}
    (restored,) = (await file_portal.ask("POST", "/trash/restore", back)).body["items"]
    assert (restored["name"], restored["error"]) == ("d", None)
    assert (file_portal.home / "d/a").read_bytes() == b"1"
    await file_portal.ask("POST", "/delete", body)
    assert (await file_portal.ask("POST", "/trash/empty", {"root": "home"})).body == {"done": True}
    assert (await file_portal.ask("GET", "/trash")).body["items"] == []
    file_portal.write("e")
    gone = {"root": "home", "paths": ["e"], "permanent": True}
    assert (await file_portal.ask("POST", "/delete", gone)).body["items"][0]["error"] is None
    async with file_portal.portal.context.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "file.delete")
        events = (await db.scalars(query)).all()
    deleted = [event.target for event in events if event.target in {"home:d", "home:e"}]
    assert deleted == ["home:d", "home:d", "home:e"]


async def test_an_upload_goes_on_after_a_restart(
    file_portal: FilePortal, slapd: Slapd, tmp_path: Path
) -> None:
    data = os.urandom(20 << 20)
    body = {"root": "home", "path": "new folder/data.bin", "size_bytes": len(data)}
    assert (await file_portal.ask("POST", "/uploads", body)).slug == "file-not-there"
    await file_portal.ask("POST", "/folders", {"root": "home", "path": "new folder"})
    begun = (await file_portal.ask("POST", "/uploads", body)).body
    chunk, upload = begun["chunk_bytes"], f"/uploads/{begun['id']}"
    status, _, got = await file_portal.raw("PUT", f"{upload}?offset=0", data[:chunk])
    assert (status, json.loads(got)) == (200, {"offset": chunk})
    refused = json.loads((await file_portal.raw("PUT", f"{upload}?offset=0", b"x"))[2])
    assert (refused["type"], refused["offset"]) == ("urn:portal:wrong-offset", chunk)
    too_much = await file_portal.raw("PUT", f"{upload}?offset={chunk}", bytes(chunk + 1))
    assert too_much[0] == 413
    settings = file_portal.portal.settings
    other = tmp_path / "other"
    other.mkdir()
    async with serve_files(
        slapd, other, settings.sudo_path, settings.launcher_path, file_portal.homes
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
    assert (file_portal.home / "new folder/data.bin").read_bytes() == data
    answer = await file_portal.ask("POST", "/uploads", body)
    assert (answer.slug, answer.body["replaceable"]) == ("file-exists", True)


async def test_uploads_that_can_not_be(file_portal: FilePortal) -> None:
    body = {"root": "home", "path": "a", "size_bytes": 1 << 49}
    answer = await file_portal.ask("POST", "/uploads", body)
    assert (answer.status, answer.slug) == (507, "no-space")
    begun = (await file_portal.ask("POST", "/uploads", {**body, "size_bytes": 3})).body
    upload = f"/uploads/{begun['id']}"
    file_portal.files.writing.add(("alice", begun["id"]))
    status, _, got = await file_portal.raw("PUT", f"{upload}?offset=0", b"abc")
    assert (status, json.loads(got)["type"]) == (409, "urn:portal:file-busy")
    file_portal.files.writing.clear()
    assert (await file_portal.raw("PUT", f"{upload}?offset=0", b"abcd"))[0] == 413
    assert (await file_portal.ask("GET", upload, who="bob")).status == 404 or not AS_ROOT
    assert (await file_portal.raw("DELETE", upload))[0] == 204
    for data in (b"abc", b""):
        assert (await file_portal.raw("PUT", f"{upload}?offset=0", data))[0] == 404
    assert (await file_portal.ask("GET", "/uploads/no-id")).status == 404
    assert (await file_portal.ask("GET", "/uploads")).body["items"] == []


async def test_a_login_that_ends_ends_its_download(
    file_portal: FilePortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_answer, "RECHECK_S", 0.0)
    file_portal.write("large", bytes(64 << 20))
    async with file_portal.portal.browser() as browser:
        await browser.login("alice")
        answer = await browser.http.get("/api/v1/files/download?root=home&path=large")
        await answer.content.readexactly(1 << 20)
        assert (await browser.post("/api/v1/logout")).status == 204
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_place_that_hangs_holds_up_no_other(file_portal: FilePortal) -> None:
    assert (await file_portal.ask("GET", "?root=scratch")).status == 200
    launcher = file_portal.files.pool("scratch")._channels["alice"]._process.pid
    os.kill(launcher, signal.SIGSTOP)
    try:
        waiting = asyncio.create_task(file_portal.ask("GET", "?root=scratch"))
        assert (await file_portal.ask("GET", "?root=home")).status == 200
        assert (await file_portal.ask("GET", "/uploads")).status == 200
        assert not waiting.done()
    finally:
        os.kill(launcher, signal.SIGCONT)
    assert (await waiting).status == 200


async def test_tidying_up_keeps_what_is_young(file_portal: FilePortal) -> None:
    for name in ("old", "young"):
        file_portal.write(name)
        body = {"root": "home", "paths": [name]}
        (item,) = (await file_portal.ask("POST", "/delete", body)).body["items"]
        if name == "old":
            os.utime(file_portal.home / ".portal-trash" / item["trash_id"], (1, 1))
    await file_portal.ask("GET", "/roots")
    await asyncio.gather(*file_portal.files.tasks)
    assert [item["path"] for item in (await file_portal.ask("GET", "/trash")).body["items"]] == [
        "young"
    ]
    assert file_portal.files.tidied.keys() == {"alice"}, "once an hour"
