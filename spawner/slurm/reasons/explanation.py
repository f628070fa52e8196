"""Explanations of Slurm's codes: their type, and texts that several have in common. Pure."""

from __future__ import annotations

from dataclasses import dataclass

TextAndSuggestion = tuple[str, str | None]

FEWER_SUGGESTION = "A smaller request, a shorter time or another partition may start sooner."
ADMIN_SUGGESTION = "If this does not change, contact the cluster's administrators."
TIME_SUGGESTION = "Request a shorter time limit, or choose another partition."
PARTITION_SUGGESTION = "Choose another partition, or wait until the administrators open it again."


@dataclass(frozen=True)
class Explanation:
    """Explanation of a code. `text` is the problem, `suggestion` what to do, None if nothing can be
    done.
    """

    code: str
    text: str
    suggestion: str | None = None
