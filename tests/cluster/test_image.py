"""A kernel in the python3 image, started as Jupyter starts it, by an unprivileged user.

Requires root, Apptainer, the built image and the nodes' virtualenv, but no Slurm: the user exists
in a mount namespace of the test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from spawner.catalog.environment import Catalog, availability
from spawner.catalog.launch_files import node_dir
from spawner.containers.kernels import KernelContext, kernelspec, packages_dir

ROOT = Path(__file__).resolve().parents[2]
STATE = Path(os.environ.get("PORTAL_STATE", str(Path(sys.prefix).parent)))
UID = 27183
SESSION_NAME = "`touch pwned1`$(touch pwned2);\n\"'${HOME} ü.ipynb"
Act = Callable[[str], dict[str, Any]]

LOOK = """
import json, os, sys
seen = {"environ": dict(os.environ), "tty": os.isatty(0), "cwd": os.getcwd(),
        "in_container": os.path.exists("/.singularity.d/runscript")}
fresh = sys.argv[1] + ".fresh"
json.dump(seen, open(fresh, "w"))
os.rename(fresh, sys.argv[1])
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that other users can enter, with the user's home directory in it."""
    assert os.geteuid() == 0, "these tests become another user"
    with tempfile.TemporaryDirectory(prefix="test-image-", dir=STATE) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def setup(place: Path) -> Iterator[dict[str, Any]]:
    """A user with a home directory, a virtualenv with this checkout's code, and node
    kernelspecs."""
    home, own_node_dir = place / "home", Path(node_dir(str(uuid4()), "a secret"))
    for folder in (home, own_node_dir):
        folder.mkdir(mode=0o700)
    environment = Catalog.load(image_dir=STATE / "images").environments["python3"]
    there, reason = availability(environment)
    assert there, reason
    kernels = KernelContext(
        runtime_dir=str(_virtualenv(place)),
        apptainer="/usr/bin/apptainer",
        home=str(home),
        node_dir=str(own_node_dir),
        logdir=str(home / "portal/runs/s1"),
        gpus=True,
    )
    specs = own_node_dir / "kernels/python3"
    specs.mkdir(parents=True)
    (specs / "kernel.json").write_text(json.dumps(kernelspec(environment, kernels)))
    Path(kernels.logdir).mkdir(parents=True)
    (home / "look.py").write_text(LOOK)
    wheel = _wheel(home)
    for path in [home, *home.rglob("*"), own_node_dir, *own_node_dir.rglob("*")]:
        os.chown(path, UID, UID)
    user = f"learner:x:{UID}:{UID}::{home}:/bin/bash\n"
    (place / "passwd").write_text(Path("/etc/passwd").read_text() + user)
    (place / "group").write_text(Path("/etc/group").read_text() + f"learner:x:{UID}:\n")
    yield {
        "uid": UID,
        "home": str(home),
        "node_dir": str(own_node_dir),
        "logdir": kernels.logdir,
        "runtime_dir": kernels.runtime_dir,
        "passwd": str(place / "passwd"),
        "group": str(place / "group"),
        "packages": packages_dir(str(home), environment),
        "wheel": str(wheel),
        "session_name": SESSION_NAME,
        "environ": {
            "HOME": str(home),
            "USER": "learner",
            "PATH": "/usr/bin:/bin",
            "JUPYTER_RUNTIME_DIR": str(own_node_dir),
            "JUPYTERHUB_API_TOKEN": "the-hub's-secret",
            "SLURM_JWT": "a-token",
            "SLURM_JOB_ID": "17",
            "CUDA_VISIBLE_DEVICES": "0,1",
            "PYTHONPATH": "/nowhere",
            "LD_LIBRARY_PATH": "/nowhere",
            "MPLBACKEND": "agg",
            "APPTAINERENV_LEAK": "`touch pwned3`",
            "APPTAINER_BIND": "/etc:/mnt",
        },
    }
    shutil.rmtree(own_node_dir)


@pytest.fixture(scope="module")
def act(setup: dict[str, Any], place: Path) -> Act:
    """Return a function that runs one operation of image_user.py as the user and returns its
    output."""
    program = place / "image_user.py"
    shutil.copy(Path(__file__).with_name("image_user.py"), program)
    config = place / "setup.json"
    config.write_text(json.dumps(setup))

    def run(name: str) -> dict[str, Any]:
        command = ["unshare", "--mount", "--propagation", "private", "/usr/bin/python3"]
        done = subprocess.run(
            [*command, str(program), "enter", str(config), name],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return seen

    return run


def _virtualenv(place: Path) -> Path:
    """Copy the nodes' virtualenv, with the code of this checkout."""
    runtime = STATE / "runtime"
    packages = next((runtime / "lib").glob("python3*/site-packages"), None)
    assert packages is not None, f"{runtime} is not built"
    shutil.copytree(ROOT / "spawner", place / "app/spawner")
    own = place / "runtime"
    python = (runtime / "bin/python").resolve()
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(own)], check=True)
    site = next((own / "lib").glob("python3*/site-packages"))
    (site / "portal.pth").write_text(f"{place / 'app'}\n{packages}\n")
    return own


def _wheel(folder: Path) -> Path:
    """Create a wheel with a module and a program by hand: nothing is downloaded."""
    path = folder / "keepsake-1.0-py3-none-any.whl"
    info = "keepsake-1.0.dist-info"
    files = {
        "keepsake.py": "WORD = 'kept'\ndef main(): print(WORD)\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: keepsake\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nkeepsake = keepsake:main\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


def test_a_cell_runs_in_the_container_as_the_user(act: Act, setup: dict[str, Any]) -> None:
    seen = act("cell")
    assert seen["in_container"]
    assert seen["uid"] == UID
    assert seen["home"] == seen["cwd"] == setup["home"]
    environ = seen["environ"]
    assert environ["SLURM_JOB_ID"] == "17"
    assert environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert environ["PORTAL_LOGDIR"] == setup["logdir"]
    assert environ["PYTHONUSERBASE"] == setup["packages"]
    assert environ["PATH"].startswith(f"{setup['packages']}/bin:")


def test_secrets_and_misleading_settings_stay_outside(act: Act) -> None:
    seen = act("cell")
    assert "the-hub's-secret" not in json.dumps(seen)
    absent = {"JUPYTERHUB_API_TOKEN", "SLURM_JWT", "PYTHONPATH", "LEAK"}
    assert not absent & seen["environ"].keys()
    assert "/etc" not in seen["environ"].get("APPTAINER_BIND", "")
    assert seen["environ"].get("LD_LIBRARY_PATH") != "/nowhere"
    assert seen["environ"].get("MPLBACKEND") != "agg"


def test_a_notebook_s_name_is_never_run(act: Act) -> None:
    seen = act("cell")
    assert seen["environ"]["JPY_SESSION_NAME"] == SESSION_NAME
    assert seen["surprises"] == []


def test_kernels_talk_through_sockets_in_the_private_folder(act: Act) -> None:
    seen = act("cell")
    assert len(seen["sockets"]) == 5
    # ipykernel's own pipe for output of forked children: it accepts only messages that begin with a
    # random key, and answers none (ipykernel/iostream.py, IOPubThread)
    assert len(seen["listening"]) == 1
    assert seen["listening"][0].startswith("0100007F:")


def test_interrupts_arrive_once(act: Act) -> None:
    assert act("interrupt") == {"errors": ["KeyboardInterrupt"] * 3, "after": 42}


def test_restart_gives_a_new_kernel(act: Act) -> None:
    seen = act("restart")
    assert seen["before"] != seen["after"]
    assert seen["kept"]["error"] == "NameError"


def test_shutdown_leaves_no_process(act: Act) -> None:
    seen = act("shutdown")
    assert any("ipykernel_launcher" in command for command in seen["running"])
    assert seen["left"] == {}
    assert seen["gone"]


def test_a_killed_starter_takes_the_kernel_along(act: Act) -> None:
    assert act("killed_starter")["gone"]


def test_pip_install_works_at_once_and_lasts(act: Act, setup: dict[str, Any]) -> None:
    seen = act("install")
    assert seen["at_once"] == seen["later"] == seen["program"] == "kept"
    assert seen["where"].startswith(setup["packages"])


def test_the_usual_libraries_work(act: Act) -> None:
    seen = act("libraries")
    assert {seen[name]["error"] for name in ("plot", "write", "frame", "widget")} == {None}
    assert "image/png" in seen["plot"]["shown"]
    assert "text/html" in seen["frame"]["shown"]
    assert "application/vnd.jupyter.widget-view+json" in seen["widget"]["shown"]
    assert len(seen["events"]) == 1


def test_all_byte_code_is_there_and_never_checked(act: Act) -> None:
    seen = act("byte_code")
    assert seen["missing"] == []
    assert seen["checked"] == []
    assert seen["good"] > 1000


def test_terminals_on_the_node_and_inside(act: Act, setup: dict[str, Any]) -> None:
    seen = act("terminal")
    assert seen["refused"] == 404
    assert seen["surprises"] == []
    node, inside = seen["1"], seen["env_python3"]
    assert not node["in_container"]
    assert inside["in_container"]
    assert seen["gone"]
    for shell in (node, inside):
        assert shell["tty"]
        assert shell["environ"]["SLURM_JOB_ID"] == "17"
        assert not {"JUPYTERHUB_API_TOKEN", "SLURM_JWT", "PYTHONPATH"} & shell["environ"].keys()
    assert inside["environ"]["PYTHONUSERBASE"] == setup["packages"]
    assert "PYTHONUSERBASE" not in node["environ"]
