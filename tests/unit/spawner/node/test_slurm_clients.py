"""Slurm's programs inside a container, by the wrapper and its relay.

The commands are real; the programs outside are scripts that print their input.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spawner.node import slurm_clients
from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S, wait_until

OUTSIDE = """#!/bin/sh
case $1 in
  show) pwd; printf '%s\\n' "$@"; env ;;
  both) echo out; echo err >&2; exit 3 ;;
  read) cat ;;
  killed) kill -9 $$ ;;
  long) trap 'echo interrupted; exit 130' INT; echo begun; while :; do sleep 0.1; done ;;
esac
"""


class Container:
    """The process executed by the wrapper, with its folder.

    It runs commands as a container's programs would.
    """

    def __init__(self, place: Path, search: str | None = None) -> None:
        outside = place / "outside"
        outside.mkdir()
        for name in ("squeue", "srun", "sbatch"):
            (outside / name).write_text(OUTSIDE)
            (outside / name).chmod(0o755)
        self.base = place / "node"
        self.base.mkdir()
        show = 'echo "$PORTAL_SLURM $0"; exec cat'
        wrapper = [sys.executable, "-m", "spawner.node.kernel", "--keep", "OWN"]
        self.process = subprocess.Popen(
            [*wrapper, "--slurm", str(self.base), "--", "/bin/sh", "-c", show, "{slurm}"],
            cwd=CHECKOUT,
            env={
                "HOME": "/",
                "PATH": search or f"{outside}:/usr/bin:/bin",
                "SLURM_JOB_ID": "7",
                "OWN": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        folder, self.path = self.process.stdout.readline().rstrip("\n").split(" ")
        self.folder = Path(folder) if folder else None

    def environ(self, **more: str) -> dict[str, str]:
        return {"PATH": f"/usr/bin:/bin:{self.path}", "PORTAL_SLURM": str(self.folder), **more}

    def start(self, *words: str, cwd: Path | None = None, **env: str) -> subprocess.Popen[str]:
        # a shell cannot trap a signal that was ignored at its start, as in a background job
        return subprocess.Popen(
            ["env", "--default-signal=INT", f"{self.path}/{words[0]}", *words[1:]],
            cwd=cwd,
            env=self.environ(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *words: str, text: str = "", cwd: Path | None = None, **env: str
    ) -> tuple[int, str, str]:
        process = self.start(*words, cwd=cwd, **env)
        out, err = process.communicate(text, timeout=PATIENCE_S)
        return process.returncode, out, err

    def end(self) -> None:
        self.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    container = Container(tmp_path)
    yield container
    if container.process.returncode is None:
        container.end()


def test_relay_program_gets_arguments_and_folder_verbatim(
    container: Container, tmp_path: Path
) -> None:
    hostile = ["$(touch x)", "`id`", "a  b", "", "two\nlines", "*"]
    code, out, err = container.run("squeue", "show", *hostile, cwd=tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith(f"{tmp_path}\nshow\n" + "\n".join(hostile) + "\n")


def test_relay_environment_is_the_jobs_with_what_was_set_inside(container: Container) -> None:
    inside: dict[str, Any] = {
        "LEARNING_RATE": "0.1",
        "SBATCH_PARTITION": "gpu",
        "PYTHONUSERBASE": "/x",
    }
    _, out, _ = container.run("srun", "show", **inside, LD_LIBRARY_PATH="/image/lib", OWN="image's")
    seen = out.splitlines()
    assert {"LEARNING_RATE=0.1", "SBATCH_PARTITION=gpu", "SLURM_JOB_ID=7"} <= set(seen)
    hidden = ("PYTHONUSERBASE=", "LD_LIBRARY_PATH=", "OWN=", "PORTAL_SLURM=")
    assert not [line for line in seen if line.startswith(hidden)]
    (path,) = (line for line in seen if line.startswith("PATH="))
    assert path.endswith("outside:/usr/bin:/bin")


def test_relay_passes_both_outputs_and_exit_code(container: Container) -> None:
    assert container.run("squeue", "both") == (3, "out\n", "err\n")
    assert container.run("squeue", "killed") == (137, "", "")


def test_relay_passes_much_input_and_output(container: Container) -> None:
    text = "0123456789\n" * 100_000
    assert container.run("srun", "read", text=text) == (0, text, "")


def test_relay_leaves_input_to_the_loop_around_it(container: Container) -> None:
    loop = "while read -r line; do squeue read; echo $line; done"
    done = subprocess.run(
        ["/bin/sh", "-c", loop],
        env=container.environ(),
        input="a\nb\nc\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout == "a\nb\nc\n"


def test_sbatch_reads_a_script_from_its_input_only_without_a_file(
    container: Container, tmp_path: Path
) -> None:
    (tmp_path / "train.sh").write_text("#!/bin/bash\n")
    assert container.run("sbatch", "read", text="#!/bin/sh\n")[1] == "#!/bin/sh\n"
    assert container.run("sbatch", "read", "train.sh", text="x", cwd=tmp_path)[1] == ""
    assert container.run("sbatch", "read", "--wrap=hostname", text="x")[1] == ""


def test_relay_runs_several_programs_at_once(container: Container) -> None:
    long = container.start("srun", "long")
    assert long.stdout
    assert long.stdout.readline() == "begun\n"
    assert container.run("squeue", "both")[0] == 3
    long.send_signal(signal.SIGINT)
    out, _ = long.communicate(timeout=PATIENCE_S)
    assert (long.returncode, out) == (130, "interrupted\n")


def test_relay_ends_a_program_whose_start_has_not_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, returns = threading.Event(), threading.Event()
    processes: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def slow(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        processes.append(real(*words, **options))
        started.set()
        assert returns.wait(PATIENCE_S)
        return processes[0]

    monkeypatch.setattr(subprocess, "Popen", slow)
    call = tmp_path / "node/call.aaaaaa"
    call.mkdir(parents=True)
    (call / "words").write_bytes(b"srun\0infinity\0")
    (call / "folder").write_text(f"{tmp_path}\n")
    (call / "environ").write_bytes(b"")
    for name in ("out", "err"):
        (call / name).touch()
    relay = slurm_clients.CommandRelay(tmp_path / "node", {"srun": "/usr/bin/sleep"}, {}, ())
    relay._handle_line("run call.aaaaaa")
    assert started.wait(PATIENCE_S)
    closing = threading.Thread(target=relay.close)
    closing.start()
    returns.set()
    closing.join(PATIENCE_S)
    assert processes[0].wait(PATIENCE_S) == -signal.SIGTERM
    assert not (tmp_path / "node").exists()


def test_relay_ends_with_its_container_and_leaves_nothing(container: Container) -> None:
    long = container.start("srun", "long")
    assert long.stdout
    assert long.stdout.readline() == "begun\n"
    container.end()
    wait_until(lambda: not any(container.base.iterdir()), "the folder to be gone")
    long.communicate(timeout=PATIENCE_S)
    assert long.returncode != 0


def test_relay_folder_is_closed_to_others(container: Container) -> None:
    assert container.folder is not None
    assert container.folder.stat().st_mode & 0o777 == 0o700


def test_node_without_slurm_has_no_relay(tmp_path: Path) -> None:
    empty = Container(tmp_path, search="/nonexistent")
    try:
        assert empty.folder is None
        assert not any(empty.base.iterdir())
    finally:
        empty.end()


def test_relay_holds_no_output_of_the_container_open(tmp_path: Path) -> None:
    """`in_env … | tee log` ends when the program does."""
    wrapper = [sys.executable, "-m", "spawner.node.kernel", "--slurm", str(tmp_path)]
    done = subprocess.run(
        [*wrapper, "--", "/bin/echo", "done"],
        cwd=CHECKOUT,
        env={"HOME": "/", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout == "done\n"
