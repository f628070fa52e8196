"""The front door's configuration: one nginx.conf and its few pages, rendered from the settings.

Pure but for `write` and `main`. It knows where things listen and what the cookie is called; which
session is where is the gate's business, asked by nginx at each request.

    python -m deploy.nginx --settings portal.toml --out DIR
"""

import argparse
import ipaddress
import os
import re
import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from deploy.nginx_program import HTTP2_DIRECTIVE, version_here
from portal.content import LABEL, ContentHosts
from portal.services.sessions.gate import SERVER_PATTERN, host_port, portal_address
from portal.settings import USERNAME_PATTERN, Settings

TEMPLATES = Path(__file__).resolve().parent / "templates"
PAGES = (
    "away.html",
    "away.problem",
    "node.html",
    "node.problem",
    "slower.problem",
    "larger.problem",
    "unread.problem",
)
FOLDERS = ("cache", "logs", "temp", "_pages")

# What a server on a node may not tell a browser, because it holds for more than the server's path:
# the whole origin, its other tabs, or what the browser reports and to whom.
HIDDEN_HEADERS = (
    "Accept-CH",
    "Activate-Storage-Access",
    "Alt-Svc",
    "Clear-Site-Data",
    "Critical-CH",
    "Expect-CT",
    "NEL",
    "Origin-Agent-Cluster",
    "Origin-Trial",
    "Permissions-Policy-Report-Only",
    "Public-Key-Pins",
    "Public-Key-Pins-Report-Only",
    "Refresh",
    "Report-To",
    "Reporting-Endpoints",
    "Service-Worker-Allowed",
    "Set-Cookie2",
    "Set-Login",
    "Speculation-Rules",
    "Strict-Transport-Security",
    "Use-As-Dictionary",
    "WWW-Authenticate",
)

_SAFE_PATH = re.compile(r"^/[^\x00-\x1f\"\\${};]*$")
_SAFE_HOST = re.compile(r"^[0-9A-Za-z_.\[\]:-]+$")
_LISTEN = re.compile(r"^(?P<host>\[[0-9a-f:]+\]|[0-9A-Za-z_.-]+):(?P<port>[0-9]{1,5})$")
_SAFE_HOME = re.compile(r"^https?://[^\x00-\x20\"\\${};]*$")
_SAFE_COOKIE = re.compile(r"^[A-Za-z0-9_-]+$")


class NginxError(Exception):
    """These settings can't become a configuration; says why."""


@dataclass(frozen=True)
class Certificate:
    """A PEM chain and its key; nginx reads both as the account it starts as."""

    chain: Path
    key: Path


@dataclass(frozen=True)
class Listener:
    addresses: tuple[str, ...]
    port: int
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Content:
    """Where people's notebooks and TensorBoards are, apart from the portal: `hosts`, by what nginx
    tells them. `home` is the portal's address; `entry` knows a browser again on its way in."""

    hosts: ContentHosts
    listener: Listener
    cookie: str
    entry: str
    home: str

    @property
    def server_name(self) -> str:
        """The host's name, or the pattern of everyone's, for nginx."""
        if not self.hosts.by_person:
            return self.hosts.name
        return f"~^{LABEL}{re.escape(self.hosts.suffix)}$"


@dataclass(frozen=True)
class FrontDoor:
    """Everything nginx.conf depends on. `portal` and `hub` are host:port on this machine;
    `portal` is also what the gate answers for a session that isn't running; `node_ca` holds the
    portal's authority for what speaks TLS on the nodes, where there is one; `portals` are all of
    them, the one to ask first at the beginning, where there is more than one; `version` is the
    nginx that will read it, () one that isn't known."""

    folder: Path
    front: Listener
    cluster: Listener
    scheme: str
    portal: str
    hub: str
    cookie: str
    assets: Path | None
    portals: tuple[str, ...] = ()
    node_ca: Path | None = None
    content: Content | None = None
    version: tuple[int, ...] = ()

    @property
    def listeners(self) -> tuple[Listener, ...]:
        return self.front, self.cluster, *((self.content.listener,) if self.content else ())

    @property
    def gate_cookie(self) -> str:
        """What the gate asks for: the portal's cookie, or that of the content's own host."""
        return self.content.cookie if self.content else self.cookie


def from_settings(
    settings: Settings,
    folder: Path,
    *,
    listen: str | None = None,
    certificate: Certificate | None = None,
) -> FrontDoor:
    """The front door for these settings, living in `folder`; raises NginxError.

    `listen` (host:port) is for when browsers reach public_url at another place than where nginx
    stands: behind a load balancer, which then ends TLS, or in a container.
    """
    certificate = certificate or _certificate(settings)
    front = _front(settings.public_url, listen, certificate)
    cluster = _listener(settings.node_url, certificate)
    if front.port == cluster.port and _overlap(front.addresses, cluster.addresses):
        raise NginxError("public_url and node_url name the same address and port")
    return FrontDoor(
        folder=folder,
        front=front,
        cluster=cluster,
        scheme=urlsplit(settings.public_url).scheme,
        portal=portal_address(settings),
        hub=_upstream(settings.hub_url),
        cookie=settings.cookie_name,
        assets=settings.pages_dir,
        portals=tuple(settings.portals),
        node_ca=_node_ca(settings),
        content=_content(settings, front, listen, cluster, certificate),
    )


def _content(
    settings: Settings,
    front: Listener,
    listen: str | None,
    cluster: Listener,
    certificate: Certificate | None,
) -> Content | None:
    """At the front's address where the port is the same, or a load balancer stands before both."""
    hosts = settings.content
    if hosts is None or settings.content_url is None:
        return None
    chain, key = settings.content_certificate_file, settings.content_certificate_key_file
    own = Certificate(chain, key) if chain and key else certificate
    listener = replace(front, certificate=own if front.certificate else None)
    if listen is None and _port(settings.content_url) != _port(settings.public_url):
        listener = _listener(settings.content_url, own)
        if listener.port == cluster.port and _overlap(listener.addresses, cluster.addresses):
            raise NginxError("content_url and node_url name the same address and port")
    return Content(
        hosts=hosts,
        listener=listener,
        cookie=settings.content_cookie,
        entry=settings.entry_cookie,
        home=settings.public_url,
    )


def _node_ca(settings: Settings) -> Path | None:
    """Of a site that has its nodes speak TLS; and of one that had, for what runs there still."""
    certificates = settings.node_ca_certificate
    return certificates if settings.node_tls or os.access(certificates, os.R_OK) else None


def _certificate(settings: Settings) -> Certificate | None:
    chain, key = settings.certificate_file, settings.certificate_key_file
    return Certificate(chain, key) if chain and key else None


def _front(public_url: str, listen: str | None, certificate: Certificate | None) -> Listener:
    if listen is None:
        return _listener(public_url, certificate)
    found = _LISTEN.match(listen)
    if found is None:
        raise NginxError("--listen must be host:port")
    return Listener(_addresses(found["host"].strip("[]")), int(found["port"]), certificate)


def _listener(url: str, certificate: Certificate | None) -> Listener:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    if secure and certificate is None:
        raise NginxError(
            f"{url} needs a certificate (certificate_file and certificate_key_file), or --listen if"
            " TLS ends before"
        )
    host = _addresses(parts.hostname or "")
    return Listener(host, _port(url), certificate if secure else None)


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def _addresses(host: str) -> tuple[str, ...]:
    """Where to listen for a URL's host: an address is itself, a name means every address."""
    if host == "localhost" or host.endswith(".localhost"):
        return ("127.0.0.1",)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ("*", "[::]") if Path("/proc/net/if_inet6").exists() else ("*",)
    return (f"[{address}]",) if address.version == 6 else (str(address),)


def _overlap(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    wide = {"*", "0.0.0.0", "[::]"}  # noqa: S104 - compared with, not bound to
    return bool(set(some) & set(others) or wide & {*some} or wide & {*others})


def _upstream(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "http":
        raise NginxError(f"{url} must be http: nginx and the hub share this machine")
    return host_port(parts.hostname or "", parts.port or 80)


def render(door: FrontDoor) -> dict[str, str]:
    """File name below the folder → its text; raises NginxError for what nginx.conf can't hold."""
    _check(door)
    names = _cookies(door)
    # each takes one of our cookies out, and there may be a stray one besides
    steps = ["http_cookie", *(f"less_{step}" for step in ("one", "two", "three", "four"))]
    passes = list(pairwise(steps[: len(names) + 2]))
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - this is no HTML; _check guards what goes in
    )
    text = environment.get_template("nginx.conf").render(
        folder=door.folder,
        front=door.front,
        cluster=door.cluster,
        scheme=door.scheme,
        http2_directive=door.version >= HTTP2_DIRECTIVE,
        portals=door.portals or (door.portal,),
        hub=door.hub,
        cookie=door.gate_cookie,
        cookies=_any_of(names),
        passes=passes,
        content=door.content,
        assets=door.assets,
        node_ca=door.node_ca,
        username=USERNAME_PATTERN.strip("^$"),
        server=SERVER_PATTERN.strip("^$"),
        hidden_headers=HIDDEN_HEADERS,
    )
    pages = {f"_pages/{name}": (TEMPLATES / name).read_text("utf-8") for name in PAGES}
    return {"nginx.conf": text, **pages}


def _cookies(door: FrontDoor) -> list[str]:
    """Those of ours that no node may see."""
    return [door.cookie, *((door.content.cookie, door.content.entry) if door.content else ())]


def _any_of(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"(?:{'|'.join(names)})"


def _check(door: FrontDoor) -> None:
    paths = [door.folder, *(path for path in (door.assets, door.node_ca) if path)]
    for listener in door.listeners:
        if listener.certificate:
            paths += [listener.certificate.chain, listener.certificate.key]
    for path in paths:
        if not _SAFE_PATH.match(str(path)):
            raise NginxError(f"{path} can't be used: absolute, without quotes, braces, $ or ;")
    addresses = [address for listener in door.listeners for address in listener.addresses]
    for host in (door.portal, *door.portals, door.hub, *addresses):
        if host != "*" and not _SAFE_HOST.match(host):
            raise NginxError(f"{host} isn't a host")
    for name in _cookies(door):
        if not _SAFE_COOKIE.match(name):
            raise NginxError(f"{name} can't be the cookie's name")
    if door.content and not _SAFE_HOME.match(door.content.home):
        raise NginxError(f"{door.content.home} can't be led to")


def write(door: FrontDoor) -> Path:
    """Render into the folder and return nginx.conf's path. The folder is nginx's own, mode 0700."""
    door.folder.mkdir(parents=True, exist_ok=True)
    door.folder.chmod(0o700)
    for name in FOLDERS:
        (door.folder / name).mkdir(mode=0o700, exist_ok=True)
    for name, text in render(door).items():
        path = door.folder / name
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
    return door.folder / "nginx.conf"


def command(door: FrontDoor, *options: str) -> list[str]:
    """The argv that starts nginx with this configuration; `-t` checks, `-s reload` reloads.

    nginx needs no root for it unless a port is below 1024.
    """
    log = door.folder / "logs" / "error.log"
    conf = door.folder / "nginx.conf"
    return ["nginx", "-p", str(door.folder), "-e", str(log), "-c", str(conf), *options]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy.nginx", description=__doc__)
    parser.add_argument("--settings", type=Path, help="the portal's TOML file")
    parser.add_argument("--out", type=Path, required=True, help="nginx's own folder")
    parser.add_argument("--listen", help="host:port, if it isn't public_url's")
    parser.add_argument("--certificate", type=Path, help="PEM chain, for https")
    parser.add_argument("--key", type=Path, help="PEM key, for https")
    arguments = parser.parse_args(argv)
    if (arguments.certificate is None) != (arguments.key is None):
        parser.error("--certificate and --key come together")
    return arguments


def main(argv: list[str] | None = None) -> int:
    arguments = _arguments(argv)
    if arguments.settings:
        os.environ["PORTAL_CONFIG"] = str(arguments.settings.resolve())
    pair = arguments.certificate and Certificate(
        arguments.certificate.resolve(), arguments.key.resolve()
    )
    try:
        settings = Settings()  # filled by its sources; secrets stay unread
        door = from_settings(
            settings, arguments.out.resolve(), listen=arguments.listen, certificate=pair or None
        )
        write(replace(door, version=version_here()))
    except (NginxError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(*command(door, "-t"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
