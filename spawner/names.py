"""Patterns of names and ids that several programs check, and cleaning of untrusted text."""

from __future__ import annotations

import re

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
SESSION = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,29}")
JOB_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
"""A Slurm job id. It can stand where a session's name can: those begin with a letter."""
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
JOB_COMMENT = "portal:"
"""Prefix of the UUID in a job's comment."""


def remove_invisible(text: str, kept: str = "") -> str:
    """Return untrusted text without the characters that `str.isprintable` rejects, except `kept`.

    It rejects control and format characters, line breaks, spaces other than U+0020, and characters
    for private use.
    """
    return "".join(char for char in text if char.isprintable() or char in kept)


def replace_unprintable(text: str, by: str = "?") -> str:
    """Return untrusted text, with `by` for each character that `remove_invisible` removes."""
    return "".join(char if char.isprintable() else by for char in text)
