"""Grant by which the portal admits one SSH connection to a session or a batch job.

Pure.

The portal's gate, which nginx asks about each request (auth_request), signs the grant, and nginx
passes it on in a header. It names the access token that opened the connection, so that the node
program can ask whether it is still valid, and the public key that sshd may accept. Neither is
secret. The signature covers both and the path, so a grant that was read on the cluster's network
opens nothing without the key's private half.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from spawner import signing
from spawner.names import UUID

GRANT_HEADER = "X-Portal-Ssh-Grant"
KEY_HEADER = "X-Portal-Ssh-Key"
"""Header in which a client sends its public key."""
HOST_KEY_HEADER = "X-Portal-Ssh-Host-Key"
"""Header of the answer with the host key of the session or job."""
METHOD = "SSH"
"""What is signed in place of an HTTP method: no other signature is a grant."""
MAX_KEY_CHARS = 1500
"""Length of a key; RSA with 8192 bits has about 1,400 characters."""
KEY_TYPES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
)
_KEY = re.compile(r"(?P<type>[a-z0-9@.-]{1,60}) (?P<blob>[A-Za-z0-9+/]{16,}={0,2})(?: .*)?")


class BadKey(ValueError):
    """A text is not a public key that sshd may accept; the message gives the reason."""


class BadGrant(ValueError):
    """A grant is not the gate's, not for this path, or too old."""


@dataclass(frozen=True)
class SshGrant:
    """An admitted connection: the id of its access token, and its public key without a comment."""

    token_id: str
    public_key: str


def parse_public_key(text: str) -> str:
    """Return a public key as type and base64, without its comment. Raises BadKey.

    The result contains no options, quotes or line breaks: it becomes a line of sshd's
    authorized_keys.
    """
    found = _KEY.fullmatch(text.strip())
    if found is None or len(text) > MAX_KEY_CHARS:
        raise BadKey("This is not a public key: it has the form “ssh-ed25519 AAAA…”.")
    if found["type"] not in KEY_TYPES:
        raise BadKey(f"Keys of this type are not accepted. Accepted are {', '.join(KEY_TYPES)}.")
    try:
        blob = base64.b64decode(found["blob"], validate=True)
    except binascii.Error as error:
        raise BadKey("This public key is damaged.") from error
    name = found["type"].encode()
    if blob[: 4 + len(name)] != len(name).to_bytes(4) + name:
        raise BadKey("This public key is damaged: its type is not the one in its data.")
    return f"{found['type']} {found['blob']}"


def render_grant(key: str, path: str, grant: SshGrant, now_s: float) -> str:
    """Return the header's value. `key` is the node program's secret, `path` the requested one."""
    signature = signing.sign(key, METHOD, _signed_text(path, grant), now_s)
    return f"{signature} {grant.token_id} {grant.public_key}"


def parse_grant(key: str, path: str, text: str, now_s: float) -> SshGrant:
    """Return the grant if the gate made it for this path, minutes ago at most.

    Raises BadGrant, BadKey.
    """
    signature, _, rest = text.partition(" ")
    token_id, _, public_key = rest.partition(" ")
    grant = SshGrant(token_id, public_key)
    if not signing.is_signed(key, METHOD, _signed_text(path, grant), signature, now_s):
        raise BadGrant("the grant is not valid")
    if UUID.fullmatch(token_id) is None:
        raise BadGrant("the grant names no token")
    return SshGrant(token_id, parse_public_key(public_key))


def _signed_text(path: str, grant: SshGrant) -> str:
    return f"{path}\n{grant.token_id}\n{grant.public_key}"
