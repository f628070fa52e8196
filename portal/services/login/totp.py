"""Codes of authenticator apps (RFC 6238: SHA-1, six digits, 30 seconds) and recovery codes.

Pure but for fresh randomness. Nothing here knows who somebody is or what was used before.
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
    """160 random bits, the length that RFC 4226 recommends."""
    return secrets.token_bytes(SECRET_BYTES)


def typed(secret: bytes) -> str:
    """The secret as an app wants it typed: base32 without padding."""
    return base64.b32encode(secret).decode().rstrip("=")


def key_uri(secret: bytes, *, issuer: str, account: str) -> str:
    """What the QR code says: `otpauth://totp/…`, as all authenticator apps read it."""
    label = quote(f"{issuer}:{account}", safe="")
    query = {"secret": typed(secret), "issuer": issuer, "digits": DIGITS, "period": STEP_S}
    return f"otpauth://totp/{label}?{urlencode(query, quote_via=quote)}"


def step_at(unix_s: float) -> int:
    """The number of the 30-second step that a moment lies in."""
    return int(unix_s // STEP_S)


def code_at(secret: bytes, step: int, digits: int = DIGITS) -> str:
    """The code of one time step (RFC 4226's HOTP of it)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), hashlib.sha1)
    start = digest[-1] & 0xF
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


def matching_step(secret: bytes, code: str, unix_s: float, *, after: int) -> int | None:
    """The step whose code this is: the present one or a neighbour, for clocks that differ.

    Steps up to `after` don't count, for a code of theirs may have been used; so the same code is
    good once. Every candidate is compared, in constant time.
    """
    if not _TOTP.fullmatch(code):
        return None
    now = step_at(unix_s)
    found = None
    for step in range(now - SKEW_STEPS, now + SKEW_STEPS + 1):
        same = hmac.compare_digest(code_at(secret, step), code)
        if same and step > after and found is None:
            found = step
    return found


def cleaned(code: str) -> str:
    """A code as it was meant, however it was typed: no spaces, no hyphens, small letters."""
    return _SEPARATORS.sub("", code).lower()


def is_recovery_code(code: str) -> bool:
    """Whether a cleaned code has the form of a recovery code."""
    return _RECOVERY.fullmatch(code) is not None


def new_recovery_codes() -> list[str]:
    """Ten codes of 80 random bits, as they are shown: `abcd-efgh-ijkl-mnop`.

    So many bits that a fast hash keeps them: guessing one from its hash takes 2⁷⁹ tries.
    """
    return [_shown(secrets.token_bytes(RECOVERY_BYTES)) for _ in range(RECOVERY_CODES)]


def _shown(random: bytes) -> str:
    text = base64.b32encode(random).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))
