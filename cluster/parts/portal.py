"""Start portal, hub and nginx on a running Slurm, and restart them when their inputs changed."""

from __future__ import annotations

import hashlib
import http.client
from functools import partial
from pathlib import Path

from cluster.config.paths import Paths
from cluster.config.render import Cluster
from cluster.config.render_modules import render_catalog
from cluster.config.render_portal import home_directory_conf, launcher_conf, render_portal
from cluster.handle import ClusterHandle
from cluster.host.control import send_command
from cluster.host.machine import folder, run, wait_for, write
from cluster.parts import application
from cluster.parts.services import package_proxy
from deploy import home_directory
from spawner.launcher.installed import FILES_PROGRAM, files_program, launcher_program

PORTAL_SERVICES = ("portal", "hub", "nginx", "packages")
NGINX_ACCOUNT = "www-data"


def start_portal(handle: ClusterHandle) -> None:
    paths = handle.paths
    with handle.progress.step("application"):
        copied = application.install(paths)
        texts = _write_configuration(handle)
        fingerprint = _compute_fingerprint(paths, copied, texts)
    done = paths.run / "portal-side"
    changed = not done.exists() or done.read_text() != fingerprint
    with handle.progress.step("portal, hub and nginx"):
        packages = [spec.name for spec in package_proxy(handle.cluster)]
        send_command(
            paths.control(), "restart" if changed else "start", ["portal", "hub", *packages]
        )
        _configure_nginx(paths, fingerprint)
        send_command(paths.control(), "restart" if changed else "start", ["nginx"])
        _wait_for_services(handle)
    write(done, fingerprint)


def install_launcher(cluster: Cluster) -> None:
    """Install the programs that the portal's account may run as other users, each a single file.

    The launcher runs as a user, and becomes the program for files beside it; the program for home
    directories runs as root.
    """
    paths = cluster.paths
    write(paths.launcher, launcher_program(), mode=0o755)
    write(paths.launcher.with_name(FILES_PROGRAM), files_program())
    write(paths.launcher.with_name("launcher.conf"), launcher_conf(cluster))
    text = Path(home_directory.__file__).read_text(encoding="utf-8")
    write(paths.home_directory, text, mode=0o755)
    write(paths.home_directory.with_suffix(".conf"), home_directory_conf(cluster))


def _write_configuration(handle: ClusterHandle) -> list[str]:
    install_launcher(handle.cluster)
    write_secrets(handle)
    for name, file in render_catalog(handle.cluster).items():
        write(handle.paths.catalog / name, file.text, mode=file.mode, owner=file.owner)
    with_pages = (handle.paths.app / application.PAGES / "index.html").exists()
    files = render_portal(handle.cluster, with_pages=with_pages)
    for name, file in files.items():
        write(handle.paths.etc / name, file.text, mode=file.mode, owner=file.owner)
    return [file.text for file in files.values()]


def write_secrets(handle: ClusterHandle) -> None:
    """Write each account's own copies, in folders that only the account can enter."""
    tokens, paths = handle.secrets.tokens, handle.paths
    shared = {name: tokens[name] for name in ("hub_token", "internal_secret")}
    password = handle.secrets.passwords["cn=portal"]
    for account, home, secrets in (
        ("portal", paths.portal_home, {**shared, "ldap_bind_password": password}),
        ("portalhub", paths.hub_home, {**shared, "cookie_secret": tokens["cookie_secret"]}),
    ):
        uid = handle.cluster.layout.service_account(account).uid
        folder(home / "secrets", uid, 0o700)
        for name, text in secrets.items():
            write(home / "secrets" / name, f"{text}\n", mode=0o600, owner=uid)
    registries = paths.portal_home / "secrets" / "registry_auth.json"
    if not registries.exists():  # for an administrator to fill in
        portal = handle.cluster.layout.service_account("portal").uid
        write(registries, '{"auths": {}}\n', mode=0o600, owner=portal)


def _compute_fingerprint(paths: Paths, copied: str, texts: list[str]) -> str:
    installed = paths.venv / "pyvenv.cfg"
    parts = [copied, str(installed.stat().st_mtime_ns), *texts]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _configure_nginx(paths: Paths, fingerprint: str) -> None:
    """Render nginx's configuration with the application itself, as nginx's account.

    Skipped when nothing has changed, because it takes almost a second.
    """
    done = paths.etc / "nginx-rendered"
    if done.exists() and done.read_text() == fingerprint and (paths.nginx / "nginx.conf").exists():
        return
    folder(paths.nginx, NGINX_ACCOUNT, 0o700)
    account = ["--reuid", NGINX_ACCOUNT, "--regid", NGINX_ACCOUNT, "--init-groups"]
    render = [str(paths.venv / "bin" / "python"), "-I", "-m", "deploy.nginx"]
    settings = ["--settings", str(paths.etc / "portal.toml"), "--out", str(paths.nginx)]
    run(["setpriv", *account, *render, *settings])
    write(done, fingerprint)


def _wait_for_services(handle: ClusterHandle) -> None:
    ports, log = handle.cluster.addresses.ports, handle.paths.log
    for name, port, path in (
        ("portal", ports["portal"], "/healthz"),
        ("hub", ports["hub"], "/hub/api"),
        ("nginx", ports["public"], "/healthz"),
    ):
        wait_for(partial(answers_ok, port, path), name, log=log / f"{name}.log")


def answers_ok(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
