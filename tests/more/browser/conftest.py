"""The fixtures of tests/browser, for tests that take too long to run with them each time."""

from tests.browser.conftest import (
    api,
    asked,
    chromium,
    context,
    log_in,
    logged_in,
    pytest_runtest_makereport,
)

__all__ = [
    "api",
    "asked",
    "chromium",
    "context",
    "log_in",
    "logged_in",
    "pytest_runtest_makereport",
]
