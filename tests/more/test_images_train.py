"""Each environment trains a toy model with its own starter notebook, in its own kernel.

It runs as an unprivileged user and starts as a session does, which tests the image, the kernel, the
wrapper and the notebook together. Requires root, Apptainer and the nodes' virtualenv, but no Slurm.
PORTAL_IMAGES (names of images, separated by spaces) lists the expected images; without it, all are
expected, and a missing one fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from spawner.catalog.environment import SHIPPED, Catalog, Environment, availability
from spawner.catalog.launch_files import node_dir
from spawner.containers.kernels import KernelContext, kernelspec
from spawner.containers.runtimes import Container
from tests.cluster.test_image import STATE, UID, _virtualenv
from tests.images import WANTED, needs

CATALOG = Catalog.load(image_dir=STATE / "images").environments
IMAGES = {e.name: e.runtime for e in CATALOG.values() if isinstance(e.runtime, Container)}
# those with a framework; the desktop has a test of its own
WITH_KERNEL = [
    e
    for e in CATALOG.values()
    if e.has_kernel and IMAGES[e.name].public_image is None and e.name != "desktop"
]
EXPECTED = [e for e in WITH_KERNEL if WANTED is None or IMAGES[e.name].image.stem in WANTED.split()]


def cases(environments: Iterable[Environment]) -> list[Any]:
    """Return the parameters of a test; those that PORTAL_IMAGES leaves out are skipped."""
    return [
        pytest.param(each, marks=needs(IMAGES[each.name].image.stem), id=each.name)
        for each in environments
    ]


# The mean square of a sine is about 0.5; a fitted line leaves 0.2.
LOSS_AT_FIRST = 0.3
LOSS_IN_THE_END = 0.15
# Debian has no package for R that writes event files.
PRINTS_ONLY = {"r"}
TAGS = {"keras": "epoch_loss"}
# per language: a cell that never ends, and one that prints a sum
ENDLESS = {
    "python": "import sys\nsys.stdout.write('on')\nsys.stdout.flush()\nwhile True: pass",
    "R": "cat('on'); flush(stdout()); repeat Sys.sleep(0.01)",
}
SUM = {"python": "print(20 + 22)", "R": "cat(20 + 22)"}
# one environment of each version of each language, an expected one if there is any
LANGUAGES = {(e.language, e.version): e for e in [*WITH_KERNEL, *reversed(EXPECTED)]}.values()
# Two processes add 1 and 2, with MPI and with Gloo. The launcher is imported as described in
# docs/environments.md, together with modules that its threads would otherwise import concurrently.
ADDING = """
import subprocess, sys
program = '''import horovod.tensorflow as hvd, tensorflow as tf
hvd.init()
print('sum', float(hvd.allreduce(tf.constant(hvd.rank() + 1.0), op=hvd.Sum)), hvd.mpi_enabled())'''
two = [sys.executable, "-c", program]
first = "import multiprocessing.popen_spawn_posix, multiprocessing.resource_tracker"
launch = "from horovod.runner.launch import run_commandline; run_commandline()"
launcher = [sys.executable, "-c", first + "; " + launch]
mca = ["--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"]
for run in (["mpirun", "--oversubscribe", *mca, "-np", "2"],
            [*launcher, "--gloo", "--network-interfaces", "lo", "-np", "2", "-H", "localhost:2"]):
    done = subprocess.run([*run, *two], capture_output=True, text=True, timeout=100)
    print(done.stdout, done.stderr[-2000:])
"""
Act = Callable[[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that other users can enter, with the user's home directory in it."""
    assert os.geteuid() == 0, "these tests become another user"
    with tempfile.TemporaryDirectory(prefix="test-train-", dir=STATE) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def setup(place: Path) -> Iterator[dict[str, Any]]:
    """A user with a home directory, the nodes' virtualenv, and all kernelspecs and starters."""
    home, own_node_dir = place / "home", Path(node_dir(str(uuid4()), "a secret"))
    for folder in (home, own_node_dir):
        folder.mkdir(mode=0o700)
    runtime = str(_virtualenv(place))
    starters, logdirs = {}, {}
    for environment in EXPECTED:
        name = environment.name
        logdirs[name] = str(home / "portal/runs" / name)
        kernels = KernelContext(
            runtime_dir=runtime,
            apptainer="/usr/bin/apptainer",
            home=str(home),
            node_dir=str(own_node_dir),
            logdir=logdirs[name],
            gpus=False,
        )
        Path(logdirs[name]).mkdir(parents=True)
        folder = own_node_dir / "kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps(kernelspec(environment, kernels)))
        starters[name] = str(shutil.copy(SHIPPED / "starters" / f"{name}.ipynb", home))
    for path in [home, *home.rglob("*"), own_node_dir, *own_node_dir.rglob("*")]:
        os.chown(path, UID, UID)
    user = f"learner:x:{UID}:{UID}::{home}:/bin/bash\n"
    (place / "passwd").write_text(Path("/etc/passwd").read_text() + user)
    (place / "group").write_text(Path("/etc/group").read_text() + f"learner:x:{UID}:\n")
    yield {
        "uid": UID,
        "home": str(home),
        "node_dir": str(own_node_dir),
        "runtime_dir": runtime,
        "passwd": str(place / "passwd"),
        "group": str(place / "group"),
        "starters": starters,
        "logdirs": logdirs,
        "endless": {e.name: ENDLESS[e.language] for e in EXPECTED},
        "cells": {"horovod": ADDING},
        "sum": {e.name: SUM[e.language] for e in EXPECTED},
        "environ": {
            "HOME": str(home),
            "USER": "learner",
            "PATH": "/usr/bin:/bin",
            "JUPYTER_RUNTIME_DIR": str(own_node_dir),
        },
    }
    shutil.rmtree(own_node_dir)


@pytest.fixture(scope="module")
def act(setup: dict[str, Any], place: Path) -> Act:
    """Return a function that runs one operation of train_user.py in an environment as the user."""
    program = place / "train_user.py"
    shutil.copy(Path(__file__).with_name("train_user.py"), program)
    config = place / "setup.json"
    config.write_text(json.dumps(setup))

    def run(what: str, name: str) -> dict[str, Any]:
        command = ["unshare", "--mount", "--propagation", "private", "/usr/bin/python3"]
        done = subprocess.run(
            [*command, str(program), "enter", str(config), what, name],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return seen

    return run


@pytest.mark.parametrize("environment", cases(WITH_KERNEL))
def test_it_trains_and_logs(environment: Environment, act: Act) -> None:
    there, reason = availability(environment)
    assert there, reason
    seen = act("train", environment.name)
    assert seen["errors"] == []
    printed = [float(loss) for loss in re.findall(r"step \d+ loss (\S+)", seen["text"])]
    assert len(printed) >= 5
    assert printed[0] > LOSS_AT_FIRST
    assert printed[-1] < LOSS_IN_THE_END
    assert "image/png" in seen["shown"]
    if environment.name not in PRINTS_ONLY:
        logged = seen["scalars"][TAGS.get(environment.name, "loss")]
        assert len(logged) == 50
        assert logged[0] == pytest.approx(printed[0], abs=1e-3)
        assert logged[-1] == pytest.approx(printed[-1], abs=1e-3)


@pytest.mark.parametrize("environment", cases(LANGUAGES))
def test_an_interrupt_ends_the_cell_and_not_the_kernel(environment: Environment, act: Act) -> None:
    seen = act("interrupt", environment.name)
    assert seen["after"] == "42"
    # IRkernel reports an interrupted cell as ended
    assert seen["error"] == (None if environment.language == "R" else "KeyboardInterrupt")


@pytest.mark.parametrize("environment", cases(e for e in WITH_KERNEL if e.name == "horovod"))
def test_horovod_adds_over_mpi_and_gloo(environment: Environment, act: Act) -> None:
    seen = act("cell", environment.name)
    assert seen["error"] is None
    print(seen["text"])
    assert sorted(re.findall(r"sum (\S+) (\w+)", seen["text"])) == [
        *[("3.0", "False")] * 2,
        *[("3.0", "True")] * 2,
    ]


def test_the_images_that_are_asked_for_exist() -> None:
    """A mistyped name in PORTAL_IMAGES must not make these tests pass by testing nothing."""
    known = {path.stem for path in (SHIPPED / "images").glob("*.toml")}
    assert not set((WANTED or "").split()) - known
    assert EXPECTED
