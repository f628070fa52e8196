"""What Apptainer prints while it pulls an image, as phases, percentages and plain sentences. Pure.

Written against recorded output of `apptainer -v pull` (tests/data/apptainer). Lines end with a
newline or, where mksquashfs draws its bar, with a carriage return.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_QUOTED_CHARS = 300


class Phase(StrEnum):
    """What an import is at, in this order; a file that is an image skips the middle."""

    LOOKING = "looking"
    FETCHING = "fetching"
    UNPACKING = "unpacking"
    PACKING = "packing"
    CHECKING = "checking"


@dataclass(frozen=True)
class Place:
    """What sentences name: where an image comes from, and what the portal was set to."""

    host: str
    repository: str
    credentials: bool
    architecture: str


_BEGINS = (
    ("Fetching OCI image", Phase.FETCHING),
    ("Downloading oras image", Phase.FETCHING),
    ("Extracting OCI image", Phase.UNPACKING),
    ("Creating SIF file", Phase.PACKING),
)
_BAR = re.compile(r"\[[=\-/|\\ ]*\]\s+\d+/\d+\s+(\d{1,3})%")


def phase_of(line: str) -> Phase | None:
    """The phase that a line announces, if it does."""
    return next((phase for words, phase in _BEGINS if words in line), None)


def percent_of(line: str) -> int | None:
    """How much of the image is packed, 0 to 100, if the line is mksquashfs' bar."""
    found = _BAR.search(line)
    return min(int(found.group(1)), 100) if found else None


def why_failed(output: str, place: Place) -> str:
    """A sentence or two for an administrator, from the end of what Apptainer printed."""
    fatal = _fatal(output)
    judged = fatal.replace(place.repository, "")  # an image may be called "denied"
    for pattern, sentence in _CAUSES:
        if re.search(pattern, judged, re.IGNORECASE):
            return sentence.format(
                host=place.host, architecture=place.architecture, credentials=_credentials(place)
            )
    if not fatal:
        return "Apptainer ended without a word. The portal's log has what there is."
    return f"Apptainer could not import it: {fatal[:MAX_QUOTED_CHARS]}"


def _fatal(output: str) -> str:
    """The last complaint, without what Apptainer was doing when it came."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", output) if line.strip()]
    said = next((line for line in reversed(lines) if line.startswith(("FATAL:", "ERROR:"))), "")
    text = said.partition(":")[2].strip() if said else (lines[-1] if lines else "")
    for doing in (
        "While making image from oci registry: ",
        "While pulling image from oci registry: ",
    ):
        text = text.removeprefix(doing)
    return text.removeprefix("error fetching image to cache: ")


def _credentials(place: Place) -> str:
    if place.credentials:
        return (
            f"The credentials for {place.host} in the file that image_import_auth_file names are"
            " wrong, or don't reach so far."
        )
    return f"Put credentials for {place.host} into the file that image_import_auth_file names."


# The first that fits is the cause; what holds at any moment of a pull comes first.
_CAUSES = (
    (
        r"no space left on device|disk quota exceeded",
        "There is no room left on the disk. An import needs about six times the image's size below"
        " state_dir, and its size once more in image_import_dir.",
    ),
    (
        r"getting username and password|authfile|docker-config",
        "The file that image_import_auth_file names can't be used: it must be JSON as"
        " `docker login` writes it.",
    ),
    (
        r"no such host|server misbehaving|name resolution|\blookup \S+(?: on \S+)?: ",
        "There is no host {host}, or the name service doesn't know it or doesn't answer. Look at"
        " the reference.",
    ),
    (
        r"server gave HTTP response to HTTPS client",
        "The registry {host} speaks plain HTTP. If that is meant to be, add it to the setting"
        " image_import_plain_registries.",
    ),
    (
        r"x509|certificate|tls: ",
        "The registry {host} has no certificate that this machine trusts. Add its CA to the"
        " machine's own.",
    ),
    (
        r"toomanyrequests|too many requests|rate limit",
        "The registry {host} has counted too many downloads from here. Wait, or log in to it."
        " {credentials}",
    ),
    (
        r"authentication required|unauthorized|access to the resource is denied|denied:|forbidden"
        r"|invalid username/password|\b40[13]\b",
        "The registry {host} doesn't give this image to the portal, or has none of this name."
        " {credentials}",
    ),
    (
        r"manifest.unknown|name.unknown|\b404\b",
        "The registry {host} has no such image or tag. Look at the reference.",
    ),
    (
        r"no child with platform|no image found in (?:manifest list|image index)",
        "There is no form of this image for these machines ({architecture}).",
    ),
    (
        r"no extractable|invalid layer mediatype|format not recognized|unsupported manifest"
        r"|unsupported image-specific operation|mediatype",
        "What the reference names is no container image that can be used here. A container needs"
        " docker://, a file that is an image oras://.",
    ),
    (
        r"connection refused|i/o timeout|timed? ?out|unreachable|no route to host|connection reset"
        r"|unexpected EOF|: EOF",
        "The registry {host} can't be reached from the portal's machine, or broke off. Try again"
        " later, or look at the network.",
    ),
)
