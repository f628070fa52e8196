"""The files program, as the launcher becomes it, and a home directory to work in."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.spawner.launcher.launcher_home import AS_ROOT, GID, UID, Place, Process

ODD = os.fsdecode(b"caf\xe9\xff")
LISTING: dict[str, Any] = {
    "sort": "name", "descending": False, "folders_first": True, "hidden": False, "filter": "",
    "prefix": False, "limit": 100,
}  # fmt: skip


class Problem(Exception):
    """An error response of the files program."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.type, self.message = error["type"], error["message"]
        self.more = error.get("more", {})
        self.code = self.more.get("code")


class Filer(Place):
    """A home directory and its user's files program."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.start()

    def start(self) -> None:
        self.process = Process(self)
        assert self.process.ask("files")["ok"]

    def close(self) -> None:
        self.process.close()

    def restart(self) -> None:
        self.process.close()
        self.start()

    def ask(self, op: str, path: str = "", **fields: Any) -> Any:
        whole = {"root": str(self.home), "path": path, "timeout_s": 30, **fields}
        answer = self.process.ask(op, **whole)
        if not answer["ok"]:
            raise Problem(answer["error"])
        return answer["result"]

    def names(self, path: str = "", **body: Any) -> list[str]:
        found = self.ask("list_folder", path, **{**LISTING, **body})
        return [entry["name"] for entry in found["entries"]]

    def write(self, path: str, data: bytes = b"x") -> Path:
        """Create a file that belongs to the user."""
        file = self.folder(str(Path(path).parent)) / Path(path).name
        file.write_bytes(data)
        os.chown(file, UID, GID)
        return file

    def folder(self, path: str) -> Path:
        found = self.home
        for name in Path(path).parts:
            found /= name
            found.mkdir(exist_ok=True)
            os.chown(found, UID, GID)
        return found

    def link(self, path: str, target: str) -> Path:
        link = self.home / path
        link.symlink_to(target)
        os.chown(link, UID, GID, follow_symlinks=False)
        return link

    def stream(self, op: str, path: str = "", **fields: Any) -> tuple[bytes, Any]:
        """Return the data that follows a response, and its last line."""
        self.ask(op, path, **fields)
        data = b""
        while length := int.from_bytes(self.exactly(4), "big"):
            data += self.exactly(length)
        return data, self.process.receive()

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.process.stdout.read(count - len(data))
            assert piece, "it ended too early"
            data += piece
        return data


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def deepen(home: Path, levels: int) -> None:
    """Create nested folders, deeper than a path can be long."""
    script = (
        "import os\n"
        f"for _ in range({levels}): os.mkdir('d'); os.chdir('d')\n"
        "open('bottom', 'w').close()"
    )
    become = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups"]
    python = ["/usr/bin/python3", "-c", script]
    subprocess.run([*(become if AS_ROOT else []), *python], cwd=home, check=True)


def refused(filer: Filer, op: str, path: str = "", **fields: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        filer.ask(op, path, **fields)
    return caught.value
