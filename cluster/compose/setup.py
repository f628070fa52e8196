"""Makes what the other containers find: every configuration file, the secrets of each, and the
certificates. Repeatable: what is there is kept, what follows from the settings is written anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from cluster import secret
from cluster.addresses import LOCALHOST
from cluster.certificates import make_authority, make_server
from cluster.compose.description import FILE, PORTALS, ContainerPaths, Project, dumps
from cluster.ground import Ground, Progress
from cluster.machine import folder, write
from cluster.portal_side import write_secrets
from cluster.render import Cluster, ConfigFile, base_ldif, render
from cluster.render_portal import hub_settings, node_table, portal_settings, toml

# of cluster/'s own: what a container's image has instead, and what this project leaves out
ELSEWHERE = frozenset({"hosts", "nsswitch.conf", "sudoers.d/portal", "nslcd.conf"})
NOT_HERE = ("catalog_dir", "modules_init", "image_import_dir", "image_import_auth_file",
            "image_import_plain_registries", "notice")  # fmt: skip


def setup(project: Project) -> None:
    cluster, paths = project.cluster, project.paths
    secrets = secret.ensure(paths, cluster.layout)
    _authority(paths)
    _directory(cluster, paths, secrets)
    authority = (paths.authority / "ca.crt").read_text()
    for name, file in configuration(project, authority).items():
        write(paths.etc / name, file.text, mode=file.mode, owner=file.owner)
    write_secrets(Ground(cluster, secrets, Progress()))
    _front_certificate(project)
    folder(paths.archived_homes, mode=0o700)
    for user in cluster.layout.users:
        folder(paths.home / user.name, user.uid, 0o700)


def configuration(project: Project, authority: str) -> dict[str, ConfigFile]:
    """File name in /srv/cluster/etc → what it holds: nothing secret, for all containers read it."""
    cluster = project.cluster
    rendered = render(cluster, nslcd_password="")  # whose file is elsewhere
    files = {name: file for name, file in rendered.items() if name not in ELSEWHERE}
    return files | {
        # this Slurm looks for cgroups at its start unless it is told not to
        "cgroup.conf": ConfigFile("CgroupPlugin=disabled\n"),
        "portal.toml": ConfigFile(toml(_portal(project))),
        "hub.toml": ConfigFile(toml(_hub(project))),
        "nodes.yaml": ConfigFile(node_table(cluster)),
        "ca.crt": ConfigFile(authority),
        FILE: ConfigFile(dumps(project)),
    }


def _portal(project: Project) -> dict[str, Any]:
    cluster, paths = project.cluster, project.paths
    usual = portal_settings(cluster, with_pages=True)
    return {name: value for name, value in usual.items() if name not in NOT_HERE} | {
        "public_url": project.public_url,
        "ldap_ca_file": str(paths.etc / "ca.crt"),
        "database_url": f"postgresql+psycopg://portal@/portal?host={paths.postgres_socket}",
        "auto_migrate": True,
        "portals": [f"{LOCALHOST}:{port}" for port in PORTALS],
    }


def _hub(project: Project) -> dict[str, Any]:
    first, *others = (f"http://{LOCALHOST}:{port}" for port in PORTALS)
    return {
        **hub_settings(project.cluster),
        "public_url": project.public_url,
        "cookie_name": "__Host-portal",
        "portal_url": first,
        "other_portal_urls": others,
    }


def _authority(paths: ContainerPaths) -> None:
    if not (paths.authority / "ca.crt").exists():
        folder(paths.authority, mode=0o700)
        fresh = folder(paths.authority / "new", mode=0o700)
        make_authority(fresh, "Data Scientist Portal CA")
        for name in ("ca.key", "ca.crt"):  # the certificate last: it says that both are there
            (fresh / name).rename(paths.authority / name)
        fresh.rmdir()


def _directory(cluster: Cluster, paths: ContainerPaths, secrets: secret.Secrets) -> None:
    folder(paths.tls)
    host = cluster.addresses.host("directory")
    _server(paths.authority, paths.tls, "ldap", [host, "localhost", "127.0.0.1"], "openldap")
    write(paths.tls / "ca.crt", (paths.authority / "ca.crt").read_text())
    nslcd = render(cluster, secrets.passwords["cn=nslcd"])["nslcd.conf"]
    write(paths.tls / "nslcd.conf", nslcd.text, mode=nslcd.mode)
    content = paths.tls / "content.ldif"
    if not content.exists():  # slapd loads it once; afterwards the portal's word counts
        text = base_ldif(cluster, secret.crypted(secrets.passwords))
        write(content, text, mode=0o400, owner="openldap")


def _front_certificate(project: Project) -> None:
    """The operator's own portal.crt and portal.key are left as they are."""
    place = folder(project.paths.certificate)
    given = (place / "portal.crt").exists() and not (place / "portal.hosts").exists()
    if not given:
        hosts = list(dict.fromkeys([project.host, "localhost", "127.0.0.1"]))
        _server(project.paths.authority, place, "portal", hosts, "www-data")


def _server(authority: Path, at: Path, name: str, hosts: list[str], account: str) -> None:
    """A key and a certificate for these hosts, unless they are there."""
    made_for, wanted = at / f"{name}.hosts", "\n".join(hosts)
    if made_for.exists() and made_for.read_text() == wanted:
        return
    fresh = folder(authority / "new", mode=0o700)
    make_server(authority, fresh, name, hosts)
    write(at / f"{name}.key", (fresh / f"{name}.key").read_text(), mode=0o400, owner=account)
    write(at / f"{name}.crt", (fresh / f"{name}.crt").read_text())
    write(made_for, wanted)
    shutil.rmtree(fresh)
