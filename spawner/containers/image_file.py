"""CPU architecture of a container image, read from its file or the OCI layout it was packed from.

A SIF header consists of a 32-byte launch script, a magic word, a version and an architecture code.
When packing layers, Apptainer always writes the code of its own machine; the true architecture is
only in the registry's description, which is in the cache after a pull.
"""

from __future__ import annotations

import json
import platform
import re
from pathlib import Path
from typing import Any

MAGIC_AT, MAGIC = 32, b"SIF_MAGIC\0"
ARCHITECTURE_AT = 45
HEADER_BYTES = 48
MAX_JSON_BYTES = 8 * 1024 * 1024
CODES = {
    b"01": "386",
    b"02": "amd64",
    b"03": "arm",
    b"04": "arm64",
    b"05": "ppc64",
    b"06": "ppc64le",
    b"11": "s390x",
    b"12": "riscv64",
}
MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


class NotAnImage(Exception):
    """The file is not a SIF image."""


def this_architecture() -> str:
    """Return this machine's architecture, under the name that registries use."""
    machine = platform.machine()
    return MACHINES.get(machine, machine)


def file_architecture(path: Path) -> str | None:
    """Return the architecture in a SIF's header, or None for an unknown code.

    Raises NotAnImage, and OSError for a file that cannot be read.
    """
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if header[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        raise NotAnImage(f"{path.name} is not an image: it doesn't have the header of one")
    return CODES.get(header[ARCHITECTURE_AT : ARCHITECTURE_AT + 2])


def layout_architecture(layout: Path) -> str | None:
    """Return the architecture of the last image in an OCI layout folder; None if unspecified."""
    try:
        index = _load_json(layout / "index.json")
        manifest = _load_blob(layout, index["manifests"][-1]["digest"])
        architecture = _load_blob(layout, manifest["config"]["digest"]).get("architecture")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return str(architecture) if architecture else None


def _load_blob(layout: Path, digest: str) -> Any:
    named = _DIGEST.fullmatch(digest)
    if named is None:
        raise ValueError(f"{digest[:100]} is not a sha256 digest")
    return _load_json(layout / "blobs" / "sha256" / named.group(1))


def _load_json(path: Path) -> Any:
    with path.open("rb") as file:
        content = file.read(MAX_JSON_BYTES + 1)
    if len(content) > MAX_JSON_BYTES:
        raise ValueError(f"{path} is too long to be a description")
    return json.loads(content)
