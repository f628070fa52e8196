"""The machine's own apt sources, parsed and redirected to another suite of Debian.

The machine's configured mirrors, proxies and keys thus remain in use, and this project contains no
address of its own. Pure except for `read_sources`; independent of apt and of the packages fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class AptSource:
    """One archive: its location, suites and components, and how its signature is checked."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()

    def deb822(self) -> str:
        """Return the stanza for a `.sources` file (sources.list(5))."""
        lines = [
            "Types: deb",
            f"URIs: {' '.join(self.uris)}",
            f"Suites: {' '.join(self.suites)}",
            f"Components: {' '.join(self.components)}",
            *(f"{name}: {value}" for name, value in self.options),
        ]
        return "\n".join(lines) + "\n"


# The one-line format's names of the options that control signature checks.
_ONE_LINE_OPTIONS = {
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
}
_KEPT_FIELDS = {name.lower(): name for name in _ONE_LINE_OPTIONS.values()}


def read_sources(apt_folder: Path = Path("/etc/apt")) -> list[AptSource]:
    """Return all binary archives that the machine is configured with."""
    parts = apt_folder / "sources.list.d"
    one_line = [apt_folder / "sources.list", *sorted(parts.glob("*.list"))]
    sources: list[AptSource] = []
    for path in one_line:
        if path.is_file():
            sources.extend(parse_one_line(path.read_text(encoding="utf-8")))
    for path in sorted(parts.glob("*.sources")):
        sources.extend(parse_deb822(path.read_text(encoding="utf-8")))
    return sources


def parse_one_line(text: str) -> list[AptSource]:
    """Parse lines of the form `deb [option=value …] URI SUITE COMPONENT…`."""
    sources = []
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^]]*)\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if match is None:
            continue
        pairs = (pair.partition("=") for pair in (match[1] or "").split())
        options = tuple(
            (_ONE_LINE_OPTIONS[name.lower()], value)
            for name, _, value in pairs
            if name.lower() in _ONE_LINE_OPTIONS
        )
        sources.append(AptSource((match[2],), (match[3],), tuple(match[4].split()), options))
    return sources


def parse_deb822(text: str) -> list[AptSource]:
    """Parse stanzas of `Field: value`; lines that begin with a space continue a value."""
    sources = []
    for stanza in re.split(r"\n[ \t]*\n", "\n".join(_strip_comments(text))):
        fields = {
            name.lower(): value.strip("\n").strip(" ")
            for name, value in re.findall(r"^([\w-]+):(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE)
        }
        disabled = fields.get("enabled", "yes").lower() in {"no", "false", "0"}
        if disabled or "deb" not in fields.get("types", "").split():
            continue
        options = tuple((_KEPT_FIELDS[f], v) for f, v in fields.items() if f in _KEPT_FIELDS)
        uris, suites, components = (
            tuple(fields.get(f, "").split()) for f in ("uris", "suites", "components")
        )
        sources.append(AptSource(uris, suites, components, options))
    return sources


def for_suites(
    sources: Iterable[AptSource], codename: str, suites: Iterable[str]
) -> list[AptSource]:
    """Return Debian's archives of `codename`, the machine's release, redirected to `suites`.

    A wanted suite is fetched from the archive of its counterpart: `trixie-security` from the
    archive that has `bookworm-security`, plain `sid` from the one that has `bookworm`. Suites
    without a counterpart are omitted. Raises ValueError if the plain release has none.
    """
    selected: list[AptSource] = []
    for suite in suites:
        pocket = "".join(re.findall(r"-(?:security|updates)$", suite))
        matching = [s for s in sources if codename + pocket in s.suites and "main" in s.components]
        selected.extend(AptSource(s.uris, (suite,), ("main",), s.options) for s in matching[:1])
        if not matching and not pocket:
            raise ValueError(
                f"no apt source of this machine has {codename}, so {suite} can't be found"
            )
    return selected


def _strip_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]
