"""Results of checks as lines of the command line."""

from portal.health.result import CheckResult, ComponentState

MAX_TEXT = 2000


def format_result(result: CheckResult) -> str:
    """Return the lines of a result, with the remedy of a failure."""
    name = _to_printable(result.name)
    if result.state is ComponentState.UNKNOWN:
        return f"ok      {name} ({_to_printable(result.text)})"
    if result.state is ComponentState.OK:
        return f"ok      {name}"
    details = [f"        {_to_printable(detail)}" for detail in result.details]
    return "\n".join(
        [
            f"FAILED  {name}: {_to_printable(result.text)}",
            f"        → {result.suggestion}",
            *details,
        ]
    )


def _to_printable(text: str) -> str:
    """Return printable text on one line: it may come from a user's job, which must not move the
    cursor or fill the screen.
    """
    words = " ".join(text.split())[:MAX_TEXT]
    return "".join(letter if letter.isprintable() else "?" for letter in words)
