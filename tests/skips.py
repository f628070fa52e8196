"""The permitted skips of a complete test run; any other one fails it.

A pytest plugin. With PORTAL_TEST_SKIPS=fail, as make sets it, a test that is skipped for a reason
that is not permitted here fails the run, so that nothing stays untested unnoticed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLE = "PORTAL_TEST_SKIPS"
# reason → the variable that requests the skip; None: unavoidable
ALLOWED = {
    "PORTAL_IMAGES leaves its image out": "PORTAL_IMAGES",
    "can't be confined on this machine": "PORTAL_ALLOW_UNCONFINED",
    "this machine refuses network namespaces": "PORTAL_ALLOW_UNCONFINED",
    "looks at SQLite's file": "PORTAL_TEST_DATABASE",
    "reads SQLite's plans": "PORTAL_TEST_DATABASE",
    "spoils SQLite's file": "PORTAL_TEST_DATABASE",
    # in a checkout below /root
    "other accounts can't read the portal's code here": None,
}
# reasons that begin like this are permitted to users other than root: tests/needs.py
UNPRIVILEGED = ("needs root: ", "needs the program ")


def is_allowed(reason: str) -> bool:
    if os.geteuid() != 0 and reason.startswith(UNPRIVILEGED):
        return True
    return any(
        text in reason and (variable is None or variable in os.environ)
        for text, variable in ALLOWED.items()
    )


class Skips:
    """The skips of one run that are not permitted."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look(report.nodeid, report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look(report.nodeid, report)

    def _look(self, name: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if not is_allowed(reason):
                self.refused.append(f"{name}: {reason}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.refused and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.refused:
            return
        terminalreporter.section("skips that fail the run", red=True)
        for line in self.refused:
            terminalreporter.line(line)
        terminalreporter.line(f"{Path(__file__).name} has the list of those that are allowed")


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get(VARIABLE) == "fail":
        config.pluginmanager.register(Skips(), "skips")
