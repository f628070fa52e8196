"""Patterns of names and ids that several programs check, and names from elsewhere."""

from __future__ import annotations

import re

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
SESSION = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,29}")
JOB_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
"""Slurm's number of a job, beside names of sessions: those begin with a letter."""
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
JOB_COMMENT = "portal:"
"""Prefix of the UUID in a job's comment."""


def remove_invisible(text: str, kept: str = "") -> str:
    """Return text from elsewhere without control characters and line breaks, those that reverse the
    order of text, and others of no width; but with the `kept` ones.
    """
    return "".join(char for char in text if char.isprintable() or char in kept)


def replace_unprintable(text: str, by: str = "?") -> str:
    """Return text from elsewhere, with `by` for each character that `remove_invisible` removes."""
    return "".join(char if char.isprintable() else by for char in text)
