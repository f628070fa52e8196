"""A private certificate authority, and the server certificates that it signs."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cluster.host.machine import run

DAYS = "3650"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make_authority(at: Path, name: str) -> None:
    """Create ca.crt and ca.key in the folder `at`."""
    files = ["-keyout", f"{at}/ca.key", "-out", f"{at}/ca.crt"]
    use = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    run(["openssl", "req", "-x509", *KEY, *files, "-days", DAYS, "-subj", f"/CN={name}", *use])
    (at / "ca.key").chmod(0o600)


def make_server(
    authority: Path, at: Path, name: str, hosts: Sequence[str], days: str = DAYS
) -> None:
    """Create NAME.crt and NAME.key in the folder `at`, for these host names and addresses."""
    (at / f"{name}.ext").write_text(
        f"subjectAltName={','.join(_to_alternative_name(host) for host in hosts)}\n"
        "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
    )
    out = ["-keyout", f"{at}/{name}.key", "-out", f"{at}/{name}.csr", "-subj", f"/CN={hosts[0]}"]
    run(["openssl", "req", "-new", *KEY, *out])
    signer = ["-CA", f"{authority}/ca.crt", "-CAkey", f"{authority}/ca.key", "-CAcreateserial"]
    files = ["-in", f"{at}/{name}.csr", "-out", f"{at}/{name}.crt", "-extfile", f"{at}/{name}.ext"]
    run(["openssl", "x509", "-req", *files, *signer, "-days", days])
    (at / f"{name}.key").chmod(0o400)


def _to_alternative_name(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"
