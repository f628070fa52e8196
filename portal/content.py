"""Where notebooks and TensorBoards live when they are kept apart from the portal's own pages.

Pure. With `content_url` they have a host of their own, or each person has one (`{user}`). A request
belongs to one of these hosts by its `Host` alone, compared as a whole: what isn't exactly one of
them is the portal's, where none of it is served.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

PLACE = "{user}"
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ANY_LABEL = re.compile(LABEL)
_PLAIN = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9]))*")
_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
_PORTS = {"http": 80, "https": 443}
PATHS = ("/user/", "/tensorboard/", "/content/")
"""What of the portal's a content host serves; the hub's pages go by the front door."""


def label_of(username: str) -> str:
    """A person's own DNS label. Two people never share one: a name that is a label without a double
    hyphen is its own, and every other gets `u-…--` and 130 bits of its hash."""
    if _PLAIN.fullmatch(username):
        return username
    kept = re.sub(r"[^a-z0-9]+", "-", username).strip("-")[:20].strip("-") or "x"
    digest = base64.b32encode(hashlib.sha256(username.encode()).digest()).decode().lower()
    return f"u-{kept}--{digest[:26]}"


def netloc_of(scheme: str, host: str) -> str:
    """A `Host` as browsers write it: lowercase, without the scheme's own port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port == str(_PORTS[scheme]) else host.lower()


@dataclass(frozen=True)
class ContentHosts:
    """`name`: the host's, which may begin with `{user}.`; `port`: where it isn't the scheme's."""

    scheme: str
    name: str
    port: int | None = None

    @classmethod
    def of(cls, url: str) -> "ContentHosts":
        """Raises ValueError with a sentence for what can't be kept apart by it."""
        try:
            parts, name = urlsplit(url), urlsplit(url).hostname or ""
            port = parts.port
        except ValueError as error:
            raise ValueError(f"must be a URL: {error}") from error
        if parts.scheme not in _PORTS or not name:
            raise ValueError("must be a URL that begins with http:// or https://")
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
            raise ValueError("must be a host only, without a path")
        rest = name.removeprefix(f"{PLACE}.")
        if not _NAME.fullmatch(rest) or re.fullmatch(r"[0-9.]+", rest):
            raise ValueError(
                "must be the name of a host, which may begin with {user}: "
                "https://jupyter.example.org or https://{user}.jupyter.example.org"
            )
        return cls(parts.scheme, name, None if port == _PORTS[parts.scheme] else port)

    @property
    def by_person(self) -> bool:
        """Whether everyone has a host of their own."""
        return self.name.startswith(PLACE)

    @property
    def suffix(self) -> str:
        """With a host for each: what follows the label, from its dot on."""
        return self.name.removeprefix(PLACE)

    @property
    def _port(self) -> str:
        return "" if self.port is None else f":{self.port}"

    def host_of(self, username: str) -> str:
        """Where this person's content is, as their browser names it in `Host`."""
        return f"{self.name.replace(PLACE, label_of(username))}{self._port}"

    def origin_of(self, username: str) -> str:
        return f"{self.scheme}://{self.host_of(username)}"

    def here(self, host: str) -> str | None:
        """This `Host` as browsers write it, if it is a content host; else None."""
        found = netloc_of(self.scheme, host)
        if not found.endswith(self._port):
            return None
        name = found.removesuffix(self._port)
        if not self.by_person:
            return found if name == self.name else None
        label = name.removesuffix(self.suffix)
        return found if label != name and _ANY_LABEL.fullmatch(label) else None

    def takes(self, name: str) -> bool:
        """Whether a host of that name, at whatever port, would be one of these."""
        found = name.lower()
        if not self.by_person:
            return found == self.name
        label = found.removesuffix(self.suffix)
        return label != found and _ANY_LABEL.fullmatch(label) is not None
