"""Lets PyPI's torchvision and torchaudio load beside PyTorch's CPU build.

Both are published on PyPI for CUDA only. Their libraries refer to libc10_cuda.so and
libtorch_cuda.so, which the CPU build lacks, so even their operators for the CPU are missing and the
import fails. Place libraries of these names where the loader looks, with the symbols that
torchvision and torchaudio refer to. Operators for the CPU call none of them; the others can't be
reached without a CUDA tensor, which the CPU build can't make. CUDA's own runtime, which they want
too, is on PyPI by itself.

Does nothing where PyTorch has CUDA. Runs once, in the image, while it is built.
"""

import subprocess
from pathlib import Path

import torch

PACKAGES = Path(torch.__file__).parent.parent
PLACE = Path("/usr/local/lib")
STUBS = ("libc10_cuda.so", "libtorch_cuda.so")
RUNTIME = "nvidia/cu13/lib/libcudart.so.13"


def symbols(file: Path, which: str) -> set[str]:
    """Return the names of a library's dynamic symbols, with their versions."""
    listed = subprocess.run(["nm", "-D", "-P", which, str(file)], capture_output=True, check=True)
    return {line.split()[0] for line in listed.stdout.decode().splitlines()}


def missing() -> set[str]:
    """Return what torchvision and torchaudio expect of the libraries that aren't there."""
    users = [*PACKAGES.glob("torchvision/*.so"), *PACKAGES.glob("torchaudio/lib/*.so")]
    wanted = {name for user in users for name in symbols(user, "--undefined-only")}
    for library in (PACKAGES / "torch/lib").glob("*.so*"):
        wanted -= symbols(library, "--defined-only")
    return {name for name in wanted if "cuda" in name and "@" not in name}


def make_stub(name: str, wanted: set[str]) -> None:
    """Make a library of this name; each of its functions stops the program."""
    labels = "".join(f".globl {symbol}\n{symbol}:\n" for symbol in sorted(wanted))
    source = f'.text\n{labels} ud2\n.section .note.GNU-stack,"",@progbits\n'
    words = ["g++", "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-x", "assembler", "-"]
    subprocess.run([*words, "-o", str(PLACE / name)], input=source.encode(), check=True)


def main() -> None:
    """Make the libraries, and tell the loader."""
    if torch.version.cuda is not None:
        return
    make_stub(STUBS[0], missing())
    make_stub(STUBS[1], set())
    runtime = PACKAGES / RUNTIME
    (PLACE / runtime.name).symlink_to(runtime)
    subprocess.run(["/sbin/ldconfig"], check=True)


if __name__ == "__main__":
    main()
