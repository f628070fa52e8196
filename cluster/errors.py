"""What can go wrong, as one tree; each message is for a reader at the terminal.

ClusterError
├── LayoutError        cluster.toml contradicts itself
├── NothingFreeError   every subnet or port that could serve is taken
├── CommandError       a program failed
└── ControlError       a supervisor refused a command, or none answers
"""

from __future__ import annotations


class ClusterError(RuntimeError):
    """Something a reader of the terminal can act on."""


class LayoutError(ClusterError):
    """The description contradicts itself or names something unknown."""


class NothingFreeError(ClusterError):
    """Every candidate is taken."""


class CommandError(ClusterError):
    """A program ended with an error; the message carries what it said."""


class ControlError(ClusterError):
    """The supervisor refused a command, or none answers."""
