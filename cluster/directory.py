"""The LDAP directory's first content and its certificates, each made whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cluster.certificates import make_authority, make_server
from cluster.machine import folder, run
from cluster.paths import Paths
from cluster.render import Cluster

AS_OPENLDAP = ("setpriv", "--reuid", "openldap", "--regid", "openldap", "--clear-groups")


def ensure_certificates(paths: Paths, head: str) -> None:
    """An own CA and the server's certificate for the head's address; renewed when that changes."""
    made_for = paths.tls / "address"
    if made_for.exists() and made_for.read_text() == head:
        return
    fresh = folder(paths.state / "tls.new", mode=0o700)
    make_authority(fresh, "Cluster directory CA")
    make_server(fresh, fresh, "ldap", ["head", "localhost", head, "127.0.0.1"])
    (fresh / "address").write_text(head)
    shutil.chown(fresh / "ldap.key", "openldap", "openldap")
    shutil.rmtree(paths.tls, ignore_errors=True)
    fresh.chmod(0o755)
    fresh.rename(paths.tls)


def ensure_database(cluster: Cluster, ldif: str) -> None:
    """Before slapd runs: a new tree, or what `ldif` has gained since the tree was made."""
    database = cluster.paths.data / "ldap"
    if not database.exists():
        _load_whole(cluster, database, ldif)
        return
    conf = str(cluster.paths.etc / "slapd.conf")
    missing = absent(ldif, _as_openldap(["slapcat", "-f", conf]))
    if missing:
        _as_openldap(["slapadd", "-f", conf], stdin=missing)


def absent(ldif: str, existing: str) -> str:
    """The entries of `ldif` whose DN isn't among those of `existing`."""
    there = {line for line in existing.splitlines() if line.startswith("dn: ")}
    entries = [entry.strip() for entry in ldif.split("\n\n") if entry.strip()]
    return "".join(f"{entry}\n\n" for entry in entries if entry.split("\n", 1)[0] not in there)


def _load_whole(cluster: Cluster, database: Path, ldif: str) -> None:
    """Offline, into a new folder that is renamed into place when complete."""
    fresh = cluster.paths.data / "ldap.new"
    shutil.rmtree(fresh, ignore_errors=True)
    folder(fresh, "openldap", 0o700)
    # slapadd writes where the configuration says: point a copy of it at the new folder
    conf = (cluster.paths.etc / "slapd.conf").read_text().replace(str(database), str(fresh))
    (fresh / "slapd.conf").write_text(conf)
    _as_openldap(["slapadd", "-q", "-f", str(fresh / "slapd.conf")], stdin=ldif)
    (fresh / "slapd.conf").unlink()
    fresh.rename(database)


def _as_openldap(argv: list[str], stdin: str = "") -> str:
    """A container's slapd has its own account from the start."""
    return run([*(AS_OPENLDAP if os.geteuid() == 0 else ()), *argv], stdin=stdin)
