"""Settings of the site's own logo and tag line."""

import stat
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, Field

from portal.config.types import AbsolutePath

MAX_LOGO_BYTES = 256 * 1024
PNG = b"\x89PNG\r\n\x1a\n"
LOGO_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}


class SiteLogo(NamedTuple):
    """A logo's content, and its media type."""

    content: bytes
    media_type: str


def read_logo(file: Path) -> SiteLogo:
    """Read a logo; raises ValueError if it is not a PNG or SVG file of at most 256 KiB."""
    media_type = LOGO_TYPES.get(file.suffix.lower())
    if media_type is None:
        raise ValueError("must be a .png or .svg file")
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise ValueError("must be a file")
        with file.open("rb") as opened:
            content = opened.read(MAX_LOGO_BYTES + 1)
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror}") from error
    if len(content) > MAX_LOGO_BYTES:
        raise ValueError(f"must be at most {MAX_LOGO_BYTES // 1024} KiB")
    if content.startswith(PNG) != (media_type == "image/png"):
        raise ValueError("must be in the format that its extension names: PNG or SVG")
    if media_type == "image/svg+xml" and b"<svg" not in content:
        raise ValueError("must contain an SVG image")
    return SiteLogo(content, media_type)


def _check_logo(value: Path | None) -> Path | None:
    if value is not None:
        read_logo(value)
    return value


class SiteSettings(BaseModel):
    """The portal's settings of the site's appearance, a part of all settings."""

    site_logo_file: Annotated[AbsolutePath | None, AfterValidator(_check_logo)] = None
    site_tagline: Annotated[str, Field(min_length=1, max_length=120)] | None = None

    @cached_property
    def site_logo(self) -> SiteLogo | None:
        """Return the logo; a changed file is used after a restart."""
        return None if self.site_logo_file is None else read_logo(self.site_logo_file)
