"""The registry of health checks, and how `portal check` and Admin > Status run it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from portal.cli.check_results import format_result
from portal.health import command
from portal.health.registry import CHECKS, Component, HealthCheck, run_check
from portal.health.result import CheckResult, ComponentState, failing, unknown
from portal.health.status import SystemStatus

pytestmark = pytest.mark.anyio

HEALTH: Any = SimpleNamespace(settings=None)
OK, FAILING, UNKNOWN = ComponentState.OK, ComponentState.FAILING, ComponentState.UNKNOWN


def answering(*results: CheckResult) -> Any:
    async def run(_health: Any) -> tuple[CheckResult, ...]:
        return results

    return run


def breaking(_health: Any) -> CheckResult:
    raise ValueError("oh")


def test_each_check_is_named_once_and_requires_earlier_ones() -> None:
    names = [check.name for check in CHECKS]
    assert all(names)
    assert len(names) == len(set(names))
    for place, check in enumerate(CHECKS):
        assert set(check.requires) <= set(names[:place])


def test_each_check_runs_somewhere_and_each_row_has_one() -> None:
    assert all(check.cli or check.part for check in CHECKS)
    assert {check.part for check in CHECKS if check.part} == set(Component)


async def test_a_check_that_breaks_has_failed() -> None:
    check = HealthCheck("hub", breaking, suggestion="Look at it.")
    assert await run_check(check, HEALTH) == [failing("ValueError: oh.", "Look at it.")]


async def run_command(monkeypatch: pytest.MonkeyPatch, *checks: HealthCheck) -> list[str]:
    """Return the lines of `portal check` with these checks."""

    @asynccontextmanager
    async def parts(_settings: Any) -> AsyncIterator[Any]:
        yield HEALTH

    monkeypatch.setattr(command, "open_context", parts)
    monkeypatch.setattr(command, "CHECKS", checks)
    results = await command.check(HEALTH.settings)
    return [line for result in results for line in format_result(result).splitlines()]


async def test_the_command_line_prints_each_result(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = await run_command(
        monkeypatch,
        HealthCheck("one", answering(CheckResult(text="Responding."))),
        HealthCheck("two", answering(CheckResult("a"), failing("No.", "Do.", details=("b: c",)))),
        HealthCheck("three", answering(unknown("not offered", name="a"))),
        HealthCheck("four", answering(CheckResult()), applies=lambda _: False),
        HealthCheck("five", answering(CheckResult()), Component.HUB, cli=False),
        HealthCheck("six", answering(CheckResult()), requires=("two",)),
        HealthCheck("seven", answering(CheckResult()), requires=("six",)),
        HealthCheck("eight", answering(CheckResult()), requires=("one", "five")),
    )
    assert lines == [
        "ok      one",
        "ok      two a",
        "FAILED  two: No.",
        "        → Do.",
        "        b: c",
        "ok      three a (not offered)",
        "ok      four (off)",
        "ok      eight",
    ]


@pytest.mark.parametrize(
    ("results", "state", "message"),
    [
        ([CheckResult(), CheckResult(text="used")], OK, "used"),
        ([CheckResult(text="responding"), CheckResult(text="used")], OK, "responding"),
        ([CheckResult(text="responding"), unknown("not used")], UNKNOWN, "not used"),
        ([unknown("elsewhere"), failing("expired"), failing("late")], FAILING, "expired"),
    ],
)
async def test_a_row_shows_the_worst_of_its_checks(
    results: list[CheckResult], state: ComponentState, message: str
) -> None:
    checks = [
        HealthCheck(str(place), answering(result), Component.NGINX)
        for place, result in enumerate(results)
    ]
    status = SystemStatus(checks, HEALTH)
    await status.check_now(Component.NGINX)
    (item,) = status.items
    assert (item.state, item.message) == (state, message)


async def test_a_row_forgets_what_depends_on_a_check_that_fails() -> None:
    answers = [CheckResult(text="responding"), failing("away")]

    async def first(_health: Any) -> CheckResult:
        return answers.pop(0)

    status = SystemStatus(
        [
            HealthCheck("slurm", first, Component.SLURM),
            HealthCheck("clock", answering(failing("late")), Component.SLURM, requires=("slurm",)),
        ],
        HEALTH,
    )
    await status.check_now(Component.SLURM)
    assert [item.message for item in status.items] == ["late"]
    await status.check_now(Component.SLURM)
    assert [item.message for item in status.items] == ["away"]


async def test_each_instance_of_a_component_has_its_row_and_the_version_is_kept() -> None:
    names = ["ldap://a", "ldap://b"]
    results = [CheckResult("ldap://a", version="2"), failing("refused", name="ldap://b")]
    check = HealthCheck("x", answering(*results), Component.DIRECTORY, names=lambda _: names)
    status = SystemStatus([check], HEALTH)
    assert [item.state for item in status.items] == [UNKNOWN, UNKNOWN]
    await status.check_now(Component.DIRECTORY)
    assert [(item.name, item.state) for item in status.items] == [
        ("ldap://a", OK), ("ldap://b", FAILING),
    ]  # fmt: skip
    assert status.versions == {Component.DIRECTORY: "2"}
