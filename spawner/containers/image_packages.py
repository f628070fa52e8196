"""Package versions of an image, listed once when it is built, in a file beside it.

`LISTING` runs inside any image: a shell and find(1), and sed for R, suffice. Standard library only;
deploy/images/builder.py writes the file, the portal reads it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path

SUFFIX = ".packages.json"
MAX_BYTES = 1 << 20
# For Python, folder names contain name and version; for R, DESCRIPTION contains both.
LISTING = r"""
find /usr /opt -xdev \( -name '*.dist-info' -o -name '*.egg-info' \) -prune -print 2>/dev/null
for file in /usr/lib/R/library/*/DESCRIPTION /usr/lib/R/site-library/*/DESCRIPTION \
  /usr/local/lib/R/site-library/*/DESCRIPTION; do
  [ -f "$file" ] && sed -n 's/^Package: */R-package /p; s/^Version: */R-version /p' "$file"
done
true
"""
_FOLDER = re.compile(
    r".*/(?P<name>[^/-]+)-(?P<version>[^/-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info", re.ASCII
)
_SEPARATORS = re.compile(r"[-_.]+")


def parse_listing(text: str) -> dict[str, str]:
    """Return versions by normalized name from the output of LISTING.

    A package installed in several versions, for different Pythons, is omitted.
    """
    by_name: dict[str, set[str]] = {}
    package = ""
    for line in text.splitlines():
        kind, _, value = line.partition(" ")
        if kind == "R-package":
            package = value.strip()
        elif kind == "R-version":
            by_name.setdefault(normalize_name(package), set()).add(value.strip())
        elif "/_vendor/" not in line and (match := _FOLDER.fullmatch(line)):
            by_name.setdefault(normalize_name(match["name"]), set()).add(match["version"])
    return {name: min(versions) for name, versions in sorted(by_name.items()) if len(versions) == 1}


def normalize_name(name: str) -> str:
    """Return a package's name as indexes compare them (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def versions_of(image: Path) -> Mapping[str, str]:
    """Return the versions of an image's packages by normalized name, as far as they are known."""
    try:
        file = package_list_path(image.resolve())
        return _load_versions(file, file.stat().st_mtime_ns)
    except (OSError, TypeError, ValueError):
        return {}


def package_list_path(image: Path) -> Path:
    """Return the path of an image's package list."""
    return image.with_name(image.name + SUFFIX)


@functools.lru_cache(maxsize=256)
def _load_versions(file: Path, _changed: int) -> Mapping[str, str]:
    with file.open("rb") as opened:
        document = json.loads(opened.read(MAX_BYTES))
    if not isinstance(document, dict):
        raise TypeError(f"{file} holds no object")
    return {str(name): str(version) for name, version in document.items()}


def is_cpu_build(versions: Mapping[str, str]) -> bool:
    """Return whether the image's framework was built without CUDA, according to its version."""
    return versions.get("torch", "").endswith("+cpu")
