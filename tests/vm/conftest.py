"""The virtual machine, booted before the first test; the tests build on each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.host.machine import folder as make_folder
from cluster.host.machine import locked
from tests.vm.guest import booted
from tests.vm.image import make_data, provide_system
from tests.vm.stock import Stock


@pytest.fixture(scope="session")
def stock() -> Iterator[Stock]:
    state = os.environ.get("PORTAL_STATE_ROOT")
    if not state:
        pytest.fail("PORTAL_STATE_ROOT names no prepared state folder: run these by make test-vm")
    root = Path(state).resolve()
    folder = make_folder(root / "vm")
    with locked(folder / "lock"):
        system, data = provide_system(folder), make_data(root, folder)
        try:
            with booted(folder / "run", system, data) as guest:
                found = Stock(guest, root)
                found.attach()
                yield found
        finally:
            data.unlink()
