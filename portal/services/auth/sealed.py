"""Encryption of secrets that the portal must be able to read back from the database.

AES-256-GCM with a key in a separate file beside the database (mode 0600, created on first use), so
that a copy of the database alone is useless. Each ciphertext is bound to its owner, so that it does
not decrypt in another owner's row.
"""

import base64
import os
import secrets
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from portal.config.settings import read_secret

KEY_BYTES = 32
NONCE_BYTES = 12


class SealBroken(Exception):
    """The secret cannot be decrypted: another key, or the text was changed or moved."""


def seal(key: bytes, secret: bytes, *, owner: str) -> str:
    """Encrypt a secret, bound to `owner`. Return text for the database."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, secret, owner.encode())).decode()


def unseal(key: bytes, text: str, *, owner: str) -> bytes:
    """Decrypt a secret. Raises SealBroken."""
    raw = base64.b64decode(text)
    try:
        return AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], owner.encode())
    except InvalidTag as error:
        raise SealBroken from error


def key_of(path: Path) -> bytes:
    """Return the key in this file, creating the file if it does not exist.

    Raises ValueError if others can read the file or its content is not a key.
    """
    if not path.exists():
        _create_key(path)
    key = base64.b64decode(read_secret(path), validate=True)
    if len(key) != KEY_BYTES:
        raise ValueError(f"{path} doesn't hold a key of {KEY_BYTES} bytes in base64")
    return key


def _create_key(path: Path) -> None:
    """Write the key to a temporary file and link it: of two processes, one key wins."""
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
