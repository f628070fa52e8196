"""The result of one check of `portal check`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """The result of one check. `problem` None means that it passed; `advice` is the remedy."""

    what: str
    problem: str | None = None
    advice: str = ""
