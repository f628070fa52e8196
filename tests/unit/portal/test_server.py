from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Iterator

import pytest
import uvicorn
from fastapi import FastAPI

from portal.server import GARBAGE_THRESHOLDS, PortalServer
from tests.polling import until


@pytest.fixture
def garbage_collection() -> Iterator[None]:
    """Restore the settings of this process afterwards."""
    thresholds = gc.get_threshold()
    gc.disable()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    gc.enable()


@pytest.mark.anyio
@pytest.mark.usefixtures("garbage_collection")
async def test_a_started_server_is_exempt_from_garbage_collection() -> None:
    assert gc.get_freeze_count() == 0
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = PortalServer(uvicorn.Config(FastAPI(), log_config=None))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        assert gc.get_freeze_count() > 0
        assert gc.isenabled()
        assert gc.get_threshold() == GARBAGE_THRESHOLDS
        server.should_exit = True
        await serving
