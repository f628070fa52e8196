"""The result of a health check, for `portal check` and for Admin > Status. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class ComponentState(StrEnum):
    OK = "ok"
    FAILING = "failing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    `name` distinguishes several results of one check. `text` describes the state or the cause of a
    failure, `suggestion` is the remedy. `details` may be confidential, and are only for
    `portal check`. `answered_at` is the time of the last good answer, if not now; `latency_ms` is
    the answer's duration, if it differs from the check's. A result that is not `timed` has no
    duration.
    """

    name: str = ""
    state: ComponentState = ComponentState.OK
    text: str = ""
    suggestion: str = ""
    details: tuple[str, ...] = ()
    answered_at: datetime | None = None
    latency_ms: int | None = None
    timed: bool = True
    version: str | None = None

    @property
    def problem(self) -> str | None:
        """Return the cause of a failure, None if there is none."""
        return self.text if self.state is ComponentState.FAILING else None


def failing(
    text: str,
    suggestion: str = "",
    *,
    name: str = "",
    details: tuple[str, ...] = (),
    answered_at: datetime | None = None,
) -> CheckResult:
    """Return the result of a check that failed."""
    return CheckResult(name, ComponentState.FAILING, text, suggestion, details, answered_at)


def unknown(
    text: str, suggestion: str = "", *, name: str = "", answered_at: datetime | None = None
) -> CheckResult:
    """Return the result of a check that isn't possible."""
    return CheckResult(name, ComponentState.UNKNOWN, text, suggestion, answered_at=answered_at)


def ago(moment: datetime, now: datetime) -> str:
    """Format the time since a moment for a sentence: `3 minutes`."""
    for unit, length in (("day", timedelta(days=1)), ("hour", timedelta(hours=1))):
        if (number := (now - moment) // length) > 0:
            return f"{number} {unit}{'s' if number > 1 else ''}"
    minutes = max(1, round((now - moment).total_seconds() / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def sentence(text: str) -> str:
    """Format arbitrary text as a sentence."""
    line = " ".join(text.split())
    return f"{line[:1].upper()}{line[1:]}" + ("" if line.endswith(".") else ".")


def format_count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def format_names(names: Iterable[str], most: int = 10) -> str:
    """List names, and how many there are beyond the first ones."""
    every = [*names]
    omitted = len(every) - most
    return ", ".join(every[:most]) + (f" and {omitted} more" if omitted > 0 else "")
