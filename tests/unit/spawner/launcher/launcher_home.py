"""A home directory with fake Slurm commands, and the launcher as a separate process.

If the tests run as root (as with `make test`), the launcher switches to the account `nobody` first,
with a home directory created by the test.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from spawner.launcher.installed import FILES_PROGRAM, files_program, launcher_program
from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S

LAUNCHER = CHECKOUT / "spawner" / "launcher" / "program.py"
UUID = "12345678-1234-1234-1234-123456789abc"
OTHER = "87654321-1234-1234-1234-123456789abc"
AS_ROOT = os.getuid() == 0
UID, GID = (65534, 65534) if AS_ROOT else (os.getuid(), os.getgid())

# Runs the installed file, with its user and the path of its configuration replaced.
HARNESS = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("launcher", sys.argv[1])
launcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launcher)
home, bin_dir, idle_s, uid = sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
launcher.read_conf = lambda path: launcher.Conf(1, bin_dir, "/etc/slurm.conf", 0o027)
launcher.who_am_i = lambda least: launcher.User("user", uid, uid, home, "/bin/bash")
launcher.only_root_can_write = lambda state: True
launcher.IDLE_S = idle_s
launcher.main()
"""

# Named behaviors of Slurm's commands. RECORDS writes its input to files beside itself.
RECORDS = """
import json, os, sys
mask = os.umask(0); os.umask(mask)
call = [sys.argv[1:], dict(os.environ), os.getcwd(), mask, sys.stdin.read()]
with open(sys.argv[0] + ".recorded", "w") as file: json.dump(call, file)
"""
TAKES = RECORDS + "print('4711')\n"
TAKES_ON_A_CLUSTER = "print('4711;demo')"
MUMBLES = "print('ok')"
REFUSES = "import sys; sys.exit('sbatch: error: Batch job submission failed: Invalid qos')"
DOWN = "import sys; sys.exit('sbatch: error: Unable to contact slurm controller')"
NEVER = (
    "import subprocess, time, sys\n"
    "sleep = 'import time; time.sleep(600)'\n"
    "child = subprocess.Popen([sys.executable, '-c', sleep, sys.argv[0]])\n"
    "time.sleep(600)\n"
)
DENIED = "import sys; sys.exit('srun: error: Unable to create step: Access/permission denied')"
NO_SUCH_JOB = (
    "import sys; sys.exit('scancel: error: Kill job error on job id 9: Invalid job id specified')"
)
HAS_ENDED = "import sys; sys.exit('scancel: error: Job/step already completing or completed')"


class Place:
    """A home directory and a folder of commands, both the user's, and a copy of the programs.

    The copies are readable for the user, which a checkout may not be.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.bin_dir = root, root / "home", root / "bin"
        for folder in (root, self.home, self.bin_dir):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
            os.chown(folder, UID, GID)
        self.jobs = self.home / ".local/share/portal/jobs"
        self.launcher = root / "launcher.py"
        self.launcher.write_bytes(launcher_program())
        (root / FILES_PROGRAM).write_bytes(files_program())

    def command(self, name: str, behaviour: str) -> None:
        path = self.bin_dir / name
        path.write_text(f"#!{system_python()} -IS\n{behaviour}\n")
        path.chmod(0o755)

    def recorded(self, name: str) -> Any:
        return json.loads((self.bin_dir / f"{name}.recorded").read_text())

    def job_file(self, name: str, data: bytes = b"") -> Path:
        """Create a file as a job of the user's would leave it."""
        path = self.jobs / UUID / name
        for folder in [f for f in reversed(path.parents) if f.is_relative_to(self.home)]:
            folder.mkdir(exist_ok=True)
            os.chown(folder, UID, GID)
        path.write_bytes(data)
        os.chown(path, UID, GID)
        return path


def command(place: Place, idle_s: float = 60.0) -> list[str]:
    """Return the argv that starts a launcher for this place."""
    become = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups"]
    harness = [
        system_python(), "-IS", "-c", HARNESS, str(place.launcher), str(place.home),
        str(place.bin_dir), str(idle_s), str(UID),
    ]  # fmt: skip
    return [*(become if AS_ROOT else []), *harness]


class Process:
    """One launcher and its pipes."""

    def __init__(self, place: Place, idle_s: float = 60.0, stderr: Any = None) -> None:
        self.process = subprocess.Popen(
            command(place, idle_s),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd="/",
            bufsize=0,  # otherwise select would not see data that has been read ahead
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.hello = self.receive()

    def send(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[self.stdin.write(view) :]

    def receive(self) -> Any:
        assert select.select([self.stdout], [], [], PATIENCE_S)[0], "no answer"
        return json.loads(self.stdout.readline())

    def ask(self, op: str, **fields: Any) -> Any:
        self.send(json.dumps({"id": 1, "op": op, **fields}).encode() + b"\n")
        return self.receive()

    def submit(self, **fields: Any) -> Any:
        files = {"config.json": '{"secret": "x"}'}
        whole = {"uuid": UUID, "files": files, "script": "#!/bin/sh\n", "options": []}
        return self.ask("submit", **{**whole, **fields})

    def wait(self) -> int:
        code = self.process.wait(PATIENCE_S)
        self.stdout.close()
        return code

    def close(self) -> int:
        """Close its stdin, ignoring input that a dead process did not read, and wait for its
        end."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        return self.wait()


def system_python() -> str:
    """Return the interpreter of the shebang, or the one that runs the tests where that is
    missing."""
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


def error_of(answer: Any) -> tuple[str, str]:
    assert answer["ok"] is False
    return answer["error"]["type"], answer["error"]["message"]


def processes_naming(text: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text in path.read_bytes().decode(errors="replace"):
                found.append(int(path.parent.name))
    return found
