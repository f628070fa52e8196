"""Parser for Apptainer's output during a pull: phases, percentages and error messages.

Pure.

Based on recorded output of `apptainer -v pull` (tests/data/apptainer). Lines end with a newline or,
for the progress bar of mksquashfs, with a carriage return.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_QUOTED_CHARS = 300


class PullPhase(StrEnum):
    """Phase of an import, in this order; a SIF file from a registry skips UNPACKING and
    PACKING.
    """

    LOOKING = "looking"
    FETCHING = "fetching"
    UNPACKING = "unpacking"
    PACKING = "packing"
    CHECKING = "checking"


@dataclass(frozen=True)
class PullNames:
    """Values for the messages: where an image comes from, and the portal's configuration."""

    host: str
    repository: str
    has_credentials: bool
    architecture: str


_BEGINS = (
    ("Fetching OCI image", PullPhase.FETCHING),
    ("Downloading oras image", PullPhase.FETCHING),
    ("Extracting OCI image", PullPhase.UNPACKING),
    ("Creating SIF file", PullPhase.PACKING),
)
_BAR = re.compile(r"\[[=\-/|\\ ]*\]\s+\d+/\d+\s+(\d{1,3})%")


def phase_of(line: str) -> PullPhase | None:
    """Return the phase that a line announces, if any."""
    return next((phase for words, phase in _BEGINS if words in line), None)


def percent_of(line: str) -> int | None:
    """Return how much of the image is packed, 0 to 100, if the line is mksquashfs' progress bar."""
    match = _BAR.search(line)
    return min(int(match.group(1)), 100) if match else None


def why_failed(output: str, names: PullNames) -> str:
    """Return one or two sentences for an administrator, from Apptainer's last output."""
    fatal = _last_error(output)
    # an image's name may contain words such as "denied"
    judged = fatal.replace(names.repository, "")
    for pattern, sentence in _CAUSES:
        if re.search(pattern, judged, re.IGNORECASE):
            return sentence.format(
                host=names.host,
                architecture=names.architecture,
                credentials=_auth_hint(names),
            )
    if not fatal:
        return "Apptainer failed without a message. See the portal's log."
    return f"Apptainer could not import it: {fatal[:MAX_QUOTED_CHARS]}"


def _last_error(output: str) -> str:
    """Return the last error message, without the prefix for the activity that failed."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", output) if line.strip()]
    message = next((line for line in reversed(lines) if line.startswith(("FATAL:", "ERROR:"))), "")
    text = message.partition(":")[2].strip() if message else (lines[-1] if lines else "")
    for prefix in (
        "While making image from oci registry: ",
        "While pulling image from oci registry: ",
    ):
        text = text.removeprefix(prefix)
    return text.removeprefix("error fetching image to cache: ")


def _auth_hint(names: PullNames) -> str:
    if names.has_credentials:
        return (
            f"The credentials for {names.host} in the file that image_import_auth_file names are"
            " wrong, or lack permission for this image."
        )
    return f"Put credentials for {names.host} into the file that image_import_auth_file names."


# The first match is the cause; errors that can occur in any phase come first.
_CAUSES = (
    (
        r"no space left on device|disk quota exceeded",
        "The disk is full. An import needs about six times the image's size below state_dir, and"
        " its size again in image_import_dir.",
    ),
    (
        r"getting username and password|authfile|docker-config",
        "The file that image_import_auth_file names can't be used: it must be JSON as"
        " `docker login` writes it.",
    ),
    (
        r"no such host|server misbehaving|name resolution|\blookup \S+(?: on \S+)?: ",
        "The host {host} doesn't exist, or the name service doesn't answer. Check the reference.",
    ),
    (
        r"server gave HTTP response to HTTPS client",
        "The registry {host} uses HTTP without TLS. If this is intended, add it to the setting"
        " image_import_plain_registries.",
    ),
    (
        r"x509|certificate|tls: ",
        "This machine does not trust the certificate of the registry {host}. Add its CA to the"
        " machine's trusted CAs.",
    ),
    (
        r"toomanyrequests|too many requests|rate limit",
        "The registry {host} refused this download because there were too many from here. Wait, or"
        " use an account. {credentials}",
    ),
    (
        r"authentication required|unauthorized|access to the resource is denied|denied:|forbidden"
        r"|invalid username/password|\b40[13]\b",
        "The registry {host} denied access, or has no such image. {credentials}",
    ),
    (
        r"manifest.unknown|name.unknown|\b404\b",
        "The registry {host} has no such image or tag. Check the reference.",
    ),
    (
        r"no child with platform|no image found in (?:manifest list|image index)",
        "This image has no version for these machines ({architecture}).",
    ),
    (
        r"no extractable|invalid layer mediatype|format not recognized|unsupported manifest"
        r"|unsupported image-specific operation|mediatype",
        "The reference names no container image that can be used here. Use docker:// for"
        " containers, oras:// for SIF files.",
    ),
    (
        r"connection refused|i/o timeout|timed? ?out|unreachable|no route to host|connection reset"
        r"|unexpected EOF|: EOF",
        "The registry {host} doesn't answer the portal's machine, or closed the connection."
        " Try again later, or check the network.",
    ),
)
