"""Secrets that the portal must be able to read again, encrypted in the database.

AES-256-GCM under a key that lies in a file of its own beside the database, mode 0600 and made at
first need: a copy of the database alone is worth nothing. Each text is bound to whose it is, so
that a row's secret moved to another row doesn't open.
"""

import base64
import os
import secrets
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from portal.settings import read_secret

KEY_BYTES = 32
NONCE_BYTES = 12


class SealBroken(Exception):
    """What is kept can't be read: the key is another's, or the text was changed or moved."""


def seal(key: bytes, secret: bytes, *, owner: str) -> str:
    """Encrypt, bound to `owner`; the answer is text for the database."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, secret, owner.encode())).decode()


def unseal(key: bytes, text: str, *, owner: str) -> bytes:
    """The secret again; raises SealBroken."""
    raw = base64.b64decode(text)
    try:
        return AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], owner.encode())
    except InvalidTag as error:
        raise SealBroken from error


def key_of(path: Path) -> bytes:
    """The key in this file, which is made if it isn't there.

    Raises ValueError for a file that others can read or that holds something else.
    """
    if not path.exists():
        _make(path)
    key = base64.b64decode(read_secret(path), validate=True)
    if len(key) != KEY_BYTES:
        raise ValueError(f"{path} doesn't hold a key of {KEY_BYTES} bytes in base64")
    return key


def _make(path: Path) -> None:
    """Write it whole, then link it to its name: of two processes at once one's key stays."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # made 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            Path(path).hardlink_to(name)
        except FileExistsError:
            return
    finally:
        Path(name).unlink()
