"""Explanations of Slurm's codes for users, and suggestions of what to do.

Pure text, no I/O.

Two questions: why a job waits (`explain_reason`), and why it was refused (`explain_rejection`);
outcomes.py explains how a job ended. Codes that are not in the tables are parsed by their name
(`AssocGrpCPULimit`: whose limit, on what), and unknown codes are shown as Slurm reports them.
Sources: job_reason_codes in Slurm's documentation, and the messages of sbatch 22.05 in tests/data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """Explanation of a code. `text` is the problem, `suggestion` what to do, None if nothing can be
    done.
    """

    code: str
    text: str
    suggestion: str | None = None


_TextAndSuggestion = tuple[str, str | None]

_FEWER = "A smaller request, a shorter time or another partition may start sooner."
_ADMIN = "If this does not change, contact the cluster's administrators."
_TIME = "Request a shorter time limit, or choose another partition."
_PARTITION = "Choose another partition, or wait until the administrators open it again."

WAITING_REASONS: dict[str, _TextAndSuggestion] = {
    "Resources": ("Waiting for free resources; it is next in its partition's queue.", _FEWER),
    "Priority": ("Other jobs are ahead of it in the queue.", _FEWER),
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
    "NodeDown": ("A node it needs is down.", _ADMIN),
    "Reservation": ("Waiting for its reservation to begin.", None),
    "ReservationDeleted": (
        "The reservation it requested no longer exists.",
        "Submit it without a reservation.",
    ),
    "PartitionDown": ("Its partition is down.", _PARTITION),
    "PartitionInactive": ("Its partition is inactive.", _PARTITION),
    "PartitionTimeLimit": ("It requests more time than its partition allows.", _TIME),
    "PartitionNodeLimit": (
        "It requests more nodes than its partition allows, or the nodes it needs are down.",
        "Request fewer nodes, or choose another partition.",
    ),
    "PartitionConfig": ("Its partition does not allow the requested resources.", _PARTITION),
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
    "Licenses": ("Waiting for a free software license.", None),
    "BadConstraints": (
        "No node has the requested resources.",
        "Cancel it and request other resources.",
    ),
    "JobArrayTaskLimit": ("Its array already runs as many tasks at once as it allows.", None),
    "JobHoldMaxRequeue": ("It was requeued too often and is on hold.", _ADMIN),
    "Prolog": ("Its nodes are being prepared.", None),
    "Cleaning": ("Its last run is being cleaned up; it will start again.", None),
    "AssociationJobLimit": ("You have reached your limit on jobs.", "Stop one of your jobs."),
    "AssociationResourceLimit": ("You have reached your limit on resources.", "Stop a job."),
    "AssociationTimeLimit": ("Your account has used up its computing time.", _ADMIN),
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
    "Nodes": ("The nodes it needs are down or reserved for others.", _ADMIN),
    "RaisedSignal": ("Its program was killed by a signal.", None),
}
_OVER_SOME_LIMIT: _TextAndSuggestion = (
    "It requests more than your account or QOS allows.",
    "Request less, or stop a job that you no longer need.",
)
GROUP_GPUS = "AssocGrpGRES"
"""Slurm's code when the GPU limit of an association is reached, a user's or an account's."""
_HELD_AFTER_FAILURE: _TextAndSuggestion = (
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
    (re.compile(r"License", re.I), "licences"),
    (re.compile(r"Billing", re.I), "billing units"),
    (re.compile(r"BB", re.I), "burst buffer space"),
)

# Messages of sbatch for refusals; the first match counts. The keys are Slurm's texts.
_REFUSALS: tuple[tuple[str, str, _TextAndSuggestion], ...] = (
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
        ("It requests more time than this partition allows.", _TIME),
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
        ("This partition is not accepting jobs.", _PARTITION),
    ),
    (
        "Required node not available",
        "node-closed",
        ("The nodes it needs are not accepting jobs.", _PARTITION),
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
    return _explain_limit(word) or Explanation(word, f"Slurm reports the reason “{code[:200]}”.")


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


def _explain_limit(code: str) -> Explanation | None:
    """Explain a limit from the parts of its name: its owner, and the limited resource."""
    match = _LIMIT.search(code)
    if match is None:
        return None
    resource = next((words for name, words in _RESOURCES if name.match(match["resource"])), None)
    if resource is None:
        return None
    per, more = match["per"], "less" if match["bound"] == "Min" else "more"
    if per in {"PerJob", "PerNode"} or more == "less":
        unit = "node" if per == "PerNode" else "job"
        must = "may have" if more == "more" else "must request"
        text = f"It requests {more} {resource} than one {unit} {must} here."
        return Explanation(match[0], text, f"Ask for {'less' if more == 'more' else 'more'}.")
    text = f"This would exceed {_describe_owner(match)} on {resource}."
    return Explanation(match[0], text, "Wait until some is free, or request less.")


def _describe_owner(match: re.Match[str]) -> str:
    if match["per"] == "PerAccount" or (match["kind"] == "Assoc" and match["bound"] == "Grp"):
        return "your group's limit"
    if match["bound"] == "Grp":
        return "the total limit of this QOS"
    return "your limit"


def explain_rejection(stderr: str) -> Explanation:
    """Explain why sbatch (or scontrol, or srun) refused, from its error output."""
    if "policy" in stderr:
        limit = _explain_limit(stderr)
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
