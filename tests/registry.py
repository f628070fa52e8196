"""A real registry (Debian's docker-registry) on a free port, with tiny images.

Images are created and pushed here, by the registry's HTTP interface: nothing is downloaded.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.polling import wait_until
from tests.servers.slapd import free_port

PROGRAM = "docker-registry"
BUSYBOX = Path("/bin/busybox")
START_S = 30.0
USER, PASSWORD = "puller", "let-me-pull"
# bcrypt of PASSWORD, the only kind of hash that the registry supports
HTPASSWD = f"{USER}:$2b$04$.gE5C4EBUALVcViyaWl.reBptmlVW1ALORYvl9o6DF6OGTTcEl8Hi\n"

CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
WHO = "a small image\n"
CHART = "application/vnd.cncf.helm.config.v1+json"
CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
SIF_CONFIG = "application/vnd.sylabs.sif.config.v1+json"
SIF = "application/vnd.sylabs.sif.layer.v1.sif"


@dataclass(frozen=True)
class Registry:
    """A registry on 127.0.0.1 that speaks plain HTTP."""

    port: int
    private: bool

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def request(
        self, method: str, path: str, data: bytes | None = None, kind: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """Send one request as the authorized account; return (lowercase headers, body)."""
        url = path if path.startswith("http") else f"http://{self.host}{path}"
        headers = {"Content-Type": kind} if kind else {}
        if self.private:
            known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            headers["Authorization"] = f"Basic {known}"
        asked = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
            return {k.lower(): v for k, v in answer.headers.items()}, answer.read()

    def blob(self, repository: str, content: bytes) -> dict[str, Any]:
        """Push a blob; return its digest and size, as in a manifest."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        headers, _ = self.request("POST", f"/v2/{repository}/blobs/uploads/", b"")
        place = headers["location"]
        joint = "&" if "?" in place else "?"
        self.request("PUT", f"{place}{joint}digest={digest}", content, "application/octet-stream")
        return {"digest": digest, "size": len(content)}

    def manifest(self, repository: str, tag: str, manifest: dict[str, Any]) -> dict[str, Any]:
        """Push a manifest; return its digest and size."""
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
    ) -> dict[str, Any]:
        """Push a small image that has a shell; return its manifest's digest and size.

        `ballast_bytes` of incompressible noise are a layer of their own.
        """
        plain = [_layer({"bin/busybox": BUSYBOX.read_bytes(), "etc/who": WHO.encode()})]
        if ballast_bytes:
            plain.append(_layer({"ballast": os.urandom(ballast_bytes)}))
        diffs = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in plain]
        config = {
            "architecture": architecture,
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]},
            "rootfs": {"type": "layers", "diff_ids": diffs},
        }
        packed = [gzip.compress(layer, 1, mtime=0) for layer in plain]
        return self.artifact(repository, tag, CONFIG, LAYER, json.dumps(config).encode(), packed)

    def push_index(self, repository: str, architectures: list[str]) -> None:
        """Push one image for each architecture, and an index over them as `latest`."""
        made = [
            {**self.push(repository, name, architecture=name), "platform": _platform(name)}
            for name in architectures
        ]
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": made}
        self.manifest(repository, "latest", index)

    def push_file(self, repository: str, content: bytes) -> None:
        """Push a file that is itself an image, as for oras://."""
        self.artifact(repository, "latest", SIF_CONFIG, SIF, b"{}", [content])

    def push_chart(self, repository: str) -> None:
        """Push an artifact from which no container can be created."""
        self.artifact(repository, "latest", CHART, CHART_LAYER, b"{}", [b"no image at all"])

    def artifact(
        self, repository: str, tag: str, config_kind: str, kind: str, config: bytes,
        layers: list[bytes],
    ) -> dict[str, Any]:  # fmt: skip
        """Push an arbitrary artifact: a configuration and layers of these media types."""
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": config_kind, **self.blob(repository, config)},
            "layers": [
                {
                    "mediaType": kind,
                    **self.blob(repository, layer),
                    "annotations": {"org.opencontainers.image.title": "image.sif"},
                }
                for layer in layers
            ],
        }
        return self.manifest(repository, tag, manifest)


def _platform(architecture: str) -> dict[str, str]:
    return {"architecture": architecture, "os": "linux"}


def _layer(files: dict[str, bytes]) -> bytes:
    """Return a tar of these files; busybox brings a shell and the commands that tests use."""
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
    """Run a registry with its data in `folder`; a private one requires USER and PASSWORD."""
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
    def answers() -> bool:
        with suppress(urllib.error.URLError, ConnectionError):
            registry.request("GET", "/v2/")
            return True
        assert process.poll() is None, f"the registry ended: {log.read_text()[-1000:]}"
        return False

    wait_until(answers, "the registry answers", START_S)


class Relay:
    """A slow path to a registry: `budget_bytes` of responses pass, the rest waits for `release`.

    It simulates a slow registry without timing: a test decides when it continues.
    """

    def __init__(self, target: int, port: int = 0, budget_bytes: int | None = None) -> None:
        self._target = target
        self._left = budget_bytes
        self._state = threading.Condition()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Relay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        for open_socket in (self._listener, *self._sockets):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            open_socket.close()

    def hold_after(self, budget_bytes: int) -> None:
        with self._state:
            self._left = budget_bytes

    def release(self) -> None:
        """Let everything pass from now on."""
        with self._state:
            self._left = None
            self._state.notify_all()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                for pump in (
                    threading.Thread(target=self._pump, args=(client, server, False), daemon=True),
                    threading.Thread(target=self._pump, args=(server, client, True), daemon=True),
                ):
                    pump.start()

    def _pump(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while piece := source.recv(16384):
                if counted:
                    self._wait_for_turn(len(piece))
                sink.sendall(piece)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _wait_for_turn(self, size: int) -> None:
        with self._state:
            self._state.wait_for(lambda: self._left is None or self._left >= size)
            if self._left is not None:
                self._left -= size
