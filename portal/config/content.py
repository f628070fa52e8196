"""Settings of the origins of user content."""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, model_validator

from portal.config.origins import ContentHosts, ContentOrigins
from portal.config.types import AbsolutePath


def _check_content_url(value: str) -> str:
    ContentHosts.of(value)
    return value.rstrip("/")


ContentUrl = Annotated[str, AfterValidator(_check_content_url)]
NO_ORIGIN = (
    "notebook_url\tmust be set, and tensorboard_url, to origins apart from public_url: other ports "
    "of its host, or other names. An installation that served notebooks at public_url until now "
    "keeps its addresses with same_origin_content = true, which is unsafe"
)


class ContentSettings(BaseModel):
    """The portal's settings of user content, a part of all settings."""

    notebook_url: ContentUrl | None = None
    tensorboard_url: ContentUrl | None = None
    same_origin_content: bool = False
    content_url: ContentUrl | None = None
    content_certificate_file: AbsolutePath | None = None
    content_certificate_key_file: AbsolutePath | None = None

    @model_validator(mode="after")
    def _content_certificate_has_its_key(self) -> Self:
        pair = (self.content_certificate_file, self.content_certificate_key_file)
        if pair.count(None) == 1:
            lacking = "content_certificate_key_file" if pair[0] else "content_certificate_file"
            raise ValueError(f"{lacking}\tmust be set too: a certificate needs its key")
        return self

    @model_validator(mode="after")
    def _content_has_origins(self) -> Self:
        problem = next(self._origin_problems(), None)
        if problem:
            raise ValueError(problem)
        return self

    def _origin_problems(self) -> Iterator[str]:
        given = [name for name in ("notebook_url", "tensorboard_url") if getattr(self, name)]
        if self.content_url and given:
            yield f"content_url\tis the old name of both: remove it, because {given[0]} is set"
        if self.same_origin_content and (self.content_url or given):
            setting = (given or ["content_url"])[0]
            yield f"same_origin_content\tcan't be true if {setting} is set"
        if len(given) == 1:
            lacking = {"notebook_url": "tensorboard_url", "tensorboard_url": "notebook_url"}
            yield f"{lacking[given[0]]}\tmust be set too if {given[0]} is, to a separate origin"
        if not (given or self.content_url or self.same_origin_content):
            yield NO_ORIGIN

    @cached_property
    def content(self) -> ContentOrigins | None:
        """Return the origins of user content; None if it is served on the portal's own origin."""
        notebooks = self.notebook_url or self.content_url
        tensorboards = self.tensorboard_url or self.content_url
        if notebooks is None or tensorboards is None:
            return None
        return ContentOrigins(ContentHosts.of(notebooks), ContentHosts.of(tensorboards))

    @property
    def content_hosts(self) -> list[tuple[str, ContentHosts]]:
        """Return each origin of user content with the setting that names it."""
        if self.content is None:
            return []
        if self.content_url:
            return [("content_url", self.content.notebooks)]
        return [
            ("notebook_url", self.content.notebooks),
            ("tensorboard_url", self.content.tensorboards),
        ]

    def notebook_address(self, username: str, path: str) -> str:
        """Return the address of a path of a user's notebooks, as seen from the portal's pages."""
        return f"{self.content.notebooks.origin_of(username)}{path}" if self.content else path

    def notebook_origin(self, username: str) -> str | None:
        """Return the origin of a user's notebooks if it is separate from the portal's."""
        return self.content.notebooks.origin_of(username) if self.content else None

    def tensorboard_address(self, username: str, path: str) -> str:
        """Return the address of a path of a user's TensorBoards, as seen from the portal's
        pages.
        """
        return f"{self.content.tensorboards.origin_of(username)}{path}" if self.content else path
