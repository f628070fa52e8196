"""Codes of authenticator apps (RFC 6238: SHA-1, six digits, 30 seconds) and recovery codes.

Pure but for fresh randomness. This module knows neither users nor which codes were used.
"""

import base64
import hashlib
import hmac
import re
import secrets
from urllib.parse import quote, urlencode

STEP_S = 30
DIGITS = 6
SKEW_STEPS = 1
SECRET_BYTES = 20
RECOVERY_CODES = 10
RECOVERY_BYTES = 10

_TOTP = re.compile(rf"[0-9]{{{DIGITS}}}")
_RECOVERY = re.compile(r"[a-z2-7]{16}")
_SEPARATORS = re.compile(r"[\s-]+")


def new_secret() -> bytes:
    """Return 160 random bits, the length that RFC 4226 recommends."""
    return secrets.token_bytes(SECRET_BYTES)


def encode_secret(secret: bytes) -> str:
    """Return the secret as users type it into an app: base32 without padding."""
    return base64.b32encode(secret).decode().rstrip("=")


def key_uri(secret: bytes, *, issuer: str, account: str) -> str:
    """Return the `otpauth://totp/…` URI for the QR code, as authenticator apps read it."""
    label = quote(f"{issuer}:{account}", safe="")
    query = {"secret": encode_secret(secret), "issuer": issuer, "digits": DIGITS, "period": STEP_S}
    return f"otpauth://totp/{label}?{urlencode(query, quote_via=quote)}"


def step_at(unix_s: float) -> int:
    """Return the number of the 30-second step at this Unix time."""
    return int(unix_s // STEP_S)


def compute_code(secret: bytes, step: int, digits: int = DIGITS) -> str:
    """Return the code of one time step (HOTP of the step, RFC 4226)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), hashlib.sha1)
    start = digest[-1] & 0xF
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


def find_matching_step(secret: bytes, code: str, unix_s: float, *, after: int) -> int | None:
    """Return the step with this code: the current one or a neighbor, for clocks that differ.

    Steps up to `after` do not count: one of their codes may have been used, and a code is valid
    once. Every candidate is compared, in constant time.
    """
    if not _TOTP.fullmatch(code):
        return None
    now = step_at(unix_s)
    match = None
    for step in range(now - SKEW_STEPS, now + SKEW_STEPS + 1):
        same = hmac.compare_digest(compute_code(secret, step), code)
        if same and step > after and match is None:
            match = step
    return match


def normalize_code(code: str) -> str:
    """Normalize a typed code: no spaces or hyphens, lower case."""
    return _SEPARATORS.sub("", code).lower()


def is_recovery_code(code: str) -> bool:
    """Return whether a normalized code has the form of a recovery code."""
    return _RECOVERY.fullmatch(code) is not None


def new_recovery_codes() -> list[str]:
    """Return ten codes of 80 random bits, in display form: `abcd-efgh-ijkl-mnop`.

    With so many bits a fast hash is safe: guessing one from its hash takes 2⁷⁹ tries.
    """
    return [
        _format_recovery_code(secrets.token_bytes(RECOVERY_BYTES)) for _ in range(RECOVERY_CODES)
    ]


def _format_recovery_code(random: bytes) -> str:
    text = base64.b32encode(random).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))
