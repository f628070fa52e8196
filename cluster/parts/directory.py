"""The LDAP directory's initial content and its certificates, each created atomically."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cluster.config.certificates import make_authority, make_server
from cluster.config.paths import Paths
from cluster.config.render import Cluster
from cluster.host.machine import folder, run

AS_OPENLDAP = ("setpriv", "--reuid", "openldap", "--regid", "openldap", "--clear-groups")


def ensure_certificates(paths: Paths, head: str) -> None:
    """Create a CA and a server certificate for the head's address; renew both when that changes."""
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
    """Before slapd starts: create the database, or add the entries that `ldif` has gained since."""
    database = cluster.paths.data / "ldap"
    if not database.exists():
        _create_database(cluster, database, ldif)
        return
    conf = str(cluster.paths.etc / "slapd.conf")
    missing = absent(ldif, _as_openldap(["slapcat", "-f", conf]))
    if missing:
        _as_openldap(["slapadd", "-f", conf], stdin=missing)


def absent(ldif: str, existing: str) -> str:
    """Return the entries of `ldif` whose DN is not in `existing`."""
    existing_entries = {line for line in existing.splitlines() if line.startswith("dn: ")}
    entries = [entry.strip() for entry in ldif.split("\n\n") if entry.strip()]
    return "".join(
        f"{entry}\n\n" for entry in entries if entry.split("\n", 1)[0] not in existing_entries
    )


def _create_database(cluster: Cluster, database: Path, ldif: str) -> None:
    """Load the database offline into a new folder that is renamed into place when complete."""
    fresh = cluster.paths.data / "ldap.new"
    shutil.rmtree(fresh, ignore_errors=True)
    folder(fresh, "openldap", 0o700)
    # slapadd writes to the configured folder: use a copy of the configuration with the new one
    conf = (cluster.paths.etc / "slapd.conf").read_text().replace(str(database), str(fresh))
    (fresh / "slapd.conf").write_text(conf)
    _as_openldap(["slapadd", "-q", "-f", str(fresh / "slapd.conf")], stdin=ldif)
    (fresh / "slapd.conf").unlink()
    fresh.rename(database)


def _as_openldap(argv: list[str], stdin: str = "") -> str:
    """Run as the openldap account; in a container, slapd's process already has its own account."""
    return run([*(AS_OPENLDAP if os.geteuid() == 0 else ()), *argv], stdin=stdin)
