"""Licenses of the packages that the portal installs, from their own metadata."""

from __future__ import annotations

import re
from importlib import metadata

from tests.paths import CHECKOUT

LOCK = (CHECKOUT / "requirements.lock").read_text()
PERMISSIVE = re.compile(r"\b(MIT|MIT-0|BSD|Apache|PSF|Python Software Foundation|ISC)\b")
# installed unchanged, as packages of their own; docs/decisions/0005-libraries.md names them
WEAK_COPYLEFT = {
    "ldap3": "LGPL",
    "psycopg": "LGPL",
    "psycopg-binary": "LGPL",
    "certifi": "MPL",
    "fqdn": "MPL",
}


def license_of(name: str) -> str | None:
    """Return what a package declares; None for one of another platform."""
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    classifiers = [text for text in found.get_all("Classifier", []) if "License ::" in text]
    expressions = found.get_all("License-Expression", []) or classifiers
    return "; ".join(expressions or found.get_all("License", []))


def test_every_license_is_permissive_or_named() -> None:
    names = re.findall(r"^([A-Za-z0-9._-]+)==", LOCK, re.MULTILINE)
    licenses = {name: text for name in names if (text := license_of(name)) is not None}
    assert len(licenses) > len(names) - 5, "the others are of Windows or another Python"
    others = {name: text for name, text in licenses.items() if not PERMISSIVE.search(text)}
    assert others.keys() == WEAK_COPYLEFT.keys()
    for name, text in others.items():
        is_lesser = "Lesser" in text or "LGPL" in text
        is_mozilla = "Mozilla" in text or "MPL" in text
        assert {"LGPL": is_lesser, "MPL": is_mozilla}[WEAK_COPYLEFT[name]], (name, text)
