"""The cluster's secrets: created once, kept in one 0600 file, written as 0400 files.

They are never an argument of a program, and never in a log.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from cluster.config.description import Layout
from cluster.config.paths import Paths
from cluster.host.machine import run, write

LDAP_ACCOUNTS = ("cn=portal", "cn=nslcd")
TOKENS = ("hub_token", "internal_secret", "cookie_secret")


@dataclass(frozen=True)
class Secrets:
    """`passwords`: of users and of LDAP service accounts (`cn=…`); `tokens`: between the
    services."""

    passwords: Mapping[str, str]
    tokens: Mapping[str, str]

    def credentials(self, layout: Layout) -> dict[str, str]:
        return {user.name: self.passwords[user.name] for user in layout.users}


def ensure(paths: Paths, layout: Layout) -> Secrets:
    """Load the saved secrets, and create and save the missing ones."""
    saved = json.loads(paths.secrets.read_text()) if paths.secrets.exists() else {}
    passwords, tokens = saved.get("passwords", {}), saved.get("tokens", {})
    for name in (*LDAP_ACCOUNTS, *(user.name for user in layout.users)):
        passwords.setdefault(name, secrets.token_urlsafe(12))
    for name in TOKENS:
        tokens.setdefault(name, secrets.token_hex(32))
    updated = {"passwords": passwords, "tokens": tokens}
    write(paths.secrets, json.dumps(updated, indent=1) + "\n", mode=0o600)
    return Secrets(passwords, tokens)


def crypted(passwords: Mapping[str, str]) -> dict[str, str]:
    """Return each password as LDAP's {CRYPT} value (SHA-512); passwords go to openssl on stdin."""
    names = list(passwords)
    text = "".join(f"{passwords[name]}\n" for name in names)
    hashes = run(["openssl", "passwd", "-6", "-stdin"], stdin=text).split()
    return {name: "{CRYPT}" + hashed for name, hashed in zip(names, hashes, strict=True)}
