"""Settings of where people's own content is, if it is kept apart from the portal's pages."""

from functools import cached_property
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, model_validator

from portal.content import ContentHosts
from portal.settings_types import AbsolutePath


def _content_url(value: str) -> str:
    ContentHosts.of(value)
    return value.rstrip("/")


ContentUrl = Annotated[str, AfterValidator(_content_url)]


class ContentSettings(BaseModel):
    """The portal's settings of content, a part of all settings."""

    content_url: ContentUrl | None = None
    content_certificate_file: AbsolutePath | None = None
    content_certificate_key_file: AbsolutePath | None = None

    @model_validator(mode="after")
    def _contents_certificate_has_its_key(self) -> Self:
        pair = (self.content_certificate_file, self.content_certificate_key_file)
        if pair.count(None) == 1:
            lacking = "content_certificate_key_file" if pair[0] else "content_certificate_file"
            raise ValueError(f"{lacking}\tmust be set, too: a certificate and its key")
        return self

    @cached_property
    def content(self) -> ContentHosts | None:
        """The hosts of notebooks and TensorBoards; None where they are on the portal's own."""
        return ContentHosts.of(self.content_url) if self.content_url else None

    def content_address(self, username: str, path: str) -> str:
        """Where this path of someone's notebooks or TensorBoards is, seen from a portal's page."""
        return f"{self.content.origin_of(username)}{path}" if self.content else path


def content_problem(hosts: ContentHosts, public_url: str, others: list[str]) -> str | None:
    """Why content there wouldn't be apart from what has these addresses; None where it is. Cookies
    tell no ports apart, so another port of the same host is the same host."""
    if urlsplit(public_url).scheme != hosts.scheme:
        return f"must begin with {urlsplit(public_url).scheme}://, as public_url does"
    for url in (public_url, *others):
        name = urlsplit(url).hostname or ""
        if hosts.takes(name):
            return f"must be another host than {name}, which has another use: a name of its own"
    return None
