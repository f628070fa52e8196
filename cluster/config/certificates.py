"""A private certificate authority, and the server certificates that it signs."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cluster.host.machine import run

DAYS = "3650"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make_authority(directory: Path, name: str) -> None:
    """Create ca.crt and ca.key in `directory`."""
    files = ["-keyout", f"{directory}/ca.key", "-out", f"{directory}/ca.crt"]
    use = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    run(["openssl", "req", "-x509", *KEY, *files, "-days", DAYS, "-subj", f"/CN={name}", *use])
    (directory / "ca.key").chmod(0o600)


def make_server(
    authority: Path, directory: Path, name: str, hosts: Sequence[str], days: str = DAYS
) -> None:
    """Create NAME.crt and NAME.key in `directory`, for these host names and addresses."""
    (directory / f"{name}.ext").write_text(
        f"subjectAltName={','.join(_to_alternative_name(host) for host in hosts)}\n"
        "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
    )
    out = [
        "-keyout",
        f"{directory}/{name}.key",
        "-out",
        f"{directory}/{name}.csr",
        "-subj",
        f"/CN={hosts[0]}",
    ]
    run(["openssl", "req", "-new", *KEY, *out])
    signer = ["-CA", f"{authority}/ca.crt", "-CAkey", f"{authority}/ca.key", "-CAcreateserial"]
    files = [
        "-in",
        f"{directory}/{name}.csr",
        "-out",
        f"{directory}/{name}.crt",
        "-extfile",
        f"{directory}/{name}.ext",
    ]
    run(["openssl", "x509", "-req", *files, *signer, "-days", days])
    (directory / f"{name}.key").chmod(0o400)


def _to_alternative_name(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"
