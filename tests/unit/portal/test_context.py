"""The context, as each command opens it."""

from pathlib import Path

import pytest

from portal.context import open_context
from tests.servers.gate_portal import gate_settings

pytestmark = pytest.mark.anyio


def list_names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


async def test_open_context_reads_no_catalog_and_creates_no_file(tmp_path: Path) -> None:
    settings = gate_settings(tmp_path, node_tls=True)
    settings.hub_token_file.touch(mode=0o600)
    settings.hub_token_file.write_text("h" * 32)
    before = list_names(tmp_path)
    async with open_context(settings) as context:
        assert not context.catalog.environments
        assert not context.is_serving
        assert context.node_ca is None
    assert list_names(tmp_path) == before
