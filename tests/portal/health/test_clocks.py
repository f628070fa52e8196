"""The Status page's checks of the clocks of slurmctld and PostgreSQL."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.db import utcnow
from portal.health.checks.clocks import (
    SUGGESTION,
    check_database_clock,
    check_skew,
    check_slurm_clock,
)
from portal.health.checks.slurm import check_slurm
from portal.health.registry import CHECKS, Component
from portal.health.result import ComponentState
from portal.health.status import SystemStatus
from portal.i18n.translation import translate
from spawner.slurm.client import Slurm
from tests.fakes.context import partial_context
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio

AHEAD = re.compile(r"Its clock is \d+ s ahead of this machine's\.")


@pytest.fixture
def watcher() -> Any:
    return SimpleNamespace(
        stale_since=None, trouble=None, took_s=0.02, at=utcnow(), jobs={}, cluster=None
    )


def sdiag(folder: Path, ahead_s: int | None) -> Path:
    """Create a Slurm whose controller's clock is ahead, or one that does not answer."""
    file = folder / "sdiag"
    prints = f'echo "sdiag output at Sun Nov 22 15:50:20 2026 ($(($(date +%s) + {ahead_s})))"'
    text = prints if ahead_s is not None else "exit 1"
    file.write_text(f"#!/bin/sh\necho >> {folder}/asked\n{text}\n")
    file.chmod(0o755)
    return folder


def status_of_slurm(folder: Path, watcher: Any) -> SystemStatus:
    """Return a status with this Slurm's controller and clock."""
    checks = [check for check in CHECKS if check.run in {check_slurm, check_slurm_clock}]
    slurm = Slurm(folder, None, PATIENCE_S)
    return SystemStatus(checks, partial_context(slurm=slurm, watcher=watcher, is_serving=True))


async def test_slurms_clock_that_differs(tmp_path: Path, watcher: Any) -> None:
    """Queried once, however often Slurm is checked in between."""
    status = status_of_slurm(sdiag(tmp_path, 86400), watcher)
    await status.check_now(Component.SLURM)
    slurm, clock = status.checks
    assert slurm.every_s * 10 <= clock.every_s
    for _ in range(3):
        await status._run_once(slurm)
        (found,) = status.items
        assert (found.state, found.suggestion, found.answered_at) == (
            ComponentState.FAILING,
            SUGGESTION,
            watcher.at,
        )
        assert AHEAD.fullmatch(found.message)
    assert (tmp_path / "asked").read_text() == "\n"


@pytest.mark.parametrize("answers", [True, False])
async def test_slurm_clock_that_agrees_or_is_unknown_is_ok(
    answers: bool, tmp_path: Path, watcher: Any
) -> None:
    status = status_of_slurm(sdiag(tmp_path, 0 if answers else None), watcher)
    await status.check_now(Component.SLURM)
    (found,) = status.items
    assert (found.state, found.message) == (ComponentState.OK, "Responding; 0 jobs known.")


async def test_slurms_clock_is_not_asked_while_slurm_is_away(tmp_path: Path, watcher: Any) -> None:
    watcher.stale_since, watcher.trouble = utcnow(), "no answer within 10 s."
    status = status_of_slurm(sdiag(tmp_path, 0), watcher)
    await status.check_now(Component.SLURM)
    (found,) = status.items
    assert found.state is ComponentState.FAILING
    assert not (tmp_path / "asked").exists()


async def test_the_databases_clock() -> None:
    async def now() -> Any:
        return utcnow() + timedelta(days=1)

    context = partial_context(db=SimpleNamespace(now=now))
    found = await check_database_clock(context)
    assert found is not None
    assert (found.state, found.suggestion) == (ComponentState.FAILING, SUGGESTION)
    assert AHEAD.fullmatch(found.text)


def test_clock_difference_is_reported_above_the_limit() -> None:
    assert check_skew(30.0).problem is None
    found = check_skew(-400.0)
    assert found.problem == "Its clock is 400 s behind this machine's."
    assert translate(found.text, "zh") == "其时钟比本机慢 400 秒。"
    assert translate(found.suggestion, "zh") != found.suggestion
