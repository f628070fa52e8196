"""Creation of the other containers' configuration files, secrets and certificates.

Repeatable: existing secrets and certificates are kept, rendered files are written again.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from cluster.compose.description import FILE, PORTALS, ContainerPaths, Project, dumps
from cluster.config import secret
from cluster.config.addresses import LOCALHOST
from cluster.config.certificates import make_authority, make_server
from cluster.config.render import Cluster, ConfigFile, base_ldif, render
from cluster.config.render_portal import hub_settings, node_table, portal_settings, toml
from cluster.handle import ClusterHandle, TerminalProgress
from cluster.host.machine import folder, write
from cluster.parts.portal import write_secrets

# ELSEWHERE: files of the single-machine cluster that a container's image replaces. NOT_HERE:
# settings that this project omits.
ELSEWHERE = frozenset({"hosts", "nsswitch.conf", "sudoers.d/portal", "nslcd.conf"})
NOT_HERE = ("catalog_dir", "app_dir", "modules_init", "image_import_dir", "image_import_auth_file",
            "image_import_plain_registries", "notice")  # fmt: skip


def setup(project: Project) -> None:
    cluster, paths = project.cluster, project.paths
    secrets = secret.ensure(paths, cluster.layout)
    _ensure_authority(paths)
    _write_directory_files(cluster, paths, secrets)
    authority = (paths.authority / "ca.crt").read_text()
    for name, file in configuration(project, authority).items():
        write(paths.etc / name, file.text, mode=file.mode, owner=file.owner)
    write_secrets(ClusterHandle(cluster, secrets, TerminalProgress()))
    _ensure_front_certificate(project)
    folder(paths.archived_homes, mode=0o700)
    for user in cluster.layout.users:
        folder(paths.home / user.name, user.uid, 0o700)


def configuration(project: Project, authority: str) -> dict[str, ConfigFile]:
    """Return the files of /srv/cluster/etc by name. All containers read them, so none is secret."""
    cluster = project.cluster
    rendered = render(cluster, nslcd_password="")  # its file is written elsewhere
    files = {name: file for name, file in rendered.items() if name not in ELSEWHERE}
    return files | {
        # this version of Slurm looks for cgroups at its start unless they are disabled
        "cgroup.conf": ConfigFile("CgroupPlugin=disabled\n"),
        "portal.toml": ConfigFile(toml(_portal_settings(project))),
        "hub.toml": ConfigFile(toml(_hub_settings(project))),
        "nodes.yaml": ConfigFile(node_table(cluster)),
        "ca.crt": ConfigFile(authority),
        FILE: ConfigFile(dumps(project)),
    }


def _portal_settings(project: Project) -> dict[str, Any]:
    cluster, paths = project.cluster, project.paths
    usual = portal_settings(cluster, with_pages=True)
    return {name: value for name, value in usual.items() if name not in NOT_HERE} | {
        "public_url": project.public_url,
        "notebook_url": project.notebook_url,
        "tensorboard_url": project.tensorboard_url,
        "ldap_ca_file": str(paths.etc / "ca.crt"),
        "database_url": f"postgresql+psycopg://portal@/portal?host={paths.postgres_socket}",
        "auto_migrate": True,
        "portals": [f"{LOCALHOST}:{port}" for port in PORTALS],
    }


def _hub_settings(project: Project) -> dict[str, Any]:
    first, *more_urls = (f"http://{LOCALHOST}:{port}" for port in PORTALS)
    return {
        **hub_settings(project.cluster),
        "public_url": project.public_url,
        "notebook_url": project.notebook_url,
        "cookie_name": "__Host-portal",
        "portal_url": first,
        "other_portal_urls": more_urls,
    }


def _ensure_authority(paths: ContainerPaths) -> None:
    if not (paths.authority / "ca.crt").exists():
        folder(paths.authority, mode=0o700)
        fresh = folder(paths.authority / "new", mode=0o700)
        make_authority(fresh, "Data Scientist Portal CA")
        for name in ("ca.key", "ca.crt"):  # the certificate last: it marks both as complete
            (fresh / name).rename(paths.authority / name)
        fresh.rmdir()


def _write_directory_files(
    cluster: Cluster, paths: ContainerPaths, secrets: secret.Secrets
) -> None:
    folder(paths.tls)
    host = cluster.addresses.host("directory")
    _ensure_certificate(
        paths.authority, paths.tls, "ldap", [host, "localhost", "127.0.0.1"], "openldap"
    )
    write(paths.tls / "ca.crt", (paths.authority / "ca.crt").read_text())
    nslcd = render(cluster, secrets.passwords["cn=nslcd"])["nslcd.conf"]
    write(paths.tls / "nslcd.conf", nslcd.text, mode=nslcd.mode)
    content = paths.tls / "content.ldif"
    if not content.exists():  # slapd loads it once; afterwards the portal maintains the directory
        text = base_ldif(cluster, secret.crypted(secrets.passwords))
        write(content, text, mode=0o400, owner="openldap")


def _ensure_front_certificate(project: Project) -> None:
    """Create nginx's certificate, unless the operator supplied portal.crt and portal.key."""
    directory = folder(project.paths.certificate)
    is_custom = (directory / "portal.crt").exists() and not (directory / "portal.hosts").exists()
    if not is_custom:
        hosts = list(dict.fromkeys([*project.hosts, "localhost", "127.0.0.1"]))
        _ensure_certificate(project.paths.authority, directory, "portal", hosts, "www-data")


def _ensure_certificate(
    authority: Path, directory: Path, name: str, hosts: list[str], account: str
) -> None:
    """Create a key and a certificate for these hosts, unless they exist."""
    made_for, hosts_text = directory / f"{name}.hosts", "\n".join(hosts)
    if made_for.exists() and made_for.read_text() == hosts_text:
        return
    fresh = folder(authority / "new", mode=0o700)
    make_server(authority, fresh, name, hosts)
    write(directory / f"{name}.key", (fresh / f"{name}.key").read_text(), mode=0o400, owner=account)
    write(directory / f"{name}.crt", (fresh / f"{name}.crt").read_text())
    write(made_for, hosts_text)
    shutil.rmtree(fresh)
