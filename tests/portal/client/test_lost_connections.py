"""Transfers and logs over connections that are cut in the middle, as by a laptop that sleeps."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.portal.client.program import ClientProgram, create_token
from tests.portal.file_portal import FilePortal, run_file_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
MEBIBYTE = 1024 * 1024
BLOCK = 65536


@dataclass
class CuttingProxy:
    """Forwards connections to a port, and cuts the ones in `cuts` after so many bytes."""

    port: int
    cuts: list[int]
    used: list[int] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = [self.cuts.pop(0) if self.cuts else 1 << 40]
        self.used.append(left[0])
        there, to_there = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            await asyncio.gather(
                self._copy(reader, to_there, left), self._copy(there, writer, left)
            )
        except ConnectionError:
            pass  # cut, by us or by the client
        finally:
            for each in (writer, to_there):
                each.close()

    async def _copy(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, left: list[int]
    ) -> None:
        while block := await source.read(BLOCK):
            left[0] -= len(block)
            if left[0] < 0:
                raise ConnectionResetError
            target.write(block)
            await target.drain()
        with contextlib.suppress(OSError):
            target.write_eof()


@asynccontextmanager
async def cutting(url: str, *cuts: int) -> AsyncIterator[tuple[str, CuttingProxy]]:
    """Run a proxy in front of a portal; yield its address."""
    port = urlsplit(url).port
    assert port is not None
    proxy = CuttingProxy(port, list(cuts))
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", proxy
    finally:
        server.close()


@pytest.fixture(scope="module")
async def files(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("cut")) as made:
        await made.users["alice"].confirm()
        token = await create_token(made.users["alice"])
        made.portal.app.state.client_token = token["token"]
        yield made


async def test_an_upload_continues_after_each_cut(files: FilePortal, tmp_path: Path) -> None:
    content = os.urandom(12 * MEBIBYTE)
    (tmp_path / "up.bin").write_bytes(content)
    async with cutting(files.portal.url, 3 * MEBIBYTE, 2 * MEBIBYTE) as (url, proxy):
        program = ClientProgram(url, tmp_path)
        program.save_token(files.portal.app.state.client_token)
        done = await program.run("cp", "up.bin", ":")
    assert done.code == 0, done
    assert "Retrying" in done.err
    assert proxy.used[:2] == [3 * MEBIBYTE, 2 * MEBIBYTE]
    assert (files.home / "up.bin").read_bytes() == content


async def test_a_download_continues_after_each_cut(files: FilePortal, tmp_path: Path) -> None:
    content = os.urandom(8 * MEBIBYTE)
    files.write("down.bin", content)
    async with cutting(files.portal.url, 3 * MEBIBYTE, 2 * MEBIBYTE) as (url, proxy):
        program = ClientProgram(url, tmp_path)
        program.save_token(files.portal.app.state.client_token)
        done = await program.run("cp", ":down.bin", ".")
    assert done.code == 0, done
    assert "Retrying" in done.err
    assert proxy.cuts == []
    assert (tmp_path / "down.bin").read_bytes() == content


async def test_a_portal_that_stays_away_ends_the_copy(files: FilePortal, tmp_path: Path) -> None:
    files.write("away.bin", b"x" * MEBIBYTE)
    async with cutting(files.portal.url, *[200] * 100) as (url, _):
        program = ClientProgram(url, tmp_path)
        program.save_token(files.portal.app.state.client_token)
        done = await program.run("cp", ":away.bin", ".", "--json")
    assert (done.code, done.problem["error"]) == (6, "unreachable")
    assert not (tmp_path / "away.bin").exists()
