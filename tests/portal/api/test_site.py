"""The site's logo and tag line, which are read without a login."""

from pathlib import Path

import pytest

from tests.portal.conftest import Browser, RunPortal

pytestmark = pytest.mark.anyio

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


async def test_without_settings_there_is_neither(browser: Browser) -> None:
    answer = await browser.get("/api/v1/site")
    assert (answer.status, answer.body) == (200, {"logo": False, "tagline": None})
    assert (await browser.get("/api/v1/site/logo")).status == 404


async def test_an_svg_runs_no_scripts_when_it_is_opened(
    run_portal: RunPortal, tmp_path: Path
) -> None:
    file = tmp_path / "logo.svg"
    file.write_text(SVG)
    settings = {"site_logo_file": file, "site_tagline": "Example University"}
    async with run_portal(**settings) as portal, portal.browser() as browser:
        site = await browser.get("/api/v1/site")
        assert site.body == {"logo": True, "tagline": "Example University"}
        logo = await browser.get("/api/v1/site/logo")
    assert logo.status == 200
    assert logo.headers["Content-Type"].startswith("image/svg+xml")
    assert logo.headers["X-Content-Type-Options"] == "nosniff"
    policy = logo.headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "sandbox"} <= set(policy)
