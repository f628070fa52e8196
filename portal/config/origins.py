"""Origins of user content: one for notebooks and apps, another for TensorBoards.

Pure. An origin is a host and a port: neighboring ports of the portal's host, hosts of their own, or
a host for each user (`{user}`). A request belongs to an origin by its `Host` alone, compared as a
whole. Any other request is the portal's, where no user content is served.
"""

import base64
import hashlib
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

PLACE = "{user}"
ANY_USER = "someone"
"""A placeholder for any user's name when hosts are compared."""
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ANY_LABEL = re.compile(LABEL)
_PLAIN = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9]))*")
_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
_PORTS = {"http": 80, "https": 443}
NOTEBOOK_PATHS = ("/user/", "/content/")
"""The portal's paths on the notebooks' origin; nginx proxies the hub's pages to the hub."""
TENSORBOARD_PATHS = ("/tensorboard/", "/content/")


def label_of(username: str) -> str:
    """Return a user's DNS label.

    Labels are unique: a name that is a label without a double hyphen stays as it is, and every
    other becomes `u-…--` with 130 bits of its hash.
    """
    if _PLAIN.fullmatch(username):
        return username
    readable = re.sub(r"[^a-z0-9]+", "-", username).strip("-")[:20].strip("-") or "x"
    digest = base64.b32encode(hashlib.sha256(username.encode()).digest()).decode().lower()
    return f"u-{readable}--{digest[:26]}"


def netloc_of(scheme: str, host: str) -> str:
    """Return a `Host` in the form that browsers send: lowercase, without the scheme's default
    port.
    """
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port == str(_PORTS[scheme]) else host.lower()


def _is_host(name: str) -> bool:
    """Return whether this is an address, a name, or a name below `{user}.`"""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        rest = name.removeprefix(f"{PLACE}.")
        numeric = re.fullmatch(r"[0-9.]+", rest) is not None
        return _NAME.fullmatch(rest) is not None and not numeric
    return True


@dataclass(frozen=True)
class ContentHosts:
    """The hosts of one kind of content.

    `name`: the host's name, which may begin with `{user}.`; `port`: None for the scheme's default.
    """

    scheme: str
    name: str
    port: int | None = None

    @classmethod
    def of(cls, url: str) -> "ContentHosts":
        """Parse the setting.

        Raises ValueError with a message for a URL that cannot separate content.
        """
        try:
            parts, name = urlsplit(url), urlsplit(url).hostname or ""
            port = parts.port
        except ValueError as error:
            raise ValueError(f"must be a URL: {error}") from error
        if parts.scheme not in _PORTS or not name:
            raise ValueError("must be a URL that begins with http:// or https://")
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
            raise ValueError("must be a host only, without a path")
        if not _is_host(name):
            raise ValueError(
                "must be a host with or without a port, or a name that begins with {user}: "
                "https://portal.example.org:8444 or https://{user}.jupyter.example.org"
            )
        host = f"[{name}]" if ":" in name else name
        return cls(parts.scheme, host, None if port == _PORTS[parts.scheme] else port)

    @property
    def per_user(self) -> bool:
        """Return whether each user has a host of their own."""
        return self.name.startswith(PLACE)

    @property
    def suffix(self) -> str:
        """Return the part after the label, including its dot, if each user has a host."""
        return self.name.removeprefix(PLACE)

    @property
    def _port(self) -> str:
        return "" if self.port is None else f":{self.port}"

    def host_of(self, username: str) -> str:
        """Return the host of this user's content, in the form of `Host`."""
        return f"{self.name.replace(PLACE, label_of(username))}{self._port}"

    def origin_of(self, username: str) -> str:
        return f"{self.scheme}://{self.host_of(username)}"

    def to_content_host(self, host: str) -> str | None:
        """Return this `Host` in the form that browsers send, if it is a content host; else None."""
        netloc = netloc_of(self.scheme, host)
        if not netloc.endswith(self._port):
            return None
        name = netloc.removesuffix(self._port)
        if not self.per_user:
            return netloc if name == self.name else None
        label = name.removesuffix(self.suffix)
        return netloc if label != name and _ANY_LABEL.fullmatch(label) else None

    def includes(self, url: str) -> bool:
        """Return whether the origin of this URL would be one of these; with a host per user, any
        user's counts.
        """
        parts = urlsplit(url)
        host = (parts.hostname or "").replace(PLACE, ANY_USER)
        netloc = parts.netloc.lower().rpartition("@")[2].replace(PLACE, ANY_USER)
        return bool(host) and self.to_content_host(netloc) is not None


@dataclass(frozen=True)
class ContentOrigins:
    """The origins of notebooks and apps, and of TensorBoards.

    They are the same only on sites that set nothing but the older `content_url`.
    """

    notebooks: ContentHosts
    tensorboards: ContentHosts

    @property
    def apart(self) -> bool:
        """Return whether pages of notebooks and of TensorBoards have different origins."""
        return self.notebooks != self.tensorboards

    def to_content_host(self, host: str) -> str | None:
        """Return this `Host` in the form that browsers send, if it is a content host; else None."""
        return self.notebooks.to_content_host(host) or self.tensorboards.to_content_host(host)

    def is_notebook(self, host: str) -> bool:
        return self.notebooks.to_content_host(host) is not None

    def is_tensorboard(self, host: str) -> bool:
        return self.tensorboards.to_content_host(host) is not None

    def paths(self, host: str) -> tuple[str, ...]:
        """Return the paths that the portal serves at this content host."""
        notebooks = NOTEBOOK_PATHS if self.is_notebook(host) else ()
        tensorboards = TENSORBOARD_PATHS if self.is_tensorboard(host) else ()
        return (*notebooks, *tensorboards)

    def problem(self, public_url: str, others: Iterable[str]) -> tuple[str, str] | None:
        """Return the setting and the reason if these origins are not separate from each other and
        from these addresses; else None.
        """
        for name, hosts in (
            ("notebook_url", self.notebooks),
            ("tensorboard_url", self.tensorboards),
        ):
            scheme = urlsplit(public_url).scheme
            if hosts.scheme != scheme:
                return name, f"must begin with {scheme}://, as public_url does"
            for url in (public_url, *others):
                if hosts.includes(url):
                    return name, f"must be another origin than {url}: another port or another name"
        if self.apart and _overlap(self.notebooks, self.tensorboards):
            return "tensorboard_url", "must be another origin than notebook_url"
        return None


def _overlap(some: ContentHosts, others: ContentHosts) -> bool:
    return some.includes(others.origin_of(ANY_USER)) or others.includes(some.origin_of(ANY_USER))
