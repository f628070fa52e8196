"""Host key of the sshd of a session or a batch job, derived from the secret of its node program.

Pure.

The portal and the node program have the secret, so both know the key without sending or storing
it, and the portal can name it to the owner's client before the sshd has shown it. The key stays the
same when the portal submits the job again, or Slurm requeues it.
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def render_public_key(secret: str) -> str:
    """Return the public half as in known_hosts: `ssh-ed25519 AAAA…`."""
    public = _derive(secret).public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def render_private_key(secret: str) -> str:
    """Return the private half as the text of sshd's HostKey file."""
    private = _derive(secret)
    return private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def _derive(secret: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(
        hmac.digest(secret.encode(), b"ssh host key", hashlib.sha256)
    )
