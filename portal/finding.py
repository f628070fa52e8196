"""What `portal check` says of one thing that it tried."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing tried. `problem` None means that it works; `advice` says what to do."""

    what: str
    problem: str | None = None
    advice: str = ""
