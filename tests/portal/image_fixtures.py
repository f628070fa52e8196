"""Fixtures of the image import tests; a module that uses them names this one as a plugin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests import registry as registries
from tests.portal.conftest import Portal, RunPortal
from tests.portal.image_imports import ENVIRONMENT
from tests.registry import Registry, Relay


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registries.running(tmp_path_factory.mktemp("registry")) as running:
        running.push("team/small")
        yield running


@pytest.fixture
def relay(registry: Registry) -> Iterator[Relay]:
    with Relay(registry.port) as relay:
        yield relay


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    folder = tmp_path / "imported"
    folder.mkdir()
    return folder


@pytest.fixture
async def site(
    run_portal: RunPortal, registry: Registry, relay: Relay, imported: Path, tmp_path: Path
) -> AsyncIterator[Portal]:
    """A portal that may import images, with an environment in its catalog that lacks small.sif."""
    environments = tmp_path / "catalog" / "environments"
    environments.mkdir(parents=True)
    (environments / "small.yaml").write_text(ENVIRONMENT)
    async with run_portal(
        image_import_dir=imported,
        catalog_dir=tmp_path / "catalog",
        image_import_plain_registries=[registry.host, relay.host],
    ) as portal:
        yield portal
