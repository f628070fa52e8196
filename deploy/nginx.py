"""nginx's configuration: one nginx.conf and its error pages, rendered from the settings.

Pure except for `write` and `main`. It contains addresses and cookie names. The location of a
session is not part of it: nginx asks the gate at each request.

    python -m deploy.nginx --settings portal.toml --out DIR
"""

import argparse
import ipaddress
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from deploy.nginx_inputs import (
    Certificate,
    ListenOptions,
    NginxError,
    NginxInputs,
    NginxListener,
    from_settings,
)
from deploy.nginx_program import HTTP2_DIRECTIVE, version_here
from portal.config.settings import Settings
from spawner import names
from spawner.ssh import grant

TEMPLATES = Path(__file__).resolve().parent / "templates"
PAGES = (
    "unavailable.html",
    "unavailable.problem",
    "node.html",
    "node.problem",
    "too-many-attempts.problem",
    "too-large.problem",
    "bad-request.problem",
    "missing.problem",
    "method.problem",
    "long.problem",
    "headers.problem",
    "encoding.problem",
    "busy.problem",
    "precondition.problem",
    "range.problem",
    "tls-required.problem",
)
FOLDERS = ("cache", "logs", "temp", "_pages")

# Headers that a server on a node must not send to a browser, because they apply beyond the server's
# path: to the whole origin, to its other tabs, or to what the browser reports and where to.
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

# JupyterHub's own, at the hub's paths.
HUB_COOKIES = ("jupyterhub-hub-login", "jupyterhub-session-id", "_xsrf")

SSH_CONNECTIONS = 60
"""The number of open SSH connections of one user, to all their sessions."""

MAX_REMOVED = 16
"""The number of the portal's cookies that are removed from a request. A page can plant more of
any name from another port of the host; a node then gets no cookie at all."""

_SAFE_PATH = re.compile(r"^/[^\x00-\x1f\"\\${};]*$")
_SAFE_HOST = re.compile(r"^[0-9A-Za-z_.\[\]:-]+$")
_SAFE_URL = re.compile(r"^https?://[^\x00-\x20\"\\${};]*$")
_SAFE_COOKIE = re.compile(r"^[A-Za-z0-9_-]+$")


def render(inputs: NginxInputs) -> dict[str, str]:
    """Return the files below the folder by name. Raises NginxError for values unsafe in
    nginx.conf."""
    _validate(inputs)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  not HTML; _validate validates the values
    )
    text = environment.get_template("nginx.conf").render(
        folder=inputs.folder,
        public=inputs.public,
        cluster=inputs.cluster,
        scheme=inputs.scheme,
        http2_directive=inputs.version >= HTTP2_DIRECTIVE,
        portals=inputs.portals or (inputs.portal,),
        hub=inputs.hub,
        cookie=inputs.gate_cookie,
        cookies=_any_of(_list_cookies(inputs)),
        kept_cookies=kept_cookies(_list_cookies(inputs)),
        own_cookie=inputs.cookie,
        hub_cookies=HUB_COOKIES,
        trusted_proxies=inputs.trusted_proxies,
        content=inputs.content,
        own_hosts=inputs.own_hosts,
        own_listeners=_list_own_listeners(inputs),
        assets=inputs.assets,
        node_ca=inputs.node_ca,
        connections=inputs.connections,
        username=names.USERNAME.pattern,
        server=names.SESSION.pattern,
        job_number=names.JOB_NUMBER.pattern,
        hidden_headers=HIDDEN_HEADERS,
        ssh_key=grant.KEY_HEADER,
        ssh_grant=grant.GRANT_HEADER,
        ssh_host_key=grant.HOST_KEY_HEADER,
        ssh_connections=SSH_CONNECTIONS,
    )
    pages = {f"_pages/{name}": (TEMPLATES / name).read_text("utf-8") for name in PAGES}
    return {"nginx.conf": text, **pages}


def _list_own_listeners(inputs: NginxInputs) -> list[NginxListener]:
    """Return the listeners of user content other than the public one, each once."""
    listeners: dict[tuple[tuple[str, ...], int], NginxListener] = {}
    for server in inputs.content.servers if inputs.content else ():
        listeners.setdefault((server.listener.addresses, server.listener.port), server.listener)
    listeners.pop((inputs.public.addresses, inputs.public.port), None)
    return list(listeners.values())


def _list_cookies(inputs: NginxInputs) -> list[str]:
    """Return the portal's cookies that no node may see."""
    content = (*inputs.content.cookies, inputs.content.redirect_cookie) if inputs.content else ()
    return [name for name in (inputs.cookie, inputs.device_cookie, *content) if name]


@dataclass(frozen=True)
class KeptCookies:
    """A regular expression (PCRE) for nginx that matches a Cookie header, and the value to keep.

    nginx accepts no parameter over 4,096 bytes, so repeated parts are named groups that are called
    by name.
    """

    pattern: str
    value: str


def kept_cookies(names: list[str]) -> KeptCookies:
    """Return the expression that removes these cookies, wherever they are in the header.

    A header with more than MAX_REMOVED of them does not match.
    """
    ours = rf"(?<ours>\s*+{_any_of(names)}\s*+(?:=[^;]*+)?(?:;|$))"
    others = "(?<others>(?:(?!(?&ours))(?:[^;]++;?|;))*+)"
    places = range(MAX_REMOVED + 1)
    first, *more = (f"(?<kept_{place}>(?&others))" for place in places)
    pattern = f"(?(DEFINE){ours}{others})^{first}" + "".join(f"(?&ours)?{kept}" for kept in more)
    return KeptCookies(f"{pattern}$", "".join(f"$kept_{place}" for place in places))


def _any_of(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"(?:{'|'.join(names)})"


def _validate(inputs: NginxInputs) -> None:
    paths = [inputs.folder, *(path for path in (inputs.assets, inputs.node_ca) if path)]
    for listener in inputs.listeners:
        if listener.certificate:
            paths += [listener.certificate.chain, listener.certificate.key]
    for path in paths:
        if not _SAFE_PATH.match(str(path)):
            raise NginxError(
                f"{path} can't be used: the path must be absolute and must not contain "
                "quotes, braces, $ or ;"
            )
    addresses = [address for listener in inputs.listeners for address in listener.addresses]
    for network in inputs.trusted_proxies:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise NginxError(f"{network} is not an address or a network") from error
    for host in (inputs.portal, *inputs.portals, inputs.hub, *addresses):
        if host != "*" and not _SAFE_HOST.match(host):
            raise NginxError(f"{host} is not a valid host")
    for name in _list_cookies(inputs):
        if not _SAFE_COOKIE.match(name):
            raise NginxError(f"{name} is not a valid cookie name")
    if inputs.content and not _SAFE_URL.match(inputs.content.portal_url):
        raise NginxError(f"{inputs.content.portal_url} is not a valid redirect target")


def write(inputs: NginxInputs) -> Path:
    """Render into the folder and return nginx.conf's path. The folder is nginx's own, mode 0700."""
    inputs.folder.mkdir(parents=True, exist_ok=True)
    inputs.folder.chmod(0o700)
    for name in FOLDERS:
        (inputs.folder / name).mkdir(mode=0o700, exist_ok=True)
    for name, text in render(inputs).items():
        path = inputs.folder / name
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
    return inputs.folder / "nginx.conf"


def command(inputs: NginxInputs, *options: str) -> list[str]:
    """Return the argv that starts nginx with this configuration; `-t` checks, `-s reload` reloads.

    nginx needs no root privileges unless a port is below 1024.
    """
    log = inputs.folder / "logs" / "error.log"
    conf = inputs.folder / "nginx.conf"
    return ["nginx", "-p", str(inputs.folder), "-e", str(log), "-c", str(conf), *options]


def _parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy.nginx", description=__doc__)
    parser.add_argument("--settings", type=Path, help="the portal's TOML file")
    parser.add_argument("--out", type=Path, required=True, help="nginx's own folder")
    parser.add_argument("--listen", help="host:port, if different from public_url")
    parser.add_argument("--listen-notebooks", help="host:port, if different from notebook_url")
    parser.add_argument(
        "--listen-tensorboards", help="host:port, if different from tensorboard_url"
    )
    parser.add_argument("--certificate", type=Path, help="PEM chain, for https")
    parser.add_argument("--key", type=Path, help="PEM key, for https")
    arguments = parser.parse_args(argv)
    if (arguments.certificate is None) != (arguments.key is None):
        parser.error("--certificate and --key must be used together")
    return arguments


def main(argv: list[str] | None = None) -> int:
    arguments = _parse_arguments(argv)
    if arguments.settings:
        os.environ["PORTAL_CONFIG"] = str(arguments.settings.resolve())
    pair = arguments.certificate and Certificate(
        arguments.certificate.resolve(), arguments.key.resolve()
    )
    try:
        settings = Settings()  # read from its sources; secrets stay unread
        listen = ListenOptions(
            arguments.listen, arguments.listen_notebooks, arguments.listen_tensorboards
        )
        inputs = from_settings(
            settings, arguments.out.resolve(), listen=listen, certificate=pair or None
        )
        write(replace(inputs, version=version_here()))
    except (NginxError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(*command(inputs, "-t"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
