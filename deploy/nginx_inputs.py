"""The inputs of nginx's configuration: listeners, origins and upstreams, from the settings.

`deploy.nginx` renders them. This module determines addresses and cookie names, and renders nothing.
"""

import ipaddress
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from portal.config.listen import CONNECTIONS_PER_ADDRESS
from portal.config.origins import ANY_USER, LABEL, ContentHosts, ContentOrigins
from portal.config.settings import Settings
from portal.services.sessions.gate import host_port

_LISTEN = re.compile(r"^(?P<host>\[[0-9a-f:]+\]|[0-9A-Za-z_.-]+):(?P<port>[0-9]{1,5})$")


class NginxError(Exception):
    """These settings cannot be turned into a configuration; the message gives the reason."""


@dataclass(frozen=True)
class Certificate:
    """A PEM chain and its key; nginx reads both as the account that starts it."""

    chain: Path
    key: Path


@dataclass(frozen=True)
class NginxListener:
    addresses: tuple[str, ...]
    port: int
    certificate: Certificate | None = None


class ListenOptions(NamedTuple):
    """Addresses (host:port) where nginx listens, replacing those in the settings' URLs.

    They are the options --listen, --listen-notebooks and --listen-tensorboards.
    """

    public: str | None = None
    notebooks: str | None = None
    tensorboards: str | None = None


@dataclass(frozen=True)
class ContentServer:
    """One origin of user content, and the content served there.

    nginx distinguishes origins by listener and by `Host`.
    """

    hosts: ContentHosts
    listener: NginxListener
    notebooks: bool
    tensorboards: bool

    @property
    def server_name(self) -> str:
        """The host's name for nginx, or the pattern that matches every user's host."""
        if not self.hosts.per_user:
            return self.hosts.name
        return f"~^{LABEL}{re.escape(self.hosts.suffix)}$"


@dataclass(frozen=True)
class Content:
    """User content on separate origins.

    `cookie` is the notebooks' cookie, `cookies` are all of the portal's there. `redirect_cookie`
    identifies a browser while it is redirected from the portal to this origin.
    """

    servers: tuple[ContentServer, ...]
    cookie: str
    cookies: tuple[str, ...]
    redirect_cookie: str
    portal_url: str


@dataclass(frozen=True)
class NginxInputs:
    """Everything that nginx.conf depends on.

    - `public` is the listener for browsers, `cluster` the one for programs on the nodes.
    - `portal` and `hub` are host:port on this machine; the portal's gate (auth_request) returns
      `portal` also for a session that is not running.
    - `portals` lists all portals if there are several, with the one to try first at the beginning.
    - `node_ca` is the certificate file of the CA for TLS on the nodes, if there is one.
    - `device_cookie` is the cookie of a browser that has logged in before.
    - `version` is the version of the nginx that reads the configuration, () if unknown.
    - `trusted_proxies` are trusted to report the client's address.
    - `connections` limits the connections open from one address; 0 means no limit.
    """

    folder: Path
    public: NginxListener
    cluster: NginxListener
    scheme: str
    portal: str
    hub: str
    cookie: str
    assets: Path | None
    portals: tuple[str, ...] = ()
    node_ca: Path | None = None
    content: Content | None = None
    version: tuple[int, ...] = ()
    device_cookie: str = ""
    trusted_proxies: tuple[str, ...] = ()
    connections: int = CONNECTIONS_PER_ADDRESS

    @property
    def listeners(self) -> tuple[NginxListener, ...]:
        content = self.content.servers if self.content else ()
        return self.public, self.cluster, *(server.listener for server in content)

    @property
    def own_hosts(self) -> bool:
        """Whether the notebooks and apps of each user have a host of their own."""
        content = self.content.servers if self.content else ()
        return any(server.notebooks and server.hosts.per_user for server in content)

    @property
    def gate_cookie(self) -> str:
        """The cookie that the gate requires: the portal's, or that of the content's own host."""
        return self.content.cookie if self.content else self.cookie


def from_settings(
    settings: Settings,
    folder: Path,
    *,
    listen: ListenOptions | None = None,
    certificate: Certificate | None = None,
) -> NginxInputs:
    """Return nginx's inputs for these settings, with its files in `folder`. Raises NginxError.

    `listen` is for installations where browsers reach public_url at another address than nginx's:
    behind a load balancer, which then terminates TLS, or in a container.
    """
    certificate = certificate or _to_certificate(settings)
    listen = listen or ListenOptions()
    public = _to_listener(settings.public_url, certificate, listen.public)
    cluster = _to_listener(settings.node_url, certificate)
    if _collide(public, cluster):
        raise NginxError("public_url and node_url have the same address and port")
    return NginxInputs(
        folder=folder,
        public=public,
        cluster=cluster,
        scheme=urlsplit(settings.public_url).scheme,
        portal=settings.address,
        hub=_to_upstream(settings.hub_url),
        cookie=settings.cookie_name,
        assets=settings.pages_dir,
        portals=tuple(settings.portals),
        node_ca=_find_node_ca(settings),
        content=_to_content(settings, settings.content, listen, (public, cluster)),
        device_cookie=settings.device_cookie,
        trusted_proxies=tuple(settings.trusted_proxies),
        connections=settings.connections_per_address,
    )


def _to_content(
    settings: Settings,
    origins: ContentOrigins | None,
    listen: ListenOptions,
    main_listeners: tuple[NginxListener, NginxListener],
) -> Content | None:
    if origins is None:
        return None
    public, cluster = main_listeners
    notebooks = _to_content_listener(settings, origins.notebooks, listen, listen.notebooks, public)
    servers = [ContentServer(origins.notebooks, notebooks, True, not origins.apart)]
    if origins.apart:
        tensorboards = _to_content_listener(
            settings, origins.tensorboards, listen, listen.tensorboards, public
        )
        servers.append(ContentServer(origins.tensorboards, tensorboards, False, True))
    for server in servers:
        name = server.hosts.name
        if _collide(server.listener, cluster):
            raise NginxError(f"{name} and node_url have the same address and port")
    _check_names(settings, public, servers)
    return Content(
        servers=tuple(servers),
        cookie=settings.notebook_cookie,
        cookies=tuple(dict.fromkeys((settings.notebook_cookie, settings.tensorboard_cookie))),
        redirect_cookie=settings.entry_cookie,
        portal_url=settings.public_url,
    )


def _to_content_listener(
    settings: Settings,
    hosts: ContentHosts,
    listen: ListenOptions,
    own_listen: str | None,
    public: NginxListener,
) -> NginxListener:
    """Return the public listener itself if the port is the same, or a load balancer serves both."""
    chain, key = settings.content_certificate_file, settings.content_certificate_key_file
    certificate = Certificate(chain, key) if chain and key else public.certificate
    url = hosts.origin_of(ANY_USER)
    if own_listen is None and (listen.public or _get_port(url) == _get_port(settings.public_url)):
        return replace(public, certificate=certificate if public.certificate else None)
    return _to_listener(url, certificate, own_listen)


def _check_names(settings: Settings, public: NginxListener, servers: list[ContentServer]) -> None:
    """Check that origins on one listener differ in `Host`, which nginx compares without the
    port."""
    names = [(public, urlsplit(settings.public_url).hostname or "")]
    for server in servers:
        for listener, name in names:
            same = listener.addresses == server.listener.addresses
            if same and listener.port == server.listener.port and name == server.hosts.name:
                raise NginxError(
                    f"{server.hosts.origin_of(ANY_USER)} needs its own listener: specify "
                    "--listen-notebooks and --listen-tensorboards with --listen"
                )
        names.append((server.listener, server.hosts.name))


def _collide(first: NginxListener, second: NginxListener) -> bool:
    return first.port == second.port and _overlap(first.addresses, second.addresses)


def _find_node_ca(settings: Settings) -> Path | None:
    """Return the nodes' CA file if nodes use TLS, or did so: older sessions may still need it."""
    certificates = settings.node_ca_certificate
    return certificates if settings.node_tls or os.access(certificates, os.R_OK) else None


def _to_certificate(settings: Settings) -> Certificate | None:
    chain, key = settings.certificate_file, settings.certificate_key_file
    return Certificate(chain, key) if chain and key else None


def _to_listener(
    url: str, certificate: Certificate | None, listen: str | None = None
) -> NginxListener:
    """Return nginx's listener for this URL: at `listen` if given, else at the URL's own address."""
    if listen is not None:
        match = _LISTEN.match(listen)
        if match is None:
            raise NginxError(f"{listen} must be host:port")
        return NginxListener(
            _get_addresses(match["host"].strip("[]")), int(match["port"]), certificate
        )
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    if secure and certificate is None:
        raise NginxError(
            f"{url} needs a certificate (certificate_file and certificate_key_file), or --listen "
            "if TLS is terminated before nginx"
        )
    host = _get_addresses(parts.hostname or "")
    return NginxListener(host, _get_port(url), certificate if secure else None)


def _get_port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def _get_addresses(host: str) -> tuple[str, ...]:
    """Return the addresses to listen on for a URL's host: an address itself, else every address."""
    if host == "localhost" or host.endswith(".localhost"):
        return ("127.0.0.1",)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ("*", "[::]") if Path("/proc/net/if_inet6").exists() else ("*",)
    return (f"[{address}]",) if address.version == 6 else (str(address),)


def _overlap(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    wide = {"*", "0.0.0.0", "[::]"}  # noqa: S104 - compared with, not bound to
    return bool(set(first) & set(second) or wide & {*first} or wide & {*second})


def _to_upstream(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "http":
        raise NginxError(f"{url} must be http: nginx and the hub run on the same machine")
    return host_port(parts.hostname or "", parts.port or 80)
