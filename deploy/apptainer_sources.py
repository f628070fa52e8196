"""The machine's own apt sources, read and turned to another suite of Debian.

So a mirror, a proxy or a key that the machine is set up with goes on being used, and no address
stands in this project. Pure but for `read_sources`; it knows neither apt nor what is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """One archive: where it is, which suites and components, and how its signature is checked."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()

    def deb822(self) -> str:
        """The stanza as it stands in a `.sources` file (sources.list(5))."""
        lines = [
            "Types: deb",
            f"URIs: {' '.join(self.uris)}",
            f"Suites: {' '.join(self.suites)}",
            f"Components: {' '.join(self.components)}",
            *(f"{name}: {value}" for name, value in self.options),
        ]
        return "\n".join(lines) + "\n"


# The one-line format's names of the options that decide how a signature is checked.
_ONE_LINE_OPTIONS = {
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
}
_KEPT_FIELDS = {name.lower(): name for name in _ONE_LINE_OPTIONS.values()}


def read_sources(apt_folder: Path = Path("/etc/apt")) -> list[Source]:
    """All binary archives the machine is set up with."""
    parts = apt_folder / "sources.list.d"
    one_line = [apt_folder / "sources.list", *sorted(parts.glob("*.list"))]
    found: list[Source] = []
    for path in one_line:
        if path.is_file():
            found.extend(parse_one_line(path.read_text(encoding="utf-8")))
    for path in sorted(parts.glob("*.sources")):
        found.extend(parse_deb822(path.read_text(encoding="utf-8")))
    return found


def parse_one_line(text: str) -> list[Source]:
    """`deb [option=value …] URI SUITE COMPONENT…`, one to a line."""
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
        sources.append(Source((match[2],), (match[3],), tuple(match[4].split()), options))
    return sources


def parse_deb822(text: str) -> list[Source]:
    """Stanzas of `Field: value`, where a value goes on in lines that begin with a space."""
    sources = []
    for stanza in re.split(r"\n[ \t]*\n", "\n".join(_without_comments(text))):
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
        sources.append(Source(uris, suites, components, options))
    return sources


def for_suites(sources: Iterable[Source], own: str, wanted: Iterable[str]) -> list[Source]:
    """The archives of Debian that carry `own`, the machine's release, turned to `wanted`.

    A wanted suite goes where the machine gets the like of it from: `trixie-security` to the archive
    that has `bookworm-security`, plain `sid` to the one that has `bookworm`. Suites for which the
    machine has no like are left out, but never the plain one: ValueError.
    """
    found: list[Source] = []
    for suite in wanted:
        pocket = "".join(re.findall(r"-(?:security|updates)$", suite))
        like = [s for s in sources if own + pocket in s.suites and "main" in s.components]
        found.extend(Source(s.uris, (suite,), ("main",), s.options) for s in like[:1])
        if not like and not pocket:
            raise ValueError(f"no apt source of this machine has {own}, so {suite} can't be found")
    return found


def _without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]
