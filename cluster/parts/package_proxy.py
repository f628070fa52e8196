"""A package index for the nodes, which have no other: it forwards pip's requests.

    python3 -m cluster.parts.package_proxy SOCKET

SOCKET is the file descriptor of an inherited listening socket. Requests go to the indexes that this
machine's own pip is configured with, or to PyPI. Their addresses and passwords stay here: the pages
served identify files by hash, and only files that such a page has listed are fetched. The program
reads pip's settings as root, then switches to the account nobody; it never writes them anywhere.
Standard library only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

WHEELS = Path("/usr/share/python-wheels")
JSON = "application/vnd.pypi.simple.v1+json"
TIMEOUT_S = 60.0
MAX_FILES = 200_000
_NAME = re.compile(r"/simple/([a-z0-9]+(?:-[a-z0-9]+)*)/?")
_FILE = re.compile(r"/files/([0-9a-f]{40})/([A-Za-z0-9_.+!-]+)")


@dataclass(frozen=True)
class ProjectFile:
    """A file of a project; pip chooses by its `attributes`."""

    url: str
    hash: str
    attributes: Mapping[str, str]

    @property
    def name(self) -> str:
        return unquote(urlsplit(self.url).path.rsplit("/", 1)[-1])

    @property
    def number(self) -> str:
        return hashlib.sha256(self.url.encode()).hexdigest()[:40]


class _Page(HTMLParser):
    """The links of a project's page (PEP 503)."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.anchors.append({name: value or "" for name, value in attrs})


def links_of(text: str, content_type: str, base: str) -> Iterator[ProjectFile]:
    """Read a project's page, as HTML (PEP 503) or JSON (PEP 691). Raises ValueError."""
    if content_type.startswith(JSON):
        for file in json.loads(text)["files"]:
            attributes = {}
            if file.get("requires-python"):
                attributes["data-requires-python"] = str(file["requires-python"])
            if file.get("yanked"):
                attributes["data-yanked"] = str(file["yanked"])
            sums = file.get("hashes", {})
            checksum = f"sha256={sums['sha256']}" if "sha256" in sums else ""
            yield ProjectFile(urljoin(base, file["url"]), checksum, attributes)
        return
    page = _Page()
    page.feed(text)
    for anchor in page.anchors:
        url, fragment = urldefrag(urljoin(base, anchor.get("href", "")))
        passed_on = ("data-requires-python", "data-yanked")
        yield ProjectFile(
            url, fragment, {name: anchor[name] for name in passed_on if name in anchor}
        )


class Upstream:
    """The indexes of this machine's pip, and the files that their pages have listed."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        extra = settings.get("PIP_EXTRA_INDEX_URL", "").split()
        urls = [settings.get("PIP_INDEX_URL") or default_index(), *extra]
        self._indexes = [_strip_password(url.rstrip("/") + "/") for url in urls]
        self._passwords = {
            urlsplit(url).hostname: password for url in urls if (password := _encode_password(url))
        }
        certificates = settings.get("PIP_CERT") or settings.get("SSL_CERT_FILE")
        context = ssl.create_default_context(cafile=certificates)
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.FileHandler()
        )
        self._files: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def project(self, name: str) -> list[ProjectFile]:
        """Return a project's files in all indexes, which may be none.

        Raises OSError where an index does not answer, ValueError where its answer cannot be parsed.
        """
        files = [link for index in self._indexes for link in self._fetch_project(index, name)]
        with self._lock:
            for link in files:
                self._files[link.number] = link.url
                self._files.move_to_end(link.number)
            while len(self._files) > MAX_FILES:
                self._files.popitem(last=False)
        return files

    def file(self, number: str) -> Any:
        """Open a file that a page has listed. Raises KeyError or OSError."""
        with self._lock:
            url = self._files[number]
        return self._open(url)

    def _fetch_project(self, index: str, name: str) -> list[ProjectFile]:
        page = f"{index}{name}/"
        if index.startswith("file:"):
            file = Path(unquote(urlsplit(page).path), "index.html")
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
            return list(links_of(text, "text/html", page))
        try:
            with self._open(page) as response:
                kind = response.headers.get("Content-Type", "")
                return list(links_of(response.read().decode(), kind, response.url))
        except HTTPError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return []
            raise

    def _open(self, url: str) -> Any:
        request = urllib.request.Request(url)  # noqa: S310  an index's URL, or one that it listed
        if password := self._passwords.get(urlsplit(url).hostname):
            request.add_unredirected_header("Authorization", f"Basic {password}")
        request.add_header("Accept", f"{JSON}, text/html;q=0.5, */*;q=0.1")
        return self._opener.open(request, timeout=TIMEOUT_S)


def _encode_password(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return base64.b64encode(pair.encode()).decode()


def _strip_password(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def page_of(name: str, links: list[ProjectFile]) -> str:
    """Render a project's page (PEP 503) with links to this server."""
    lines = []
    for link in links:
        attributes = {"href": f"/files/{link.number}/{link.name}", **link.attributes}
        if link.hash:
            attributes["href"] += f"#{link.hash}"
        attribute_text = " ".join(
            f'{key}="{html.escape(text)}"' for key, text in attributes.items()
        )
        lines.append(f"<a {attribute_text}>{html.escape(link.name)}</a><br>")
    body = "\n".join(lines)
    return (
        f"<!DOCTYPE html><html><head><title>{name}</title></head><body>\n{body}\n</body></html>\n"
    )


class Handler(BaseHTTPRequestHandler):
    """HTTP request handler for pip."""

    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT_S
    server: ProxyServer

    def do_GET(self) -> None:
        """Serve a project's page, or a file."""
        try:
            if match := _NAME.fullmatch(self.path):
                self._send_page(match[1])
            elif match := _FILE.fullmatch(self.path):
                self._send_file(match[1])
            else:
                self.send_error(HTTPStatus.NOT_FOUND)
        except (KeyError, FileNotFoundError):
            self.send_error(HTTPStatus.NOT_FOUND)
        except (HTTPError, URLError, TimeoutError, ssl.SSLError, ValueError):
            # the library's message may contain an index's address
            self.send_error(HTTPStatus.BAD_GATEWAY, "The package index does not answer")

    def _send_page(self, name: str) -> None:
        links = self.server.upstream.project(name)
        if not links:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        body = page_of(name, links).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_file(self, number: str) -> None:
        with self.server.upstream.file(number) as response:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/octet-stream")
            if size := response.headers.get("Content-Length"):
                self.send_header("Content-Length", size)
            else:
                self.close_connection = True
                self.send_header("Connection", "close")
            self.end_headers()
            shutil.copyfileobj(response, self.wfile)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Log the request and the status, without a timestamp, which the log has already."""
        sys.stderr.write(f"{self.address_string()} {format % args}\n")


def default_index() -> str:
    """Return pip's default index, from pip's own help."""
    pip = max(WHEELS.glob("pip-*.whl")) / "pip"
    command = [sys.executable, str(pip), "help", "install"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    match = re.search(
        r"Base\s+URL\s+of\s+the\s+Python\s+Package\s+Index\s+\(default\s+(\S+?)\)", text
    )
    if match is None:
        raise RuntimeError("pip's help names no default index")
    return match[1]


def machine_settings() -> dict[str, str]:
    """Return this machine's pip settings as environment variables."""
    from deploy.images.host_settings import host_pip_settings  # noqa: PLC0415 - beside the checkout's own copy

    return host_pip_settings()


def drop_privileges() -> None:
    """Give up root privileges permanently."""
    entry = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


class ProxyServer(ThreadingHTTPServer):
    """A server on an inherited listening socket."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, upstream: Upstream) -> None:
        super().__init__(("", 0), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.upstream = upstream


def main(number: int) -> None:
    """Serve until terminated."""
    upstream = Upstream(machine_settings())
    if os.geteuid() == 0:
        drop_privileges()
    ProxyServer(socket.socket(fileno=number), upstream).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
