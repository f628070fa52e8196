"""A portal whose users have real files.

sudo is replaced by a program that switches to an unused uid, with a home directory for each user,
and runs the launcher and the files program as installed.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spawner.launcher.installed import FILES_PROGRAM, files_program, launcher_program
from tests.portal.conftest import Answer, Browser, Portal, running_portal, settings_in
from tests.servers.slapd import Slapd

AS_ROOT = os.getuid() == 0
UIDS = {"alice": 65501, "bob": 65502} if AS_ROOT else {"alice": os.getuid(), "bob": os.getuid()}
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable

SUDO = """#!{python} -IS
import importlib.util, os, sys
name = sys.argv[sys.argv.index("-u") + 1]
uid = {uids}[name]
if os.getuid() == 0:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
spec = importlib.util.spec_from_file_location("launcher", {launcher!r})
launcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launcher)
launcher.only_root_can_write = lambda state: True
launcher.read_conf = lambda path: launcher.Conf(1, "/nowhere", "", 0o022)
home = {homes!r} + "/" + name
launcher.who_am_i = lambda least: launcher.User(name, uid, uid, home, "/bin/sh")
launcher.main()
"""


@dataclass(frozen=True)
class FilePortal:
    """Alice and Bob are logged in; `homes` are theirs, `scratch` is a second root of alice's."""

    portal: Portal
    users: Mapping[str, Browser]
    homes: Path

    @property
    def home(self) -> Path:
        return self.homes / "alice"

    @property
    def scratch(self) -> Path:
        return self.homes / "scratch-alice"

    @property
    def files(self) -> Any:
        return self.portal.context.files

    async def ask(self, method: str, path: str, body: Any = None, who: str = "alice") -> Answer:
        return await self.users[who].send(method, f"/api/v1/files{path}", json=body)

    async def raw(
        self, method: str, path: str, data: bytes = b"", who: str = "alice", **headers: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body."""
        browser = self.users[who]
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with browser.http.request(
            method,
            f"/api/v1/files{path}",
            data=io.BytesIO(data) if data else None,
            headers={"Origin": browser.origin, **sent},
        ) as answer:
            return answer.status, answer.headers.copy(), await answer.read()

    def empty(self) -> None:
        """Delete all users' files, and the portal's cached state of them."""
        for home in self.homes.iterdir():
            for path in home.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        self.files.tidied.clear()

    def write(self, path: str, data: bytes = b"x", who: str = "alice") -> Path:
        """Create a file of a user."""
        file = self.homes / who / path
        for folder in reversed(file.relative_to(self.homes).parents):
            (self.homes / folder).mkdir(exist_ok=True)
            if folder != Path():
                os.chown(self.homes / folder, UIDS[who], UIDS[who])
        file.write_bytes(data)
        os.chown(file, UIDS[who], UIDS[who])
        return file


@asynccontextmanager
async def run_file_portal(slapd: Slapd, folder: Path) -> AsyncIterator[FilePortal]:
    root = Path(tempfile.mkdtemp(prefix="files-"))
    try:
        async with serve_files(slapd, folder, *ground(root)) as file_portal:
            yield file_portal
    finally:
        shutil.rmtree(root)


def ground(root: Path) -> tuple[Path, Path, Path]:
    """Create the fake sudo, the launcher, and the users' home directories."""
    root.chmod(0o755)
    homes = root / "homes"
    homes.mkdir()
    for name in (*UIDS, "scratch-alice"):
        (homes / name).mkdir(mode=0o700)
        uid = UIDS[name.removeprefix("scratch-")]
        os.chown(homes / name, uid, uid)
    launcher, sudo = root / "launcher.py", root / "sudo"
    launcher.write_bytes(launcher_program())
    launcher.with_name(FILES_PROGRAM).write_bytes(files_program())
    sudo.write_text(SUDO.format(python=PYTHON, uids=UIDS, launcher=str(launcher), homes=str(homes)))
    sudo.chmod(0o755)
    return sudo, launcher, homes


@asynccontextmanager
async def serve_files(
    slapd: Slapd, folder: Path, sudo: Path, launcher: Path, homes: Path
) -> AsyncIterator[FilePortal]:
    """Run a portal on existing files; after another one, this is a restart."""
    roots = [
        {"name": "home", "title": "Home", "path": "~"},
        {"name": "scratch", "title": "Scratch", "path": f"{homes}/scratch-{{username}}"},
    ]
    settings = settings_in(
        folder, slapd, sudo_path=sudo, launcher_path=launcher, file_roots=roots,
        file_quota_command=["/bin/echo", '{"used_bytes": 5, "limit_bytes": 10}'],
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        portal = await stack.enter_async_context(running_portal(settings))
        users = {}
        for name in UIDS:
            users[name] = await stack.enter_async_context(portal.browser())
            assert (await users[name].login(name)).status == 200
        yield FilePortal(portal, users, homes)
