"""The Status page's checks of the clocks of slurmctld and PostgreSQL."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.db import utcnow
from portal.health import status_clocks
from portal.health.clocks import ADVICE
from portal.health.probes import Probes
from portal.health.status import ComponentState
from portal.health.status_clocks import to_probe_result
from portal.i18n.translation import translate
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

AHEAD = re.compile(r"Responding, but its clock is \d+ s ahead of this machine's\.")


@pytest.fixture
def watcher() -> Any:
    return SimpleNamespace(
        stale_since=None, trouble=None, took_s=0.02, at=utcnow(), jobs={}, cluster=None
    )


def looks(**parts: Any) -> Probes:
    return Probes(SimpleNamespace(**parts), None, SimpleNamespace(slurm_version="23"))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Independent of the speed of this machine."""
    monkeypatch.setattr(status_clocks, "ASK_S", PATIENCE_S)
    monkeypatch.setattr(status_clocks, "EVERY_S", float("inf"))


def sdiag(folder: Path, ahead_s: int | None) -> Path:
    """Create a Slurm whose controller's clock is ahead, or one that does not answer."""
    file = folder / "sdiag"
    prints = f'echo "sdiag output at Sun Nov 22 15:50:20 2026 ($(($(date +%s) + {ahead_s})))"'
    text = prints if ahead_s is not None else "exit 1"
    file.write_text(f"#!/bin/sh\necho >> {folder}/asked\n{text}\n")
    file.chmod(0o755)
    return folder


def slurm(folder: Path, watcher: Any) -> Probes:
    settings = SimpleNamespace(slurm_bin_dir=folder, slurm_conf=None, slurm_timeout_s=PATIENCE_S)
    return looks(settings=settings, watcher=watcher)


async def test_slurms_clock_that_differs(tmp_path: Path, watcher: Any) -> None:
    """Queried once, however often Slurm is checked in between."""
    look = slurm(sdiag(tmp_path, 86400), watcher)
    for _ in range(3):
        found = (await look.slurm())[""]
        assert (found.state, found.advice, found.answered_at) == (
            ComponentState.FAILING,
            ADVICE,
            watcher.at,
        )
        assert AHEAD.fullmatch(found.message)
    assert (tmp_path / "asked").read_text() == "\n"


@pytest.mark.parametrize("answers", [True, False])
async def test_slurm_clock_that_agrees_or_is_unknown_is_ok(
    answers: bool, tmp_path: Path, watcher: Any
) -> None:
    look = slurm(sdiag(tmp_path, 0 if answers else None), watcher)
    found = (await look.slurm())[""]
    assert (found.state, found.message) == (ComponentState.OK, "Responding; 0 jobs known.")


async def test_slurms_clock_is_not_asked_while_slurm_is_away(tmp_path: Path, watcher: Any) -> None:
    watcher.stale_since, watcher.trouble = utcnow(), "no answer within 10 s."
    look = slurm(sdiag(tmp_path, 0), watcher)
    assert (await look.slurm())[""].state is ComponentState.FAILING
    assert not (tmp_path / "asked").exists()


async def test_the_databases_clock() -> None:
    async def answers() -> None:
        return None

    async def now() -> Any:
        return utcnow() + timedelta(days=1)

    database = SimpleNamespace(answers=answers, now=now, url="postgresql://db/portal")
    found = (await looks(db=database).database())[""]
    assert (found.state, found.advice) == (ComponentState.FAILING, ADVICE)
    assert AHEAD.fullmatch(found.message)


def test_clock_difference_is_reported_above_the_limit() -> None:
    assert to_probe_result(None) is None
    assert to_probe_result(30.0) is None
    found = to_probe_result(-400.0)
    assert found is not None
    assert found.message == "Responding, but its clock is 400 s behind this machine's."
    assert translate(found.message, "zh") == "有响应，但其时钟比本机慢 400 秒。"
    assert translate(found.advice, "zh") != found.advice
