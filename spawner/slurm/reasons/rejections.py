"""Explanations of why sbatch, scontrol or srun refused. Pure.

Source: the messages of sbatch 22.05 in tests/data.
"""

from __future__ import annotations

import re

from spawner.slurm.reasons.explanation import (
    PARTITION_SUGGESTION,
    TIME_SUGGESTION,
    Explanation,
    TextAndSuggestion,
)
from spawner.slurm.reasons.pending import explain_limit

_OVER_SOME_LIMIT: TextAndSuggestion = (
    "It requests more than your account or QOS allows.",
    "Request less, or stop a job that you no longer need.",
)

# A text in sbatch's message, a code, and the explanation. The first match counts.
_REFUSALS: tuple[tuple[str, str, TextAndSuggestion], ...] = (
    (
        "Invalid account or account/partition combination",
        "invalid-account",
        (
            "You are not allowed to use this account, or not in this partition.",
            "Choose another account or partition; the administrators can add you to one.",
        ),
    ),
    (
        "Invalid partition name",
        "invalid-partition",
        ("There is no such partition.", "Choose another partition."),
    ),
    (
        "Invalid qos specification",
        "invalid-qos",
        ("You are not allowed to use this QOS here.", "Choose another QOS, or leave it empty."),
    ),
    (
        "Memory specification can not be satisfied",
        "too-much-memory",
        ("No node in this partition has that much memory.", "Request less memory."),
    ),
    (
        "More processors requested than permitted",
        "too-many-cpus",
        ("No node in this partition has that many CPUs.", "Request fewer CPUs."),
    ),
    (
        "Node count specification invalid",
        "too-many-nodes",
        ("This partition does not have that many nodes.", "Request fewer nodes."),
    ),
    (
        "Requested time limit is invalid",
        "time-limit",
        ("It requests more time than this partition allows.", TIME_SUGGESTION),
    ),
    (
        "Requested node configuration is not available",
        "no-such-node",
        (
            (
                "No node in this partition has the requested combination of GPUs, GPU type, CPUs "
                "and memory."
            ),
            "Request less per node, another GPU type, or another partition.",
        ),
    ),
    (
        "Required partition not available",
        "partition-closed",
        ("This partition is not accepting jobs.", PARTITION_SUGGESTION),
    ),
    (
        "Required node not available",
        "node-closed",
        ("The nodes it needs are not accepting jobs.", PARTITION_SUGGESTION),
    ),
    (
        "group not permitted to use this partition",
        "partition-forbidden",
        ("You are not allowed to use this partition.", "Choose another partition."),
    ),
    (
        "Requested reservation is invalid",
        "invalid-reservation",
        (
            "The reservation does not exist, or you are not allowed to use it.",
            "Submit it without a reservation.",
        ),
    ),
    (
        "Invalid node name specified",
        "invalid-node",
        (
            "The requested node does not exist.",
            "Correct --nodelist or --exclude, or submit it without them.",
        ),
    ),
    (
        "Invalid feature specification",
        "invalid-feature",
        ("No node has the requested features.", "Request other features, or none."),
    ),
    (
        "nodes not in this partition",
        "invalid-node",
        ("The requested nodes are not in this partition.", "Choose another partition."),
    ),
    (
        "dependency problem",
        "invalid-dependency",
        ("The job it depends on does not exist.", "Submit it without the dependency."),
    ),
    (
        "does not look like a batch script",
        "invalid-script",
        ("The script does not start with #! and an interpreter.", "Start it with #!/bin/bash."),
    ),
    (
        "DOS line breaks",
        "invalid-script",
        ("The script has Windows line endings.", "Save it with Unix line endings."),
    ),
    ("Batch script is empty", "invalid-script", ("The script is empty.", None)),
    (
        "Slurm temporarily unable to accept job",
        "queue-full",
        ("The cluster's queue is full.", "Try again later."),
    ),
    (
        "Invalid user id",
        "unknown-user",
        (
            "You don't have an account on the cluster yet.",
            "Ask the administrators to add you to Slurm.",
        ),
    ),
    (
        "Access/permission denied",
        "not-permitted",
        ("Slurm does not permit this.", None),
    ),
)


def explain_rejection(stderr: str) -> Explanation:
    """Explain why sbatch (or scontrol, or srun) refused, from its error output."""
    if "policy" in stderr:
        limit = explain_limit(stderr)
        if limit is not None:
            return Explanation(f"limit:{limit.code}", limit.text, limit.suggestion)
        return Explanation("limit", *_OVER_SOME_LIMIT)
    for text, name, words in _REFUSALS:
        if text in stderr:
            return Explanation(name, *words)
    option = re.search(r"Invalid --([a-z-]+) specification", stderr)
    if option:
        summary = f"Slurm does not accept the value of “{option.group(1)}”."
        return Explanation("invalid-option", summary)
    return Explanation("rejected", f"Slurm refused it: {_last_line(stderr)}")


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if not line.startswith("Try ")]
    last = next((line for line in reversed(lines) if line), "it gave no reason")
    last = re.sub(r"^(?:\w+: )?(?:error: )?(?:Batch job submission failed: )?", "", last)
    return last[:300].rstrip(".") + "."
