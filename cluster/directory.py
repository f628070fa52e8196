"""The LDAP directory's first content and its certificates, each made whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

from cluster import secret
from cluster.machine import folder, run
from cluster.paths import Paths
from cluster.render import Cluster, base_ldif

DAYS = "3650"
AS_OPENLDAP = ("setpriv", "--reuid", "openldap", "--regid", "openldap", "--clear-groups")


def ensure_certificates(paths: Paths, head: str) -> None:
    """An own CA and the server's certificate for the head's address; renewed when that changes."""
    made_for = paths.tls / "address"
    if made_for.exists() and made_for.read_text() == head:
        return
    fresh = folder(paths.state / "tls.new", mode=0o700)
    _make_ca(fresh)
    _make_server(fresh, head)
    (fresh / "address").write_text(head)
    shutil.chown(fresh / "ldap.key", "openldap", "openldap")
    shutil.rmtree(paths.tls, ignore_errors=True)
    fresh.chmod(0o755)
    fresh.rename(paths.tls)


def _make_ca(at: Path) -> None:
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    files = ["-keyout", f"{at}/ca.key", "-out", f"{at}/ca.crt"]
    use = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    run([*request, "-nodes", *files, "-days", DAYS, "-subj", "/CN=Cluster directory CA", *use])
    (at / "ca.key").chmod(0o600)


def _make_server(at: Path, head: str) -> None:
    (at / "ldap.ext").write_text(
        f"subjectAltName=DNS:head,DNS:localhost,IP:{head},IP:127.0.0.1\n"
        "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
    )
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    out = ["-keyout", f"{at}/ldap.key", "-out", f"{at}/ldap.csr", "-subj", "/CN=head"]
    run(["openssl", "req", "-new", *key, *out])
    signer = ["-CA", f"{at}/ca.crt", "-CAkey", f"{at}/ca.key", "-CAcreateserial", "-days", DAYS]
    files = ["-in", f"{at}/ldap.csr", "-out", f"{at}/ldap.crt", "-extfile", f"{at}/ldap.ext"]
    run(["openssl", "x509", "-req", *files, *signer])
    (at / "ldap.key").chmod(0o400)


def ensure_database(cluster: Cluster, secrets: secret.Secrets) -> None:
    """Before slapd runs: a new tree, or what the description has gained since the tree was made."""
    ldif = base_ldif(cluster, secret.crypted(secrets.passwords))
    database = cluster.paths.data / "ldap"
    if not database.exists():
        _load_whole(cluster, database, ldif)
        return
    conf = str(cluster.paths.etc / "slapd.conf")
    missing = absent(ldif, run([*AS_OPENLDAP, "slapcat", "-f", conf]))
    if missing:
        run([*AS_OPENLDAP, "slapadd", "-f", conf], stdin=missing)


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
    run([*AS_OPENLDAP, "slapadd", "-q", "-f", str(fresh / "slapd.conf")], stdin=ldif)
    (fresh / "slapd.conf").unlink()
    fresh.rename(database)
