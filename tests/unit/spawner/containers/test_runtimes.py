"""The three kinds of environments: the content of their files, and the commands run for each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from spawner.catalog.environment import (
    CatalogError,
    CatalogFolders,
    Environment,
    availability,
    load_environment,
)
from spawner.catalog.jobscript import JobContext, render_script
from spawner.containers.kernels import KernelContext, job_command, kernelspec
from spawner.containers.runtimes import Modules, Virtualenv
from spawner.node import kernel as wrapper
from spawner.node import modules
from spawner.slurm.model import Resources
from tests.paths import CHECKOUT

KERNEL = ["python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
COMMON: dict[str, Any] = {
    "title": "Science",
    "language": "python",
    "version": "3.11",
    "kernel": {"argv": KERNEL},
}
OWN: dict[str, dict[str, Any]] = {
    "apptainer": {"image": "x.sif"},
    "modules": {"modules": ["python/3.11", "threads"]},
    "virtualenv": {"prefix": "/apps/science"},
}
PLACE = KernelContext(
    runtime_dir="/srv/runtime",
    apptainer="/usr/bin/apptainer",
    home="/home/alice",
    node_dir="/tmp/portal-1",
    logdir="/home/alice/runs",
    gpus=True,
)
PACKAGES = "/home/alice/.local/share/portal/packages/science"
# Lmod and Environment Modules as far as relevant. `late` reports success after a failure, as
# Environment Modules 3 did; `twice` is already loaded.
INIT = """\
export MODULEPATH=/apps/modules
module() {
  [ "$1" = load ] || return 1
  echo "loading $2"
  case "$2" in
    python/3.11) export PATH="/apps/python/bin:$PATH" FOUND="$MODULEPATH" MINE=modules
      LOADEDMODULES="${LOADEDMODULES:+$LOADEDMODULES:}python/3.11:twice/1" ;;
    twice) ;;
    threads) export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
      LOADEDMODULES="$LOADEDMODULES:threads/1.0" ;;
    late) echo "ModuleCmd_Load.c: Unable to locate late" >&2 ;;
    *) echo "these modules are unknown: $2" >&2; return 1 ;;
  esac
  export LOADEDMODULES
}
"""

Load = Callable[..., Environment]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def put(runtime: str, init: Path | None = Path("/etc/modules.sh"), **more: Any) -> Environment:
        fields = COMMON | {"runtime": runtime} | OWN.get(runtime, {}) | more
        path = tmp_path / "science.yaml"
        path.write_text(yaml.safe_dump({k: v for k, v in fields.items() if v is not ...}))
        return load_environment(path, CatalogFolders((tmp_path,), modules_init=init))

    return put


@pytest.fixture
def init(tmp_path: Path) -> Path:
    path = tmp_path / "it's init.sh"
    path.write_text(INIT)
    return path


# --- validation of a file -------------------------------------------------------------------------


def test_each_runtime_has_what_it_needs(load: Load) -> None:
    names = ("python/3.11", "threads")
    assert load("modules").runtime == Modules(names, Path("/etc/modules.sh"))
    assert load("virtualenv").runtime == Virtualenv(Path("/apps/science"))
    assert load("apptainer").runtime.kind == "apptainer"


@pytest.mark.parametrize("runtime", OWN)
def test_fields_needed_by_a_runtime_are_required(load: Load, runtime: str) -> None:
    (field,) = OWN[runtime]
    with pytest.raises(CatalogError, match=rf"science.yaml: '{field}' is a required property$"):
        load(runtime, **{field: ...})


@pytest.mark.parametrize(
    ("runtime", "field", "value"),
    [
        *((runtime, "image", "x.sif") for runtime in ("modules", "virtualenv")),
        *((runtime, "public_image", "docker://x/y") for runtime in ("modules", "virtualenv")),
        ("modules", "needs", "luck"),
        ("modules", "binds", ["/data"]),
        ("modules", "path", "/bin"),
        ("modules", "prefix", "/apps"),
        ("virtualenv", "modules", ["gcc"]),
        ("apptainer", "modules", ["gcc"]),
        ("apptainer", "prefix", "/apps"),
    ],
)  # fmt: skip
def test_fields_of_another_runtime_are_refused(
    load: Load, runtime: str, field: str, value: Any
) -> None:
    with pytest.raises(CatalogError) as caught:
        load(runtime, **{field: value})
    (problem,) = caught.value.problems
    assert f"science.yaml: {field}: This field is " in problem
    assert "for the runtime" in problem


@pytest.mark.parametrize(
    ("runtime", "field", "changes"),
    [
        ("docker", "runtime", {}),
        ("modules", "modules", {"modules": []}),
        ("modules", "modules", {"modules": "gcc"}),
        ("modules", "modules", {"modules": ["gcc", "gcc"]}),
        ("modules", "modules.1", {"modules": ["gcc", "$(id)"]}),
        ("modules", "modules.0", {"modules": ["-f"]}),
        ("modules", "modules.0", {"modules": ["a b"]}),
        ("modules", "modules.0", {"modules": ["a\n"]}),
        ("modules", "modules.0", {"modules": [""]}),
        ("modules", "modules.0", {"modules": [3.11]}),
        ("modules", "modules.0", {"modules": ["x" * 200]}),
        ("virtualenv", "prefix", {"prefix": "apps/science"}),
        ("virtualenv", "prefix", {"prefix": "~/venv"}),
        ("virtualenv", "prefix", {"prefix": "/a:/b"}),
        ("virtualenv", "prefix", {"prefix": "/a\n"}),
        ("virtualenv", "prefix", {"prefix": 7}),
    ],
)
def test_mistakes_name_file_and_field(
    load: Load, runtime: str, field: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(CatalogError) as caught:
        load(runtime, **changes)
    assert f"science.yaml: {field}: " in caught.value.problems[0]


# --- availability ---------------------------------------------------------------------------------


def test_modules_need_the_site_s_setting(load: Load, init: Path) -> None:
    assert availability(load("modules", init=init)) == (True, None)
    there, reason = availability(load("modules", init=None))
    assert not there
    assert "modules_init" in str(reason)
    there, reason = availability(load("modules", init=init.with_name("gone")))
    assert not there
    assert "gone, is not there" in str(reason)


def test_a_virtualenv_needs_its_folder(load: Load, tmp_path: Path) -> None:
    prefix = tmp_path / "apps"
    there, reason = availability(load("virtualenv", prefix=str(prefix)))
    assert not there
    assert str(prefix) in str(reason)
    (prefix / "bin").mkdir(parents=True)
    assert availability(load("virtualenv", prefix=str(prefix))) == (True, None)


# --- commands -------------------------------------------------------------------------------------


def test_a_modules_kernel_is_run_by_the_wrapper_alone(load: Load) -> None:
    spec = kernelspec(load("modules"), PLACE)
    request = wrapper.parse(spec["argv"][4:])
    assert request.command == tuple(KERNEL)
    assert request.modules_init == "/etc/modules.sh"
    assert request.modules == ("python/3.11", "threads")
    assert request.first == (f"{PACKAGES}/bin",)
    assert request.make == (Path(f"{PACKAGES}/lib/python3.11/site-packages"),)
    assert request.keep == spec["env"].keys()
    assert spec["interrupt_mode"] == "signal"


def test_a_virtualenv_s_programs_come_behind_the_user_s_own(load: Load) -> None:
    request = wrapper.parse(kernelspec(load("virtualenv", path="/x:/y"), PLACE)["argv"][4:])
    assert wrapper.surroundings(request, {})["PATH"] == f"{PACKAGES}/bin:/apps/science/bin:/x:/y"
    assert request.modules_init is None


@pytest.mark.parametrize("runtime", ["modules", "virtualenv"])
def test_terminal_prompt_names_the_environment(load: Load, runtime: str) -> None:
    about = kernelspec(load(runtime), PLACE)["metadata"]["portal"]
    words = wrapper.parse(about["terminal"][4:]).command
    assert words[0] == "env"
    assert words[-2:] == ("debian_chroot=science", "bash")


@pytest.mark.parametrize("runtime", ["modules", "virtualenv"])
def test_a_job_s_command_follows_the_same_words(load: Load, runtime: str) -> None:
    env, words = job_command(load(runtime), PLACE, ["PORTAL_TASK"])
    request = wrapper.parse([*words[4:], "python3", "train.py"])
    assert request.command == ("python3", "train.py")
    assert request.keep == {*env, "PORTAL_TASK"}


def test_a_script_runs_in_modules(load: Load, init: Path, tmp_path: Path) -> None:
    """The whole script, run by bash with the wrapper of this checkout."""
    python = tmp_path / "runtime" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nshift 1\nexec {sys.executable} "$@"\n')  # without -I
    python.chmod(0o755)
    environment = load("modules", init=init)
    place = JobContext(
        uuid="u",
        username="alice",
        home=str(tmp_path),
        runtime_dir=str(tmp_path / "runtime"),
        apptainer="/nowhere",
        logdir=str(tmp_path / "logs"),
        environment=environment,
        resources=Resources(),
    )

    def run(environment: Environment, uuid: str) -> subprocess.CompletedProcess[str]:
        script = 'echo "$PATH|$OMP_NUM_THREADS|$PORTAL_LOGDIR|$SECRET"'
        job = render_script(script, replace(place, uuid=uuid), environment)
        folder = tmp_path / ".local/share/portal/jobs" / uuid
        folder.mkdir(parents=True)
        for name, text in job.files.items():
            (folder / name).write_text(text)
        environ = {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "3", "SECRET": "x", "HOME": "/"}
        environ |= {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(CHECKOUT),
            "SLURMD_NODENAME": "node01",
        }
        return subprocess.run(
            ["/bin/bash", "-c", job.script],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=CHECKOUT,
        )

    done = run(environment, place.uuid)
    path, threads, logdir, secret = done.stdout.strip().split("|")
    assert path.startswith(f"{tmp_path}/.local/share/portal/packages/science/bin:/apps/python/bin:")
    assert (threads, logdir, secret) == ("3", str(tmp_path / "logs"), "")
    broken = replace(environment, runtime=Modules(("python/3.11", "gone/2"), init))
    done = run(broken, "other")
    assert done.returncode != 0
    assert "the module gone/2 can't be loaded on node01: " in done.stderr


# --- on the node ----------------------------------------------------------------------------------


def test_modules_are_loaded_in_their_order(init: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "SLURM_CPUS_PER_TASK": "2"}
    loaded = modules.load(str(init), ["python/3.11", "threads", "twice"], environ)
    assert loaded == {
        **environ,
        "MODULEPATH": "/apps/modules",
        "FOUND": "/apps/modules",
        "MINE": "modules",
        "PATH": "/apps/python/bin:/usr/bin:/bin",
        "OMP_NUM_THREADS": "2",
        "LOADEDMODULES": "python/3.11:twice/1:threads/1.0",
    }


def test_values_pass_through_modules_as_they_are(init: Path) -> None:
    odd = "$(id)\n`id` 'x' \\ =\udcff"
    assert modules.load(str(init), [], {"PATH": "/bin", "ODD": odd})["ODD"] == odd


@pytest.mark.parametrize("name", ["gone/1", "late", "python", "$(touch x)", "-h"])
def test_a_module_that_can_t_be_loaded_is_named_with_its_node(
    init: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "node07")
    with pytest.raises(modules.ModuleProblem) as caught:
        modules.load(str(init), ["python/3.11", name, "threads"], {"PATH": "/usr/bin:/bin"})
    assert str(caught.value).startswith(f"the module {name} can't be loaded on node07: ")
    assert "loading" in str(caught.value)


def test_invalid_module_init_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "empty.sh").touch()
    for name in ("empty.sh", "none.sh"):
        with pytest.raises(modules.ModuleProblem, match="command `module` is not available"):
            modules.load(str(tmp_path / name), ["x"], {"PATH": "/usr/bin:/bin"})


def wrapped(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spawner.node.kernel", *arguments],
        cwd=CHECKOUT,
        env={"HOME": "/", "SLURMD_NODENAME": "node01", **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_secrets_reach_neither_modules_nor_the_command(init: Path) -> None:
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    options = ["--modules-init", str(init), "--module", "python/3.11", "--first", "/own/bin"]
    command = [sys.executable, "-I", "-c", show]
    secrets = {"JUPYTERHUB_API_TOKEN": "x", "LD_PRELOAD": "", "BASH_ENV": "/nowhere", "ODD": "x"}
    done = wrapped("--keep", "MINE,PATH", *options, "--", *command, MINE="file's", **secrets)
    seen = json.loads(done.stdout)
    assert not secrets.keys() & seen.keys()
    assert seen["PATH"].startswith("/own/bin:")
    assert seen["MINE"] == "file's"  # takes precedence over the module's value
    assert seen["FOUND"] == "/apps/modules"


def test_wrapper_reports_missing_module_in_one_sentence(init: Path) -> None:
    options = ["--modules-init", str(init), "--module", "gone/1"]
    done = wrapped(*options, "--", "/bin/echo", "ran")
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr == (
        "portal: the module gone/1 can't be loaded on node01: loading gone/1"
        " these modules are unknown: gone/1\n"
    )


def test_virtualenv_gets_the_users_package_folder(tmp_path: Path) -> None:
    program = tmp_path / "apps" / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    make = [Path("/home/a/packages/lib")]
    environ = {"PATH": str(program.parent), "PIP_USER": "1", "PYTHONUSERBASE": "/home/a/packages"}
    assert wrapper.in_virtualenv(environ, make) == environ  # conda's, or the system's own
    (tmp_path / "apps" / "pyvenv.cfg").touch()
    changed = wrapper.in_virtualenv({**environ, "PYTHONPATH": "/first"}, make)
    assert "PIP_USER" not in changed
    assert changed["PIP_PREFIX"] == "/home/a/packages"
    assert changed["PYTHONPATH"] == "/first:/home/a/packages/lib"
