"""Explanations of how jobs ended, and suggestions of what to do. Pure."""

from __future__ import annotations

from spawner.durations import format_minutes
from spawner.slurm.model import JobInfo, Outcome
from spawner.slurm.reasons.explanation import Explanation
from spawner.slurm.reasons.pending import WAITING_REASONS


def explain_outcome(job: JobInfo) -> Explanation | None:
    """Explain how an ended job ended; None if it succeeded, or has not ended."""
    if job.outcome is None or job.outcome is Outcome.COMPLETED:
        return None
    if job.outcome is Outcome.FAILED:
        return _explain_exit(job)
    return _OUTCOMES[job.outcome](job)


def _explain_cancelled(job: JobInfo) -> Explanation:
    if job.slurm_state == "PREEMPTED":
        text = "It was preempted by a job with higher priority."
        return Explanation("PREEMPTED", text, "Start it again.")
    return Explanation("CANCELLED", "It was cancelled.")


def _explain_timeout(job: JobInfo) -> Explanation:
    minutes = job.time_limit_minutes
    after = f" of {format_minutes(minutes)}" if minutes else ""
    return Explanation(
        "TIMEOUT",
        f"It reached its time limit{after} and was stopped.",
        "Start it again with a longer time limit. Files it saved are still there.",
    )


def _explain_out_of_memory(job: JobInfo) -> Explanation:
    return Explanation(
        "OUT_OF_MEMORY",
        "It used more memory than it requested and was stopped.",
        "Start it again with more memory, or process less data at once.",
    )


def _explain_node_failure(job: JobInfo) -> Explanation:
    node = f" {job.nodes[0]}" if len(job.nodes) == 1 else ""
    return Explanation(
        "NODE_FAIL", f"Its node{node} failed. This was not caused by your job.", "Start it again."
    )


_OUTCOMES = {
    Outcome.CANCELLED: _explain_cancelled,
    Outcome.TIMEOUT: _explain_timeout,
    Outcome.OUT_OF_MEMORY: _explain_out_of_memory,
    Outcome.NODE_FAILED: _explain_node_failure,
}


_SIGNAL_CODES = frozenset({4, 6, 7, 8, 9, 11})
"""Exit codes that programs rarely choose themselves: the signals of crashes, and SIGKILL."""


def _explain_exit(job: JobInfo) -> Explanation:
    if job.reason in {"JobLaunchFailure", "SystemFailure"}:
        return Explanation(job.reason, *WAITING_REASONS[job.reason])
    code = job.exit_code
    if job.signal:
        return _explain_signal(job.signal)
    if code in _SIGNAL_CODES:
        return _explain_ambiguous_exit(code)
    if code is not None and code > 128:  # the shell's encoding of a signal
        return _explain_signal(code - 128)
    if code == 127:
        text = "It failed with exit code 127: a command was not found."
        return Explanation("FAILED", text, "See the end of its log for the command.")
    number = "an error" if code is None else f"exit code {code}"
    return Explanation(
        "FAILED", f"It failed with {number}.", "The end of its log usually shows why."
    )


def _explain_ambiguous_exit(code: int) -> Explanation:
    """Explain an ambiguous code: sacct subtracts 128 from codes above it, so 137 appears as 9."""
    full = code + 128
    text = f"It failed with exit code {code} or {full}; Slurm reports both as {code}."
    if code == 9:
        suggestion = (
            "137 means that a program in it was killed, often because it used too much memory: "
            "try with more. See the end of its log."
        )
    else:
        suggestion = f"{full} means that a program in it crashed. See the end of its log."
    return Explanation("FAILED", text, suggestion)


def _explain_signal(signal: int) -> Explanation:
    if signal == 53:  # Slurm's own; it is not a signal of Linux
        return Explanation(
            "FAILED",
            "Its node could not open the job's folder or its log.",
            "Check whether your home directory is full. If it is not, contact your administrators.",
        )
    if signal == 9:
        return Explanation(
            "FAILED",
            "It was killed (signal 9), often because it used too much memory.",
            "Try with more memory, and see the end of its log.",
        )
    crash = " (it crashed)" if signal in {4, 6, 7, 8, 11} else ""
    return Explanation(
        "FAILED", f"It was ended by signal {signal}{crash}.", "See the end of its log."
    )
