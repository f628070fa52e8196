"""The PyTorch image of a site with GPUs is built from its lock file, and imports what it holds.

It takes about 16 minutes once; later runs find the built image.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from deploy.images.definition import DEFINITIONS
from spawner.containers.image_packages import is_cpu_build, versions_of

CPU_LOCK, CUDA_LOCK = 'lock = "pytorch.lock"', 'lock = "pytorch-cuda.lock"'


def test_pytorch_image_with_cuda_is_built_from_its_lock(tmp_path: Path) -> None:
    """The build runs the definition's check, which computes with torch and torchvision."""
    definitions = tmp_path / "images"
    shutil.copytree(DEFINITIONS, definitions)
    definition = definitions / "pytorch.toml"
    text = definition.read_text(encoding="utf-8")
    assert CPU_LOCK in text
    definition.write_text(text.replace(CPU_LOCK, CUDA_LOCK), encoding="utf-8")
    out = Path(os.environ["PORTAL_STATE_ROOT"]) / "images-cuda"
    words = ["/usr/bin/python3", "-m", "deploy.images", "build", "pytorch"]
    subprocess.run([*words, f"--definitions={definitions}", f"--out={out}"], check=True)
    image = (out / "pytorch.sif").resolve()
    versions = versions_of(image)
    assert "nvidia-cudnn-cu13" in versions
    assert not is_cpu_build(versions)
    imported = subprocess.run(
        ["apptainer", "-q", "exec", "--no-privs", "--no-mount", "home,cwd", "--pwd", "/", image,
         "python3", "-c", "import torch; print(torch.version.cuda)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert imported.stdout.startswith("13.")
