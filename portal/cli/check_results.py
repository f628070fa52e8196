"""Results of checks as lines of the command line."""

from portal.health.result import CheckResult, ComponentState
from spawner.names import replace_unprintable

MAX_TEXT = 2000


def format_result(result: CheckResult) -> str:
    """Return the lines of a result, with the remedy of a failure.

    A check that isn't possible here is no failure: it is listed as ok, with the reason.
    """
    name = _to_line(result.name)
    if result.state is ComponentState.UNKNOWN:
        return f"ok      {name} ({_to_line(result.text)})"
    if result.state is ComponentState.OK:
        return f"ok      {name}"
    details = [f"        {_to_line(detail)}" for detail in result.details]
    return "\n".join(
        [
            f"FAILED  {name}: {_to_line(result.text)}",
            f"        → {result.suggestion}",
            *details,
        ]
    )


def _to_line(text: str) -> str:
    """Return printable text on one line: it may come from a user's job, which must not move the
    cursor or fill the screen.
    """
    return replace_unprintable(" ".join(text.split())[:MAX_TEXT])
