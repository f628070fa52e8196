"""Templates in the API: with a starter notebook, and a reason where one cannot be used."""

from typing import Any

import pytest

from tests.portal.conftest import Browser, RunPortal

pytestmark = pytest.mark.anyio


async def templates(browser: Browser) -> dict[str, Any]:
    answer = await browser.get("/api/v1/templates")
    assert answer.status == 200, answer
    return {item["name"]: item for item in answer.body["items"]}


async def test_a_template_has_its_notebook(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as alice:
        await alice.login("alice")
        shown = await templates(alice)
        assert shown["jax-training"]["starter"] == "jax.ipynb"
        assert shown["mpi-hello"]["starter"] is None
        answer = await alice.get("/api/v1/templates/jax-training/starter")
        assert answer.headers["Content-Disposition"] == 'attachment; filename="jax.ipynb"'
        assert answer.headers["Content-Type"] == "application/x-ipynb+json"
        cells = answer.body["cells"]
        assert cells[0]["source"][0].startswith("# JAX")
        for name in ("mpi-hello", "none"):
            assert (await alice.get(f"/api/v1/templates/{name}/starter")).status == 404


async def test_template_without_image_names_the_image(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as alice:
        await alice.login("alice")
        shown = await templates(alice)
        for name, image in (("torch7", "kaixhin/torch"), ("digits", "nvidia/digits:6.0")):
            template = shown[f"{name}-training"]
            assert not template["available"]
            assert f"docker://{image}" in template["unavailable_reason"]
