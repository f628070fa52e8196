"""Routes of the site's own logo and tag line, which the login page shows, too."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from portal.config.settings import Settings
from portal.errors import NotFound
from portal.web.dependencies import Anyone, NoToken

LOGO_HEADERS = {
    # Opened as a page, an SVG must neither run scripts nor load anything.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "no-cache",
}

router = APIRouter(tags=["site"])


class SiteOut(BaseModel):
    """The appearance of this site: whether it has a logo at `/api/v1/site/logo`, and its tag
    line.
    """

    logo: bool
    tagline: str | None


@router.get("/site", dependencies=[Anyone, NoToken])
def site(request: Request) -> SiteOut:
    """Return the site's appearance, for pages before the login."""
    settings: Settings = request.app.state.settings
    return SiteOut(logo=settings.site_logo is not None, tagline=settings.site_tagline)


@router.get("/site/logo", dependencies=[Anyone, NoToken], response_class=Response)
def site_logo(request: Request) -> Response:
    """Return the site's logo, a PNG or SVG image."""
    settings: Settings = request.app.state.settings
    if settings.site_logo is None:
        raise NotFound
    content, media_type = settings.site_logo
    return Response(content, media_type=media_type, headers=LOGO_HEADERS)
