"""A test run fails if a test was skipped without permission."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests import skips

pytest_plugins = ["pytester"]
ROOT, USER = 0, 1000


class Run:
    """Runs of pytest with one test that passes and one that is skipped."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.monkeypatch = monkeypatch
        for name in (skips.VARIABLE, *filter(None, skips.ALLOWED.values())):
            monkeypatch.delenv(name, raising=False)

    def __call__(self, reason: str, *, uid: int = ROOT, **environment: str) -> pytest.RunResult:
        self.pytester.makepyfile(
            f"""
            import pytest
            def test_passes(): pass
            @pytest.mark.skipif(True, reason={reason!r})
            def test_is_skipped(): pass
            """
        )
        with self.monkeypatch.context() as changed:
            changed.setattr(os, "geteuid", lambda: uid)
            for name, value in environment.items():
                changed.setenv(name, value)
            return self.pytester.runpytest_inprocess("-p", "tests.skips")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(pytester, monkeypatch)


STRICT: dict[str, Any] = {skips.VARIABLE: "fail"}


def test_a_skip_that_is_not_allowed_fails_the_run(run: Run) -> None:
    done = run("no luck today", **STRICT)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines("*::test_is_skipped: no luck today")


def test_a_run_by_hand_may_skip(run: Run) -> None:
    assert run("no luck today").ret == 0


def test_an_allowed_skip_needs_its_variable(run: Run) -> None:
    reason, variable = next(item for item in skips.ALLOWED.items() if item[1])
    assert variable is not None
    allowed: dict[str, Any] = {**STRICT, variable: "1"}
    assert run(reason, **STRICT).ret == pytest.ExitCode.TESTS_FAILED
    assert run(reason, **allowed).ret == 0


@pytest.mark.parametrize("reason", ["needs root: it changes owners", "needs the program ip"])
def test_only_root_has_no_reason_to_lack_something(run: Run, reason: str) -> None:
    assert run(reason, uid=USER, **STRICT).ret == 0
    assert run(reason, uid=ROOT, **STRICT).ret == pytest.ExitCode.TESTS_FAILED
