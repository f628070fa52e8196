"""Explanations of job failures from the end of their output. Pure.

Slurm knows an exit code at most. Most failures of deep-learning programs print one known line with
the cause; `explain_log` finds the last such line, and returns a suggestion.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spawner.slurm.reasons.explanation import Explanation

TAIL_BYTES = 16 * 1024


@dataclass(frozen=True)
class LogFacts:
    """Facts about the job other than its log.

    `find_environments` returns the titles of the available environments, other than the job's own,
    that have a package, by its name on the index. For an `external` job, submitted outside the
    portal, neither GPUs nor environment are known.
    """

    gpus: int
    has_environment: bool
    find_environments: Callable[[str], Sequence[str]]
    external: bool = False


# Python modules whose names differ from their packages' names.
_PACKAGES = {
    "cv2": "opencv-python",
    "pil": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
_MODULE = re.compile(
    r"ModuleNotFoundError: No module named '?(?P<module>[\w.]+)"
    r"|ImportError: No module named (?P<module2>[\w.]+)"
    r"|there is no package called ['‘](?P<package>[\w.]+)"
)
_CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        (
            "gpu-memory",
            r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation"
            r"|CUDA error: out of memory|OOM when allocating tensor"
            r"|RESOURCE_EXHAUSTED: Out of memory",
        ),
        (
            "no-cuda",
            r"Torch not compiled with CUDA enabled|No CUDA GPUs are available"
            r"|Found no NVIDIA driver|no CUDA-capable device is detected"
            r"|CUDA driver version is insufficient|torch\.cuda\.is_available\(\) is False",
        ),
        ("quota", r"Disk quota exceeded"),
        ("shared-memory", r"insufficient shared memory|out of shared memory|/dev/shm"),
        ("disk-full", r"No space left on device"),
        ("port", r"Address already in use|EADDRINUSE"),
        (
            "worker",
            r"DataLoader worker \(pid.{0,40}\) (?:is killed by signal|exited unexpectedly)"
            r"|A worker process managed by the executor was unexpectedly terminated"
            r"|A process in the process pool was terminated abruptly",
        ),
        (
            "memory",
            r"(?m)^(?: *\d+: )?MemoryError|std::bad_alloc|Cannot allocate memory"
            r"|DefaultCPUAllocator: can't|Unable to allocate [\d.]+ [GTP]iB"
            r"|cannot allocate vector of size",
        ),
        ("killed", r"(?m)^\S.{0,300}: line \d+: +\d+ Killed"),
    )
)
_NCCL = re.compile(
    r"NCCL error|nccl(?:UnhandledCuda|System|Internal|Remote|InvalidUsage)Error"
    r"|Watchdog caught collective operation timeout"
)


def explain_log(tail: str, facts: LogFacts) -> Explanation | None:
    """Return the explanation of the last line with a known cause in a failed job's output, None
    without one.

    NCCL errors count only if there is no other cause: they also occur when another rank has failed
    for a different reason.
    """
    matches = {name: _last_match(pattern, tail) for name, pattern in _CAUSES}
    matches["module"] = _last_match(_MODULE, tail)
    last = max(matches, key=lambda name: matches[name])
    if matches[last] < 0:
        last = "nccl" if _NCCL.search(tail) else ""
    match last:
        case "":
            return None
        case "module":
            return _explain_missing_module(tail, facts)
        case "no-cuda":
            return _explain_no_cuda(facts)
        case _:
            return Explanation(last, *_WORDS[last])


def _last_match(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)


_WORDS = {
    "gpu-memory": (
        "Its GPU ran out of memory.",
        "Use a smaller batch, a smaller model or lower precision, or a GPU with more memory.",
    ),
    "quota": (
        "Your disk quota is used up, so it could not write a file.",
        "Delete files that you no longer need, then start it again.",
    ),
    "shared-memory": (
        "The node's shared memory (/dev/shm) was full.",
        "Request more memory, or load data with fewer workers.",
    ),
    "disk-full": (
        "A disk was full, so it could not write a file.",
        "The end of its log names the file. Delete files you no longer need there, or write "
        "elsewhere, then start it again.",
    ),
    "port": (
        "Another program on its node already uses the network port it tried to use.",
        "Start it again with another port. A port derived from the job ID, such as $((20000 + "
        "SLURM_JOB_ID % 10000)), is rarely in use.",
    ),
    "worker": (
        "One of its worker processes was killed, most often because memory ran out.",
        "Request more memory, or use fewer workers (num_workers).",
    ),
    "memory": (
        "It could not allocate the memory it needed.",
        "Start it again with more memory, or process less data at once.",
    ),
    "killed": (
        "A program in it was killed, most often because memory ran out.",
        "Start it again with more memory, or process less data at once.",
    ),
    "nccl": (
        "Its GPUs or nodes could not communicate (NCCL).",
        "Start it again. If it fails again, set NCCL_DEBUG=INFO, run the communication benchmark "
        "on the same nodes, and contact the cluster's administrators.",
    ),
}


def _explain_missing_module(tail: str, facts: LogFacts) -> Explanation:
    *_, match = _MODULE.finditer(tail)
    name = match["package"] or (match["module"] or match["module2"]).partition(".")[0]
    package = _PACKAGES.get(name.lower(), name)
    if facts.external:
        return _explain_missing_external(name, facts.find_environments(package))
    text = f"It could not load “{name}”: its environment does not have it."
    if not facts.has_environment:
        text = f"It could not load “{name}”: the node's own Python or R does not have it."
    if offers := facts.find_environments(package):
        suggestion = f"Choose an environment that includes it: {', '.join(offers)}."
        return Explanation("missing-module", text, suggestion)
    if not facts.has_environment:
        suggestion = (
            "Choose an environment for the job: without one, it uses only the software on the node."
        )
        return Explanation("missing-module", text, suggestion)
    suggestion = (
        f"If “{name}” is a package, install it in a session with that environment. If it is your "
        "own file, start the job in its folder."
    )
    return Explanation("missing-module", text, suggestion)


def _explain_missing_external(name: str, offers: Sequence[str]) -> Explanation:
    text = f"It could not load “{name}”: the Python or R that ran it does not have it."
    suggestion = "Install it there, or submit the job from the portal with an environment."
    if offers:
        suggestion = (
            "Install it there, or submit the job from the portal with an environment that has it:"
            f" {', '.join(offers)}."
        )
    return Explanation("missing-module", text, suggestion)


def _explain_no_cuda(facts: LogFacts) -> Explanation:
    if facts.external:
        return Explanation(
            "no-cuda",
            "It could not use a GPU.",
            (
                "Check that it requested a GPU from Slurm (--gpus), and that its program is "
                "built for GPUs."
            ),
        )
    if facts.gpus == 0:
        text = "It needs a GPU, but the job has none."
        return Explanation("no-cuda", text, "Request a GPU when you start it again.")
    return Explanation(
        "no-cuda",
        "It could not use its GPU: its environment is built without CUDA, or for a newer driver"
        " than the node has.",
        "Choose an environment that is built for GPUs, or run the program on the CPU.",
    )
