"""How a node does, from Slurm's own words for it. Pure."""

from enum import StrEnum

# Nothing new starts on a node in one of these states, whatever of it is free.
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
    """What a node is doing; the first that is true of it, in this order."""

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


_WORKS = ("ALLOC", "MIXED", "COMPLETING")
# By the start of one of a state's words; DRAIN depends on whether something still runs there.
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
# sinfo's way to write them; scontrol has words
_SIGNS = {
    "*": Condition.SILENT,
    "~": Condition.ASLEEP,
    "!": Condition.ASLEEP,
    "%": Condition.ASLEEP,
    "#": Condition.WAKING,
    "$": Condition.MAINTENANCE,
    "@": Condition.RESTARTING,
    "^": Condition.RESTARTING,
}


def takes_work(state: str) -> bool:
    """Whether Slurm starts anything on a node in this state, such as `IDLE+DRAIN` or `MIXED`."""
    return not any(word.startswith(CLOSED) for word in _words(state)) and not state.endswith("*")


def condition(state: str) -> Condition:
    """The one word of ours for a state of Slurm's."""
    words = _words(state)
    found = {
        meaning for starts, meaning in _FLAGS if any(word.startswith(starts) for word in words)
    }
    if (sign := _SIGNS.get(state[-1:])) is not None:
        found.add(sign)
    first = next((each for each in Condition if each in found), Condition.UNKNOWN)
    if first is Condition.DRAINED and any(word.startswith((*_WORKS, "DRAINING")) for word in words):
        return Condition.DRAINING
    return first


def _words(state: str) -> list[str]:
    return state.upper().rstrip("*~#!%$@^-").split("+")
