"""How random secrets are kept: by their hash, so that the database opens nothing."""

import hashlib


def hash_token(token: str) -> str:
    """SHA-256 is enough for 80 random bits and more; a slow hash is for what people choose."""
    return hashlib.sha256(token.encode()).hexdigest()
