"""Decoding of a directory's password policy responses, and messages for them. Pure.

Two formats: OpenLDAP's password policy control (draft-behera-ldap-password-policy-10), and the
`data NNN` codes in Active Directory's diagnostic message.
"""

import re
from collections.abc import Iterator
from enum import IntEnum

CONTROL_OID = "1.3.6.1.4.1.42.2.27.8.5.1"
REQUEST_CONTROL = (CONTROL_OID, False, None)

_SEQUENCE = 0x30
_WARNING = 0xA0
_ERROR = 0x81
_GRACE = 0x81


class PolicyError(IntEnum):
    """The control's `error` field, section 6.2 of the draft."""

    PASSWORD_EXPIRED = 0
    ACCOUNT_LOCKED = 1
    CHANGE_AFTER_RESET = 2
    MODIFICATION_NOT_ALLOWED = 3
    MUST_SUPPLY_OLD_PASSWORD = 4
    INSUFFICIENT_QUALITY = 5
    TOO_SHORT = 6
    TOO_YOUNG = 7
    IN_HISTORY = 8


_AD_CODES = {
    "532": PolicyError.PASSWORD_EXPIRED,
    "773": PolicyError.CHANGE_AFTER_RESET,
    "775": PolicyError.ACCOUNT_LOCKED,
}

# Disabled, and expired: reported only for a correct password.
_AD_CLOSED = {"533", "701"}

# slapd refuses a password with one of these if it sends no control.
_DIAGNOSTICS = (
    ("too short", PolicyError.TOO_SHORT),
    ("too young", PolicyError.TOO_YOUNG),
    ("history", PolicyError.IN_HISTORY),
    ("quality", PolicyError.INSUFFICIENT_QUALITY),
    ("not permitted", PolicyError.MODIFICATION_NOT_ALLOWED),
)

CHANGE_SENTENCES = {
    PolicyError.TOO_SHORT: "The new password is too short for the directory's rules.",
    PolicyError.TOO_YOUNG: "The password was changed only recently; try again later.",
    PolicyError.IN_HISTORY: "This password was used before. Choose a new one.",
    PolicyError.INSUFFICIENT_QUALITY: (
        "The directory rejects the new password as too simple or too short. Choose a longer one."
    ),
    PolicyError.MODIFICATION_NOT_ALLOWED: "The directory doesn't let you change your password.",
    PolicyError.MUST_SUPPLY_OLD_PASSWORD: "The directory requires the current password as well.",
}


def decode_control(value: bytes) -> PolicyError | None:
    """Return the error in a password policy response control, if there is one.

    The value is `SEQUENCE { warning [0] …, error [1] ENUMERATED }`; anything else is no error.
    """
    for tag, content in _iterate_elements(value):
        if tag == _ERROR and len(content) == 1 and content[0] in set(PolicyError):
            return PolicyError(content[0])
    return None


def decode_grace(value: bytes) -> int:
    """Return how many more logins an expired password is valid for; 0 if the control has no such
    field.

    `warning` is a CHOICE of `timeBeforeExpiration [0]` and `graceAuthNsRemaining [1] INTEGER`.
    """
    for tag, content in _iterate_elements(value):
        if tag == _WARNING and len(content) > 2 and content[0] == _GRACE:
            return int.from_bytes(content[2 : 2 + content[1]], "big")
    return 0


def _iterate_elements(value: bytes) -> Iterator[tuple[int, bytes]]:
    """Iterate over the elements of a SEQUENCE, by tag; none for other bytes.

    Lengths here are below 128.
    """
    if len(value) < 2 or value[0] != _SEQUENCE:
        return
    rest = value[2 : 2 + value[1]]
    while len(rest) >= 2:
        tag, length = rest[0], rest[1]
        content, rest = rest[2 : 2 + length], rest[2 + length :]
        yield tag, content


def active_directory_error(diagnostic: str) -> PolicyError | None:
    return _AD_CODES.get(_active_directory_code(diagnostic))


def is_closed_account(diagnostic: str) -> bool:
    """Return whether Active Directory reports a disabled or expired account after a correct
    password.
    """
    return _active_directory_code(diagnostic) in _AD_CLOSED


def _active_directory_code(diagnostic: str) -> str:
    match = re.search(r"\bdata ([0-9a-f]{3})\b", diagnostic)
    return match.group(1) if match else ""


def change_refusal(policy: PolicyError | None, diagnostic: str) -> str:
    """Return a message with the reason why a new password was refused."""
    if policy is None:
        lower = diagnostic.lower()
        policy = next((error for text, error in _DIAGNOSTICS if text in lower), None)
    if policy is None:
        return "The directory refused the new password. Choose another one."
    return CHANGE_SENTENCES.get(policy, "The directory refused the new password.")
