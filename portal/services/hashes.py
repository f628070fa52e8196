"""Hashing of random secrets, so that a copy of the database grants no access."""

import hashlib


def hash_token(token: str) -> str:
    """Return the SHA-256 of a token.

    That is enough for 80 random bits and more; slow hashes are for secrets that users choose.
    """
    return hashlib.sha256(token.encode()).hexdigest()
