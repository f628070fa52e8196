"""The explanation of the last output lines of a failed job, as real programs print them."""

from __future__ import annotations

import pytest

from portal.services.slurm.log_reasons import LogFacts, explain_log

FACTS = LogFacts(gpus=1, has_environment=True, find_environments=lambda _: [])
LINES = [
    ("ModuleNotFoundError: No module named 'sklearn.svm'", "missing-module"),
    ("ImportError: No module named yaml", "missing-module"),
    ("Error in library(caret) : there is no package called ‘caret’", "missing-module"),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has",
        "gpu-memory",
    ),
    ("ResourceExhaustedError: OOM when allocating tensor with shape[4096,4096]", "gpu-memory"),
    ("AssertionError: Torch not compiled with CUDA enabled", "no-cuda"),
    ("RuntimeError: No CUDA GPUs are available", "no-cuda"),
    ("RuntimeError: Found no NVIDIA driver on your system.", "no-cuda"),
    ("OSError: [Errno 122] Disk quota exceeded: '/home/a/x'", "quota"),
    ("OSError: [Errno 28] No space left on device", "disk-full"),
    (
        "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible"
        " that dataloader's workers are out of shared memory. Please try to raise your shared"
        " memory limit.",
        "shared-memory",
    ),
    ("RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.", "worker"),
    (
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated"
        " abruptly while the future was running or pending.",
        "worker",
    ),
    ("OSError: [Errno 98] Address already in use", "port"),
    (
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local"
        " network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE",
        "port",
    ),
    ("/home/a/.local/share/portal/jobs/1/job: line 5:  4711 Killed    python3 t.py", "killed"),
    ("MemoryError", "memory"),
    ("0: MemoryError", "memory"),
    ("Error: cannot allocate vector of size 3.7 Gb", "memory"),
    ("torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2021", "nccl"),
    ("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6", "nccl"),
]


@pytest.mark.parametrize(("line", "code"), LINES)
def test_known_line_names_its_cause_and_what_to_do(line: str, code: str) -> None:
    why = explain_log(f"step 1\nTraceback (most recent call last):\n{line}\n", FACTS)
    assert why is not None
    assert why.code == code
    assert why.suggestion


@pytest.mark.parametrize("text", ["", "ValueError: x", "Killed time with a memory test\nNCCL 2.29"])
def test_unknown_output_has_no_cause(text: str) -> None:
    assert explain_log(text, FACTS) is None


def test_last_known_line_counts() -> None:
    """A program may try an import, continue without it, and fail for another reason."""
    first, last = "ModuleNotFoundError: No module named 'apex'", "CUDA out of memory"
    why = explain_log(f"{first}\n{last}\n", FACTS)
    assert why is not None
    assert why.code == "gpu-memory"


def test_nccl_yields_to_the_cause_of_another_rank() -> None:
    why = explain_log("1: CUDA out of memory\n0: NCCL error: ncclRemoteError\n", FACTS)
    assert why is not None
    assert why.code == "gpu-memory"


def test_missing_module_names_environments_that_have_its_package() -> None:
    asked = []

    def offers(package: str) -> list[str]:
        asked.append(package)
        return ["Python 3.11", "PyTorch"]

    text = "ModuleNotFoundError: No module named 'sklearn.svm'"
    why = explain_log(text, LogFacts(gpus=0, has_environment=True, find_environments=offers))
    assert why is not None
    assert asked == ["scikit-learn"]
    assert "sklearn" in why.text
    assert why.suggestion == "Choose an environment that includes it: Python 3.11, PyTorch."


def test_missing_module_without_environment_suggests_one() -> None:
    facts = LogFacts(gpus=0, has_environment=False, find_environments=lambda _: [])
    why = explain_log("ModuleNotFoundError: No module named 'torch'", facts)
    assert why is not None
    assert "the node's own Python" in why.text
    assert "Choose an environment" in (why.suggestion or "")


@pytest.mark.parametrize(("gpus", "words"), [(0, "Request a GPU"), (1, "built for GPUs")])
def test_absent_cuda_depends_on_whether_a_gpu_was_asked_for(gpus: int, words: str) -> None:
    facts = LogFacts(gpus=gpus, has_environment=True, find_environments=lambda _: [])
    why = explain_log("AssertionError: Torch not compiled with CUDA enabled", facts)
    assert why is not None
    assert words in (why.suggestion or "")


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        ("ModuleNotFoundError: No module named 'torch'", "Install it there, or submit"),
        ("AssertionError: Torch not compiled with CUDA enabled", "Check that it requested a GPU"),
    ],
)
def test_outside_job_gets_no_suggestion_about_its_environment(line: str, suggestion: str) -> None:
    """The portal has no information about the environment or the GPUs of an external job."""
    facts = LogFacts(
        gpus=0, has_environment=False, find_environments=lambda _: ["PyTorch"], external=True
    )
    why = explain_log(line, facts)
    assert why is not None
    assert (why.suggestion or "").startswith(suggestion)
    assert "node's own" not in why.text
