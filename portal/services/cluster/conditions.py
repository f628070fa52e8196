"""The condition of a node, derived from Slurm's state. Pure."""

from enum import StrEnum
from functools import lru_cache

# Nothing new starts on a node in one of these states, even if resources are free.
CLOSED = (
    "DOWN",
    "DRAIN",
    "FAIL",
    "MAINT",
    "UNKNOWN",
    "NOT_RESPONDING",
    "POWERING_DOWN",
    "RESERVED",
)


class Condition(StrEnum):
    """The condition of a node: the first one that applies, in this order."""

    DOWN = "down"
    SILENT = "silent"
    MAINTENANCE = "maintenance"
    DRAINING = "draining"
    DRAINED = "drained"
    RESERVED = "reserved"
    RESTARTING = "restarting"
    ASLEEP = "asleep"
    WAKING = "waking"
    FULL = "full"
    PARTLY = "partly"
    FREE = "free"
    UNKNOWN = "unknown"


_BUSY = ("ALLOC", "MIXED", "COMPLETING")
# By prefix of a state's flags; DRAIN depends on whether something still runs on the node.
_FLAGS = (
    (("DOWN", "FAIL", "ERROR"), Condition.DOWN),
    (("NOT_RESPONDING",), Condition.SILENT),
    (("MAINT",), Condition.MAINTENANCE),
    (("DRAIN",), Condition.DRAINED),
    (("RESERVED",), Condition.RESERVED),
    (("REBOOT",), Condition.RESTARTING),
    (("POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"), Condition.ASLEEP),
    (("POWERING_UP", "POWER_UP"), Condition.WAKING),
    (("ALLOC",), Condition.FULL),
    (("MIXED",), Condition.PARTLY),
    (("IDLE", "COMPLETING"), Condition.FREE),
)
# sinfo writes these as suffixes; scontrol uses flags.
_SUFFIXES = {
    "*": Condition.SILENT,
    "~": Condition.ASLEEP,
    "!": Condition.ASLEEP,
    "%": Condition.ASLEEP,
    "#": Condition.WAKING,
    "$": Condition.MAINTENANCE,
    "@": Condition.RESTARTING,
    "^": Condition.RESTARTING,
}

# Thousands of nodes share a few states.
_MAX_STATES = 1000


@lru_cache(_MAX_STATES)
def accepts_jobs(state: str) -> bool:
    """Return whether Slurm starts jobs on a node in this state, such as `IDLE+DRAIN` or `MIXED`."""
    return not any(word.startswith(CLOSED) for word in _split_flags(state)) and not state.endswith(
        "*"
    )


@lru_cache(_MAX_STATES)
def get_condition(state: str) -> Condition:
    """Return the condition for a state of Slurm's."""
    flags = _split_flags(state)
    meanings = {
        meaning for starts, meaning in _FLAGS if any(word.startswith(starts) for word in flags)
    }
    if (sign := _SUFFIXES.get(state[-1:])) is not None:
        meanings.add(sign)
    first = next((each for each in Condition if each in meanings), Condition.UNKNOWN)
    if first is Condition.DRAINED and any(word.startswith((*_BUSY, "DRAINING")) for word in flags):
        return Condition.DRAINING
    return first


def _split_flags(state: str) -> list[str]:
    return state.upper().rstrip("*~#!%$@^-").split("+")
