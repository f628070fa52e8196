"""Validation of image references and file names entered by an administrator.

Pure.

Accepted text is safe in an argument list: it has no white space, begins with its scheme, and
contains no password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SCHEMES = ("docker", "oras")
MAX_REFERENCE_CHARS = 500
MAX_FILE_CHARS = 100
MAX_HOST_CHARS = 253
MAX_PORT = 65535
DOCKER_HUB = "docker.io"

_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.sif")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_REGISTRY = re.compile(rf"({_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]{{2,45}}\])(?::([0-9]{{1,5}}))?")
# as registries spell them: the distribution specification's grammar
_PART = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

REFUSED_SCHEMES = {
    "library": "Libraries need an account and keys of their own, which the portal doesn't store.",
    "shub": "Singularity Hub no longer accepts images.",
    "http": "A plain download can't be verified: it has no digest.",
    "https": "A plain download can't be verified: it has no digest.",
}
"""Schemes that Apptainer accepts and the portal does not, with the reason."""


class ReferenceProblem(ValueError):
    """The text is invalid; the message contains the reason and what to write instead."""


@dataclass(frozen=True)
class Reference:
    """One image in one registry.

    `host` is `name[:port]`, as in the setting image_import_plain_registries and in a credentials
    file; `text` is the whole reference, as passed to Apptainer.
    """

    scheme: str
    host: str
    repository: str
    tag: str | None
    digest: str | None

    @property
    def text(self) -> str:
        end = f"@{self.digest}" if self.digest else f":{self.tag}"
        return f"{self.scheme}://{self.host}/{self.repository}{end}"


def parse_reference(text: str) -> Reference:
    """Parse `docker://host[:port]/repository[:tag|@sha256:…]`, or the same with `oras://`.

    The default host is Docker Hub's, the default tag `latest`. Raises ReferenceProblem.
    """
    text = text.strip()
    if len(text) > MAX_REFERENCE_CHARS:
        raise ReferenceProblem(f"This may have at most {MAX_REFERENCE_CHARS} characters.")
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in SCHEMES:
        raise ReferenceProblem(_explain_scheme(scheme if mark else ""))
    remainder, digest = _split_digest(_reject_credentials(rest))
    remainder, tag = _split_tag(remainder)
    if tag is not None and digest is not None:
        raise ReferenceProblem("Specify a tag or a digest, not both.")
    host, repository = _split_host(scheme, remainder)
    if not all(_PART.fullmatch(part) for part in repository.split("/")):
        raise ReferenceProblem(
            "The image name is invalid: use lowercase letters and digits, with . _ - between them,"
            " in parts separated by /."
        )
    return Reference(scheme, host, repository, None if digest else tag or "latest", digest)


def check_file_name(name: str) -> str:
    """Return the name of an image's file unchanged; raises ReferenceProblem."""
    if len(name) > MAX_FILE_CHARS:
        raise ReferenceProblem(f"This may have at most {MAX_FILE_CHARS} characters.")
    if not _FILE.fullmatch(name):
        raise ReferenceProblem(
            "The file name must end with .sif, begin with a letter or digit, and contain only"
            " letters, digits and . _ -, such as pytorch-2.4.sif."
        )
    return name


def parse_registry(text: str) -> str:
    """Return the `host[:port]` of a registry, in lower case; raises ReferenceProblem."""
    host = text.strip().lower()
    if not _is_host(host):
        raise ReferenceProblem(f"{text[:100]} isn't a registry's host or host:port")
    return host


def _explain_scheme(scheme: str) -> str:
    why = f"{REFUSED_SCHEMES[scheme]} " if scheme in REFUSED_SCHEMES else ""
    return f"{why}Write docker://host/name:tag, or oras://host/name:tag for a SIF file."


def _reject_credentials(text: str) -> str:
    """Return what follows the scheme; refuse it if it contains a user name."""
    _, separator, after = text.partition("@")
    if separator and ("/" in after or "@" in after or not after.startswith("sha256:")):
        raise ReferenceProblem(
            "A reference can't contain a user name or password. The registry's credentials belong"
            " in the file that the setting image_import_auth_file names."
        )
    return text


def _split_digest(text: str) -> tuple[str, str | None]:
    name, separator, digest = text.partition("@")
    if separator and not _DIGEST.fullmatch(digest):
        raise ReferenceProblem(
            "The digest after @ must be sha256: followed by 64 digits from 0 to 9 and a to f."
        )
    return name, digest if separator else None


def _split_tag(text: str) -> tuple[str, str | None]:
    """Split off the tag, which follows the colon of the last part; any other colon is a port's."""
    head, slash, last = text.rpartition("/")
    name, colon, tag = last.partition(":")
    if colon and not _TAG.fullmatch(tag):
        raise ReferenceProblem(
            "The tag after the last : may have at most 128 letters, digits and . _ -, and must"
            " begin with a letter, digit or _."
        )
    return f"{head}{slash}{name}", tag if colon else None


def _split_host(scheme: str, text: str) -> tuple[str, str]:
    """Split off the host, recognized by a dot, a colon or `localhost`; else it is Docker Hub."""
    first, slash, remainder = text.partition("/")
    if slash and (first == "localhost" or any(mark in first for mark in ".:")):
        if not _is_host(first):
            raise ReferenceProblem(f"{first[:100]} isn't a registry's host or host:port.")
        return first.lower(), remainder
    if scheme != "docker":
        raise ReferenceProblem(f"Specify the registry: {scheme}://host/name:tag.")
    return DOCKER_HUB, text if slash else f"library/{text}"


def _is_host(text: str) -> bool:
    match = _REGISTRY.fullmatch(text)
    if match is None:
        return False
    host, port = match.groups()
    return len(host) <= MAX_HOST_CHARS and (port is None or 0 < int(port) <= MAX_PORT)
