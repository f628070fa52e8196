"""The tree of errors; each message is meant for a user at a terminal.

ClusterError
├── LayoutError        cluster.toml contradicts itself
├── NothingFreeError   every candidate subnet or port is taken
├── CommandError       a program failed
└── ControlError       a supervisor refused a command, or does not answer
"""

from __future__ import annotations


class ClusterError(RuntimeError):
    """An error that a user at the terminal can act on."""


class LayoutError(ClusterError):
    """The description contradicts itself or names something unknown."""


class NothingFreeError(ClusterError):
    """Every candidate is taken."""


class CommandError(ClusterError):
    """A program failed; the message includes its output."""


class ControlError(ClusterError):
    """The supervisor refused a command, or does not answer."""
