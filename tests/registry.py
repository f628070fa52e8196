"""A real registry (Debian's docker-registry) on a free port, and tiny images in it.

Images are made and pushed here, by the registry's own HTTP interface: nothing comes from outside.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.portal.slapd import free_port

PROGRAM = "docker-registry"
BUSYBOX = Path("/bin/busybox")
START_S = 30.0
USER, PASSWORD = "puller", "let-me-pull"
# bcrypt of PASSWORD, the only kind of hash that the registry takes
HTPASSWD = f"{USER}:$2b$04$.gE5C4EBUALVcViyaWl.reBptmlVW1ALORYvl9o6DF6OGTTcEl8Hi\n"

CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class Registry:
    """One that listens on 127.0.0.1 and speaks plain HTTP."""

    port: int
    private: bool

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def request(
        self, method: str, path: str, data: bytes | None = None, kind: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """One request as the account that may; (headers in lower case, body)."""
        url = path if path.startswith("http") else f"http://{self.host}{path}"
        headers = {"Content-Type": kind} if kind else {}
        if self.private:
            known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            headers["Authorization"] = f"Basic {known}"
        asked = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
            return {k.lower(): v for k, v in answer.headers.items()}, answer.read()

    def blob(self, repository: str, content: bytes) -> dict[str, Any]:
        """Push a blob; its digest and size, as a manifest says them."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        headers, _ = self.request("POST", f"/v2/{repository}/blobs/uploads/", b"")
        place = headers["location"]
        joint = "&" if "?" in place else "?"
        self.request("PUT", f"{place}{joint}digest={digest}", content, "application/octet-stream")
        return {"digest": digest, "size": len(content)}

    def manifest(self, repository: str, tag: str, manifest: dict[str, Any]) -> dict[str, Any]:
        """Push a manifest; its digest and size."""
        content = json.dumps(manifest).encode()
        kind = str(manifest["mediaType"])
        self.request("PUT", f"/v2/{repository}/manifests/{tag}", content, kind)
        return {
            "mediaType": kind,
            "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "size": len(content),
        }

    def push(
        self,
        repository: str,
        tag: str = "latest",
        *,
        architecture: str = "amd64",
        ballast_bytes: int = 0,
        entry: str = "",
    ) -> str:
        """Push a small image that has a shell; → its manifest's digest.

        `ballast_bytes` of noise, which no compression makes smaller, are a layer of their own.
        `entry` adds a file of that name at the root, for what an image must not hold.
        """
        layers = [_layer(_shell(entry))]
        if ballast_bytes:
            layers.append(_layer({"ballast": os.urandom(ballast_bytes)}))
        diffs = [f"sha256:{hashlib.sha256(plain).hexdigest()}" for plain in layers]
        config = {
            "architecture": architecture,
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]},
            "rootfs": {"type": "layers", "diff_ids": diffs},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": CONFIG,
                **self.blob(repository, json.dumps(config).encode()),
            },
            "layers": [
                {"mediaType": LAYER, **self.blob(repository, gzip.compress(plain, 1, mtime=0))}
                for plain in layers
            ],
        }
        return str(self.manifest(repository, tag, manifest)["digest"])


def _shell(entry: str) -> dict[str, bytes]:
    found = {"bin/busybox": BUSYBOX.read_bytes(), "etc/who": b"a small image\n"}
    return {**found, entry: b"x"} if entry else found


def _layer(files: dict[str, bytes]) -> bytes:
    """A tar of these files; where busybox is among them, with a shell and what tests call."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o755
            tar.addfile(info, io.BytesIO(text))
        if "bin/busybox" in files:
            for applet in ("sh", "cat", "true"):
                info = tarfile.TarInfo(f"bin/{applet}")
                info.type, info.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(info)
    return content.getvalue()


@contextmanager
def running(folder: Path, *, private: bool = False) -> Iterator[Registry]:
    """A registry that keeps what it has in `folder`; a private one wants USER and PASSWORD."""
    assert shutil.which(PROGRAM), "Debian's docker-registry is missing: `make prepare-tests`"
    port = free_port()
    config: dict[str, Any] = {
        "version": 0.1,
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "blobs")}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    if private:
        (folder / "htpasswd").write_text(HTPASSWD)
        config["auth"] = {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}}
    (folder / "config.yml").write_text(json.dumps(config))
    with (folder / "log").open("wb") as log:
        argv = [PROGRAM, "serve", str(folder / "config.yml")]
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        found = Registry(port, private)
        try:
            _wait_until_up(found, process, folder / "log")
            yield found
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_until_up(registry: Registry, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        with suppress(urllib.error.URLError, ConnectionError):
            registry.request("GET", "/v2/")
            return
        assert process.poll() is None, f"the registry ended: {log.read_text()[-1000:]}"
        assert time.monotonic() < deadline, "the registry does not answer"
        time.sleep(0.02)
