"""Keyed hashes by which the portal and a program on a node authenticate each other.

A session's server proves with them that it still has its port.

The key itself is never sent. A request's signature is bound to its time, method and target, so an
intercepted one opens one address for a few minutes. The answer proves that it comes from a program
with the same key: a program that took over a TensorBoard's port cannot produce it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

SIGNATURE_HEADER = "X-Portal-Signature"
PROOF_HEADER = "X-Portal-Proof"
LIFETIME_S = 300
"""As long as munge's credentials: a cluster does not work with a larger clock difference."""


def sign(key: str, method: str, target: str, now_s: float) -> str:
    """Return the signature of a request; `target` is the path with its query, as sent."""
    head = f"{int(now_s)}.{secrets.token_urlsafe(12)}"
    return f"{head}.{_mac(key, 'request', head, method, target)}"


def is_signed(key: str, method: str, target: str, signature: str, now_s: float) -> bool:
    """Return whether a signature was made with `key`, for this request, within `LIFETIME_S`."""
    head, _, mac = signature.rpartition(".")
    expected = _mac(key, "request", head, method, target)
    if not hmac.compare_digest(mac.encode(errors="replace"), expected.encode()):
        return False
    return abs(now_s - int(head.partition(".")[0])) <= LIFETIME_S


def with_body(target: str, body: bytes) -> str:
    """Return the target to sign for a request with this body, which the signature covers, too."""
    if not body:
        return target
    return f"{target}\n{hashlib.sha256(body).hexdigest()}"


def prove(key: str, signature: str) -> str:
    """Return the proof that the answer to a request with this signature must carry."""
    return _mac(key, "answer", signature)


def is_proven(key: str, signature: str, proof: str) -> bool:
    """Return whether an answer comes from a program that has `key`."""
    expected = prove(key, signature)
    return hmac.compare_digest(proof.encode(errors="replace"), expected.encode())


def _mac(key: str, *parts: str) -> str:
    text = "\n".join(parts).encode(errors="replace")
    return hmac.new(key.encode(), text, hashlib.sha256).hexdigest()
