"""Explanations of why jobs wait, and suggestions of what to do. Pure.

Codes that are not in the table are parsed by their name (`AssocGrpCPULimit`: whose limit, on what),
and unknown codes are shown as Slurm reports them. Source: job_reason_codes in Slurm's
documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spawner.slurm.reasons.explanation import (
    ADMIN_SUGGESTION,
    FEWER_SUGGESTION,
    PARTITION_SUGGESTION,
    TIME_SUGGESTION,
    Explanation,
    TextAndSuggestion,
)

WAITING_REASONS: dict[str, TextAndSuggestion] = {
    "Resources": (
        "Waiting for free resources; it is next in its partition's queue.",
        FEWER_SUGGESTION,
    ),
    "Priority": ("Other jobs are ahead of it in the queue.", FEWER_SUGGESTION),
    "Dependency": ("Waiting for another job to finish first.", None),
    "DependencyNeverSatisfied": (
        "The job it depends on did not end as required, so it can never start.",
        "Cancel it and submit it again.",
    ),
    "BeginTime": ("Its requested start time has not been reached.", None),
    "JobHeldUser": ("Its owner put it on hold.", "Release it, or cancel it."),
    "JobHeldAdmin": ("An administrator put it on hold.", "Contact your administrators."),
    "ReqNodeNotAvail": (
        "The nodes it could run on are down, reserved or under maintenance.",
        "Wait for maintenance to end, or choose another partition; a shorter time limit may let "
        "it run before a reservation begins.",
    ),
    "NodeDown": ("A node it needs is down.", ADMIN_SUGGESTION),
    "Reservation": ("Waiting for its reservation to begin.", None),
    "ReservationDeleted": (
        "The reservation it requested no longer exists.",
        "Submit it without a reservation.",
    ),
    "PartitionDown": ("Its partition is down.", PARTITION_SUGGESTION),
    "PartitionInactive": ("Its partition is inactive.", PARTITION_SUGGESTION),
    "PartitionTimeLimit": ("It requests more time than its partition allows.", TIME_SUGGESTION),
    "PartitionNodeLimit": (
        "It requests more nodes than its partition allows, or the nodes it needs are down.",
        "Request fewer nodes, or choose another partition.",
    ),
    "PartitionConfig": (
        "Its partition does not allow the requested resources.",
        PARTITION_SUGGESTION,
    ),
    "AccountNotAllowed": (
        "Its account is not allowed to use this partition.",
        "Choose another account.",
    ),
    "QOSNotAllowed": (
        "Its QOS is not allowed in this partition or account.",
        "Choose another QOS or partition.",
    ),
    "InvalidAccount": ("Its account is no longer valid.", "Choose another account."),
    "InvalidQOS": ("Its QOS is no longer valid.", "Choose another QOS."),
    "Licenses": ("Waiting for a software license to become available.", None),
    "BadConstraints": (
        "No node has the requested resources.",
        "Cancel it and request other resources.",
    ),
    "JobArrayTaskLimit": ("Its array already runs as many tasks at once as it allows.", None),
    "JobHoldMaxRequeue": ("It was requeued too often and is on hold.", ADMIN_SUGGESTION),
    "Prolog": ("Its nodes are being prepared.", None),
    "Cleaning": ("Its last run is being cleaned up; it will start again.", None),
    "AssociationJobLimit": ("You have reached your limit on jobs.", "Stop one of your jobs."),
    "AssociationResourceLimit": ("You have reached your limit on resources.", "Stop a job."),
    "AssociationTimeLimit": ("Your account has used up its computing time.", ADMIN_SUGGESTION),
    "QOSUsageThreshold": (
        "Your recent usage exceeds what this QOS allows.",
        "Wait, or change QOS.",
    ),
    "NonZeroExitCode": ("Its program ended with an error.", None),
    "TimeLimit": ("It reached its time limit.", None),
    "OutOfMemory": ("It used more memory than it requested.", None),
    "SystemFailure": ("The cluster failed while it ran.", "Start it again."),
    "JobLaunchFailure": (
        "It was killed, or its node could not start it.",
        "Start it again. If it happens again, contact the cluster's administrators.",
    ),
    "Nodes": ("The nodes it needs are down or reserved for others.", ADMIN_SUGGESTION),
    "RaisedSignal": ("Its program was killed by a signal.", None),
}
GROUP_GPUS = "AssocGrpGRES"
"""Slurm's code when the GPU limit of an association is reached, a user's or an account's."""
_HELD_AFTER_FAILURE: TextAndSuggestion = (
    "Its node could not start it, and it was put on hold.",
    "Cancel it and start it again. If it happens again, contact your administrators.",
)

# such as AssocGrpGRES, AssocMaxJobsLimit, QOSMaxGRESPerUser, QOSMinGRES, MaxMemoryPerAccount
_LIMIT = re.compile(
    r"\b(?P<kind>Assoc|QOS)?(?P<bound>Grp|Max|Min)(?P<resource>[A-Za-z]*?)"
    r"(?P<per>Per(?:User|Account|Job|Node))?(?:Limit)?\b"
)
_RESOURCES = (  # Matched in this order against the start of the name's remaining part.
    (re.compile(r"Wall", re.I), "time"),
    (re.compile(r".*Min(?:ute)?s", re.I), "computing time"),
    (re.compile(r"GRES", re.I), "GPUs"),
    (re.compile(r"CPU", re.I), "CPUs"),
    (re.compile(r"Mem", re.I), "memory"),
    (re.compile(r"Node", re.I), "nodes"),
    (re.compile(r"Submit", re.I), "waiting and running jobs"),
    (re.compile(r"Job", re.I), "running jobs"),
    (re.compile(r"License", re.I), "licenses"),
    (re.compile(r"Billing", re.I), "billing units"),
    (re.compile(r"BB", re.I), "burst buffer space"),
)
_UNCOUNTABLE = {"time", "computing time", "memory", "burst buffer space"}


@dataclass(frozen=True)
class GpuLimit:
    """GPU limit that holds a job back: its user's `own` one, or their group's.

    `used` are the GPUs in use; None if unknown.
    """

    total: int
    used: int | None
    own: bool


def explain_reason(code: str | None, limit: GpuLimit | None = None) -> Explanation | None:
    """Explain why a job waits. `limit`, if the caller knows it, is the one that `code` refers to.

    None when Slurm gave no reason (for a job that was just submitted).
    """
    if not code or code == "None":
        return None
    word = re.split(r"[ ,(:]", code, maxsplit=1)[0]
    if word == GROUP_GPUS and limit is not None:
        return _explain_gpus(limit)
    if word in WAITING_REASONS:
        return Explanation(word, *WAITING_REASONS[word])
    if "launch failed" in code or "requeued held" in code:
        return Explanation("JobLaunchFailure", *_HELD_AFTER_FAILURE)
    return explain_limit(word) or Explanation(word, f"Slurm reports the reason “{code[:200]}”.")


def _explain_gpus(limit: GpuLimit) -> Explanation:
    total, used = limit.total, limit.used
    if used is not None and used >= total:
        if limit.own:
            all_of_them = "your only GPU" if total == 1 else f"all {total} of your GPUs"
            text = f"You already use {all_of_them}."
        else:
            all_of_them = "its only GPU" if total == 1 else f"all {total} of its GPUs"
            text = f"Your group already uses {all_of_them}."
        return Explanation(
            GROUP_GPUS, text, "This starts when one is free. To start sooner, request fewer."
        )
    enough = "This starts when enough are free. To start sooner, request fewer."
    if used is None:
        if limit.own:
            text = f"You may use {total} GPUs at once, and too few of them are free."
        else:
            text = f"Your group may use {total} GPUs at once, and too few of them are free."
    elif limit.own:
        text = f"You may use {total} GPUs at once, and {used} of them are in use."
    else:
        text = f"Your group may use {total} GPUs at once, and {used} of them are in use."
    return Explanation(GROUP_GPUS, text, enough)


def explain_limit(code: str) -> Explanation | None:
    """Explain a limit from the parts of its name: its owner, and the limited resource."""
    match = _LIMIT.search(code)
    if match is None:
        return None
    resource = next((words for name, words in _RESOURCES if name.match(match["resource"])), None)
    if resource is None:
        return None
    per, is_minimum = match["per"], match["bound"] == "Min"
    less = "less" if resource in _UNCOUNTABLE else "fewer"
    if per in {"PerJob", "PerNode"} or is_minimum:
        unit = "node" if per == "PerNode" else "job"
        difference, bound = (less, "must request") if is_minimum else ("more", "may have")
        text = f"It requests {difference} {resource} than one {unit} {bound} here."
        return Explanation(match[0], text, f"Ask for {'more' if is_minimum else less}.")
    text = f"This would exceed {_describe_owner(match)} on {resource}."
    free = "is" if less == "less" else "are"
    return Explanation(match[0], text, f"Wait until some {free} free, or request {less}.")


def _describe_owner(match: re.Match[str]) -> str:
    if match["per"] == "PerAccount":
        return "your group's limit"
    if match["kind"] == "Assoc" and match["bound"] == "Grp":
        return "your or your group's limit"  # Slurm has one code for both associations
    if match["bound"] == "Grp":
        return "the total limit of this QOS"
    return "your limit"
