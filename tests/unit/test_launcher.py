"""The launcher as a process of its own, spoken to over its pipes, with Slurm's commands played.

Run as root (as `make test` is), it becomes `nobody` first, with a home of the test's making.
What needs sudo and a real Slurm is in tests/cluster.
"""

import base64
import contextlib
import errno
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LAUNCHER = Path(__file__).parents[2] / "spawner" / "launcher.py"
UUID = "12345678-1234-1234-1234-123456789abc"
OTHER = "87654321-1234-1234-1234-123456789abc"
AS_ROOT = os.getuid() == 0
UID, GID = (65534, 65534) if AS_ROOT else (os.getuid(), os.getgid())

# The real file, told who it is and where its configuration would be.
HARNESS = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("launcher", sys.argv[1])
launcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launcher)
home, bin_dir, idle_s, uid = sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
launcher.read_conf = lambda path: launcher.Conf(1, bin_dir, "/etc/slurm.conf", 0o027)
launcher.who_am_i = lambda least: launcher.User("user", uid, uid, home, "/bin/bash")
launcher.IDLE_S = idle_s
launcher.main()
"""

# Named behaviours of Slurm's commands. TELLS leaves what it was given beside itself.
TELLS = """
import json, os, sys
mask = os.umask(0); os.umask(mask)
told = [sys.argv[1:], dict(os.environ), os.getcwd(), mask, sys.stdin.read()]
with open(sys.argv[0] + ".told", "w") as file: json.dump(told, file)
"""
TAKES = TELLS + "print('4711')\n"
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
    """A home and a folder of commands, both the user's; and the launcher where they can read it,
    which a checkout need not be."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.bin_dir = root, root / "home", root / "bin"
        for folder in (root, self.home, self.bin_dir):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
            os.chown(folder, UID, GID)
        self.jobs = self.home / ".local/share/portal/jobs"
        self.launcher = root / "launcher.py"
        shutil.copy(LAUNCHER, self.launcher)

    def command(self, name: str, behaviour: str) -> None:
        path = self.bin_dir / name
        path.write_text(f"#!{system_python()} -IS\n{behaviour}\n")
        path.chmod(0o755)

    def told(self, name: str) -> Any:
        return json.loads((self.bin_dir / f"{name}.told").read_text())

    def job_file(self, name: str, data: bytes = b"") -> Path:
        """As a job of the user's would leave it."""
        path = self.jobs / UUID / name
        for folder in [f for f in reversed(path.parents) if f.is_relative_to(self.home)]:
            folder.mkdir(exist_ok=True)
            os.chown(folder, UID, GID)
        path.write_bytes(data)
        os.chown(path, UID, GID)
        return path


class Process:
    """One launcher and its pipes."""

    def __init__(self, place: Place, idle_s: float = 60.0) -> None:
        become = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups"]
        harness = [
            system_python(), "-IS", "-c", HARNESS, str(place.launcher), str(place.home),
            str(place.bin_dir), str(idle_s), str(UID),
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [*(become if AS_ROOT else []), *harness],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            bufsize=0,  # or select would not see what has been read ahead
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.hello = self.receive()

    def send(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[self.stdin.write(view) :]

    def receive(self, bound_s: float = 20.0) -> Any:
        assert select.select([self.stdout], [], [], bound_s)[0], "no answer"
        return json.loads(self.stdout.readline())

    def ask(self, op: str, **fields: Any) -> Any:
        self.send(json.dumps({"id": 1, "op": op, **fields}).encode() + b"\n")
        return self.receive()

    def submit(self, **fields: Any) -> Any:
        files = {"config.json": '{"secret": "x"}'}
        whole = {"uuid": UUID, "files": files, "script": "#!/bin/sh\n", "options": []}
        return self.ask("submit", **{**whole, **fields})

    def wait(self) -> int:
        code = self.process.wait(20)
        self.stdout.close()
        return code

    def close(self) -> int:
        """Take its input away, and what a dead one did not read."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        return self.wait()


def system_python() -> str:
    """As in the shebang; elsewhere the one that runs the tests."""
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


@pytest.fixture
def place() -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="launcher-"))
    yield Place(root)
    shutil.rmtree(root)


@pytest.fixture
def launcher(place: Place) -> Iterator[Process]:
    process = Process(place)
    yield process
    process.close()


def error_of(answer: Any) -> tuple[str, str]:
    assert answer["ok"] is False
    return answer["error"]["type"], answer["error"]["message"]


class TestWithdraw:
    """A job that Slurm may yet get is claimed before it."""

    def test_before_anything_is_there_and_once_more(self, launcher: Process) -> None:
        for _ in range(2):
            assert launcher.ask("withdraw", uuid=UUID)["result"] == {"withdrawn": True}

    def test_a_copy_that_comes_later_does_nothing(self, launcher: Process, place: Place) -> None:
        """The first lines of both kinds of scripts."""
        launcher.ask("withdraw", uuid=UUID)
        claimed = place.jobs / UUID / "claimed"
        assert claimed.readlink() != Path("4711")
        with pytest.raises(FileExistsError):
            claimed.mkdir()
        with pytest.raises(FileExistsError):
            claimed.symlink_to("4711")

    def test_one_that_has_begun_stays(self, launcher: Process, place: Place) -> None:
        claimed = place.job_file("stdout.log").with_name("claimed")
        claimed.symlink_to("4711")
        assert launcher.ask("withdraw", uuid=UUID)["result"] == {"withdrawn": False}
        claimed.unlink()
        claimed.mkdir()
        assert launcher.ask("withdraw", uuid=UUID)["result"] == {"withdrawn": False}

    def test_a_missing_home_is_said(self, launcher: Process, place: Place) -> None:
        shutil.rmtree(place.home)
        assert error_of(launcher.ask("withdraw", uuid=UUID))[0] == "HomeUnavailable"


def until(condition: Callable[[], bool], bound_s: float = 30.0) -> None:
    end = time.monotonic() + bound_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def processes_naming(text: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text in path.read_bytes().decode(errors="replace"):
                found.append(int(path.parent.name))
    return found


class TestFrames:
    def test_it_says_who_it_is(self, launcher: Process, place: Place) -> None:
        assert launcher.hello == {
            "hello": 1, "uid": UID, "gid": UID, "username": "user", "home": str(place.home),
            "shell": "/bin/bash",
        }  # fmt: skip
        assert launcher.ask("ping") == {"id": 1, "ok": True, "result": {}}

    @pytest.mark.parametrize(
        "line",
        [
            b"\n", b"[]\n", b"{\n", b"\xff\xfe\n", b'"ping"\n', b'{"op": 1}\n', b"{}\n",
            b'{"op": "__init__"}\n', b'{"op": "environment"}\n', b'{"op": "nope"}\n',
            b"[" * 100_000 + b"\n", b'{"op": "submit", "uuid": "\\ud800"}\n',
        ],
    )  # fmt: skip
    def test_nonsense_is_answered_and_survived(self, launcher: Process, line: bytes) -> None:
        launcher.send(line)
        assert error_of(launcher.receive())[0] == "BadRequest"
        assert launcher.ask("ping")["ok"]

    def test_a_frame_without_end_ends_it(self, launcher: Process) -> None:
        with contextlib.suppress(BrokenPipeError):
            launcher.send(b"x" * (3 << 20))
        assert launcher.wait() == 0

    def test_many_requests_at_once_are_answered_in_turn(self, launcher: Process) -> None:
        launcher.send(b"".join(b'{"id": %d, "op": "ping"}\n' % n for n in range(100)))
        assert [launcher.receive()["id"] for _ in range(100)] == list(range(100))

    def test_it_ends_with_its_input(self, launcher: Process) -> None:
        assert launcher.close() == 0

    def test_it_ends_when_nobody_asks(self, place: Place) -> None:
        process = Process(place, idle_s=0.3)
        assert process.ask("ping")["ok"]
        assert process.process.wait(20) == 0
        process.close()

    def test_no_tracer_and_no_core(self, launcher: Process) -> None:
        proc = Path(f"/proc/{launcher.process.pid}")
        assert "Max core file size        0                    0" in (proc / "limits").read_text()
        if AS_ROOT:
            assert (proc / "mem").stat().st_uid == 0, "not the user's to read"


class TestSubmit:
    def test_the_jobs_folder_is_the_users_alone(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES)
        assert launcher.submit()["result"] == {"job_id": 4711, "stderr": ""}
        folder = place.jobs / UUID
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "config.json").stat().st_mode & 0o777 == 0o600
        assert (folder / "config.json").stat().st_uid == UID
        assert sorted(path.name for path in folder.iterdir()) == ["config.json", "script.sh"]

    def test_what_sbatch_gets(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SBATCH_ACCOUNT", "evil")
        monkeypatch.setenv("LD_LIBRARY_PATH", "/evil")
        launcher = Process(place)
        place.command("sbatch", TAKES)
        launcher.submit(options=["--job-name=a b; $(id)", "--no-requeue"], script="#!/bin/sh\n:\n")
        launcher.close()
        arguments, environment, folder, mask, script = place.told("sbatch")
        assert arguments == ["--job-name=a b; $(id)", "--no-requeue", f"--chdir={place.home}"]
        assert environment.keys() - {"LC_CTYPE"} == {
            "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "SLURM_CONF"
        }  # fmt: skip
        assert (environment["HOME"], environment["USER"]) == (str(place.home), "user")
        assert folder == str(place.home)
        assert mask == 0o027, "the site's, not the launcher's own"
        assert script == "#!/bin/sh\n:\n"

    def test_the_answer_names_a_cluster(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES_ON_A_CLUSTER)
        assert launcher.submit()["result"]["job_id"] == 4711

    def test_refused_leaves_nothing(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", REFUSES)
        answer = launcher.submit()
        assert error_of(answer)[0] == "Rejected"
        assert "Invalid qos" in answer["error"]["stderr"]
        assert list(place.jobs.iterdir()) == []

    @pytest.mark.parametrize("behaviour", [DOWN, MUMBLES])
    def test_unknown_leaves_the_folder_for_the_job_may_exist(
        self, launcher: Process, place: Place, behaviour: str
    ) -> None:
        place.command("sbatch", behaviour)
        assert error_of(launcher.submit())[0] == "Unreachable"
        assert (place.jobs / UUID / "config.json").exists()

    def test_its_deadline_ends_the_whole_process_group(
        self, launcher: Process, place: Place
    ) -> None:
        place.command("sbatch", NEVER)
        assert error_of(launcher.submit(timeout_s=0.5))[0] == "Unreachable"
        until(lambda: not processes_naming(str(place.bin_dir / "sbatch")))
        assert launcher.ask("ping")["ok"]

    def test_again_keeps_what_a_running_job_has(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES)
        launcher.submit()
        place.job_file("stdout.log", b"running")
        place.command("sbatch", REFUSES)
        assert error_of(launcher.submit(files={"config.json": "new"}))[0] == "Rejected"
        folder = place.jobs / UUID
        assert (folder / "stdout.log").read_bytes() == b"running"
        assert (folder / "config.json").read_text() == "new"
        assert not list(folder.glob(".*.new"))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"uuid": "../../etc"}, {"uuid": UUID.upper()}, {"uuid": None},
            {"files": {"../x": ""}}, {"files": {"a/b": ""}}, {"files": {".bashrc": ""}},
            {"files": {"x": 1}}, {"files": []}, {"files": {f"f{n}": "" for n in range(40)}},
            {"script": None}, {"script": "\ud800"}, {"options": ["/etc/shadow"]},
            {"options": ["-c1"]}, {"options": ["--wrap=a\nb"]}, {"options": [1]}, {"options": ""},
            {"timeout_s": 0}, {"timeout_s": 1e9}, {"timeout_s": True}, {"timeout_s": "1"},
        ],
    )  # fmt: skip
    def test_malformed(self, launcher: Process, place: Place, wrong: dict[str, Any]) -> None:
        place.command("sbatch", TAKES)
        assert error_of(launcher.submit(**wrong))[0] == "BadRequest"
        assert not place.jobs.exists() or not list(place.jobs.iterdir())
        assert not (place.bin_dir / "sbatch.told").exists()

    def test_no_sbatch_there(self, launcher: Process) -> None:
        kind, message = error_of(launcher.submit())
        assert (kind, message) == ("Unreachable", "sbatch can't be run: No such file or directory.")


class TestHome:
    @pytest.mark.parametrize("step", [".local", ".local/share/portal", ".local/share/portal/jobs"])
    def test_no_link_is_followed(self, launcher: Process, place: Place, step: str) -> None:
        place.command("sbatch", TAKES)
        elsewhere = place.root / "elsewhere"
        elsewhere.mkdir()
        os.chown(elsewhere, UID, GID)
        path = place.home / step
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in [f for f in path.parents if f.is_relative_to(place.home)]:
            os.chown(folder, UID, GID)
        path.symlink_to(elsewhere)
        assert error_of(launcher.submit())[0] == "PathRefused"
        assert list(elsewhere.iterdir()) == []

    def test_a_planted_link_is_replaced_not_followed(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES)
        target = place.root / "target"
        target.write_text("untouched")
        os.chown(target, UID, GID)
        for name in ("config.json", ".config.json.new"):
            (place.job_file("x").parent / name).symlink_to(target)
        assert launcher.submit()["ok"]
        assert target.read_text() == "untouched"
        assert not (place.jobs / UUID / "config.json").is_symlink()

    @pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder away")
    def test_a_folder_of_someone_else_is_refused(self, launcher: Process, place: Place) -> None:
        (place.home / ".local").mkdir()
        assert error_of(launcher.submit())[0] == "PathRefused"

    @pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder away")
    def test_a_home_of_someone_else(self, launcher: Process, place: Place) -> None:
        os.chown(place.home, 0, 0)
        kind, message = error_of(launcher.submit())
        assert kind == "HomeUnavailable"
        assert "not yours" in message

    def test_missing(self, launcher: Process, place: Place) -> None:
        place.home.rmdir()
        for answer in (launcher.submit(), launcher.ask("mkdir", path="x")):
            assert error_of(answer) == ("HomeUnavailable", "Your home directory doesn't exist.")
        assert error_of(launcher.ask("read", path="a/b", offset=0, limit=9))[0] == "HomeUnavailable"

    def test_not_writable(self, launcher: Process, place: Place) -> None:
        place.home.chmod(0o500)
        kind, message = error_of(launcher.submit())
        assert kind == "HomeUnavailable"
        assert "can't be written" in message

    def test_mkdir(self, launcher: Process, place: Place) -> None:
        for _ in range(2):
            assert launcher.ask("mkdir", path="portal/runs/s1")["ok"]
        assert (place.home / "portal/runs/s1").is_dir()

    @pytest.mark.parametrize("path", ["/etc", "../x", "a/../b", "a//b", ".", "", "a\0b", "a/" * 20])
    def test_mkdir_elsewhere(self, launcher: Process, path: str) -> None:
        assert error_of(launcher.ask("mkdir", path=path))[0] == "PathRefused"


class TestRead:
    def read(self, launcher: Process, offset: int, limit: int = 100) -> tuple[bytes, int, int]:
        path = f"{UUID}/stdout.log"
        result = launcher.ask("read", path=path, offset=offset, limit=limit)["result"]
        return base64.b64decode(result["data_b64"]), result["size"], result["next_offset"]

    @pytest.mark.parametrize(
        ("offset", "limit", "answer"),
        [
            (0, 4, (b"0123", 10, 4)),
            (4, 100, (b"456789", 10, 10)),
            (10, 4, (b"", 10, 10)),
            (99, 4, (b"", 10, 10)),
            (-3, 100, (b"789", 10, 10)),
            (-99, 4, (b"0123", 10, 4)),
        ],
    )
    def test_parts(
        self, launcher: Process, place: Place, offset: int, limit: int, answer: Any
    ) -> None:
        place.job_file("stdout.log", b"0123456789")
        assert self.read(launcher, offset, limit) == answer

    def test_any_bytes(self, launcher: Process, place: Place) -> None:
        data = bytes(range(256)) * 1024
        place.job_file("stdout.log", data)
        assert self.read(launcher, 0, 256 * 1024) == (data, len(data), len(data))

    def test_not_there_yet_is_empty(self, launcher: Process) -> None:
        assert self.read(launcher, 0) == (b"", 0, 0)

    def test_no_link_fifo_or_folder(self, launcher: Process, place: Place) -> None:
        folder = place.job_file("x").parent
        (folder / "link").symlink_to("/etc/hostname")
        os.mkfifo(folder / "fifo")
        os.chown(folder / "fifo", UID, GID)
        (folder / "folder").mkdir()
        for name in ("link", "fifo", "folder"):
            answer = launcher.ask("read", path=f"{UUID}/{name}", offset=0, limit=9)
            assert error_of(answer)[0] == "PathRefused"

    @pytest.mark.parametrize("path", ["../x/y", "/etc/passwd", f"{UUID}/../../x", "", f"{UUID}//x"])
    def test_elsewhere(self, launcher: Process, path: str) -> None:
        assert error_of(launcher.ask("read", path=path, offset=0, limit=9))[0] == "PathRefused"

    @pytest.mark.parametrize("limit", [0, -1, 256 * 1024 + 1, True, None, 1.5])
    def test_limits(self, launcher: Process, limit: Any) -> None:
        assert error_of(launcher.ask("read", path="a/b", offset=0, limit=limit))[0] == "BadRequest"

    def test_forget(self, launcher: Process, place: Place) -> None:
        file = place.job_file("claimed/node01")
        for _ in range(2):
            assert launcher.ask("forget", uuid=UUID)["ok"]
        assert not file.parents[1].exists()
        assert place.jobs.exists()


class TestJobs:
    def test_cancel(self, launcher: Process, place: Place) -> None:
        place.command("scancel", TELLS)
        assert launcher.ask("cancel", job_id=9)["ok"]
        assert place.told("scancel")[0] == ["--verbose", "9"]

    def test_cancel_what_has_ended(self, launcher: Process, place: Place) -> None:
        place.command("scancel", HAS_ENDED)
        assert launcher.ask("cancel", job_id=9)["ok"]

    def test_cancel_what_is_not_there(self, launcher: Process, place: Place) -> None:
        place.command("scancel", NO_SUCH_JOB)
        assert error_of(launcher.ask("cancel", job_id=9))[0] == "NotFound"

    @pytest.mark.parametrize("job_id", [0, -1, "9", True, None, 1 << 32, 9.0])
    def test_malformed(self, launcher: Process, job_id: Any) -> None:
        assert error_of(launcher.ask("cancel", job_id=job_id))[0] == "BadRequest"

    def step(self, launcher: Process, **fields: Any) -> Any:
        whole = {"uuid": OTHER, "job_id": 7, "node": "node01", "files": {}, "script": "#!/bin/sh"}
        return launcher.ask("step", **{**whole, **fields})

    def test_a_step_outlives_the_launcher(self, launcher: Process, place: Place) -> None:
        place.command("srun", NEVER)
        assert self.step(launcher)["ok"]
        assert launcher.close() == 0
        (step, child) = sorted(processes_naming(str(place.bin_dir / "srun")))
        assert os.getsid(step) == step
        os.killpg(step, signal.SIGKILL)
        until(lambda: not {step, child} & set(processes_naming(str(place.bin_dir))))

    def test_what_srun_gets(self, launcher: Process, place: Place) -> None:
        place.command("srun", TELLS)
        assert self.step(launcher)["ok"]
        arguments, environment, *_ = place.told("srun")
        for option in ("--overlap", "--jobid=7", "--nodelist=node01", "--propagate=NONE"):
            assert option in arguments
        assert arguments[-1] == str(place.jobs / OTHER / "script.sh")
        assert os.access(arguments[-1], os.X_OK)
        assert environment["HOME"] == str(place.home)

    def test_a_step_that_is_refused_leaves_nothing(self, launcher: Process, place: Place) -> None:
        place.command("srun", DENIED)
        answer = self.step(launcher)
        assert error_of(answer)[0] == "Rejected"
        assert "denied" in answer["error"]["stderr"]
        assert not (place.jobs / OTHER).exists()

    @pytest.mark.parametrize("node", ["", "-x", "a b", "node01\n", None])
    def test_a_steps_node(self, launcher: Process, node: Any) -> None:
        assert error_of(self.step(launcher, node=node))[0] == "BadRequest"

    def test_ending_a_step(self, launcher: Process, place: Place) -> None:
        lines = [f"7.1|portal-{UUID}", f"17.2|portal-{OTHER}", f"7.3|portal-{OTHER}"]
        place.command("squeue", f"print('''{chr(10).join(lines)}''')")
        place.command("scancel", TELLS)
        assert launcher.ask("end_step", uuid=OTHER, job_id=7)["ok"]
        assert place.told("scancel")[0] == ["--verbose", "7.3"]

    def test_ending_a_step_that_has_ended(self, launcher: Process, place: Place) -> None:
        place.command("squeue", "pass")
        assert launcher.ask("end_step", uuid=OTHER, job_id=7)["ok"]


class TestFull:
    """In this process: a full disk can't be had without a mount."""

    @pytest.fixture
    def module(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("launcher", LAUNCHER)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (errno.ENOSPC, "is full"),
            (errno.EDQUOT, "quota"),
            (errno.EIO, "doesn't answer"),
            (errno.EROFS, "can't be written"),
        ],
    )
    @pytest.mark.parametrize("call", ["write", "fsync", "rename"])
    def test_nothing_half_made_is_left(
        self,
        module: ModuleType,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        call: str,
        number: int,
        words: str,
    ) -> None:
        def fails(*_: Any, **__: Any) -> None:
            raise OSError(number, os.strerror(number))

        user = module.User("user", os.getuid(), os.getgid(), str(tmp_path), "/bin/sh")
        launcher = module.Launcher(module.Conf(1, "/nowhere", "", 0o022), user)
        request = {"op": "submit", "uuid": UUID, "files": {}, "script": "#!", "options": []}
        monkeypatch.setattr(module.os, call, fails)
        answer = launcher.answer(json.dumps(request).encode())
        monkeypatch.undo()
        kind, message = error_of(answer)
        assert kind == "HomeUnavailable"
        assert words in message
        assert list((tmp_path / ".local/share/portal/jobs").iterdir()) == []


@pytest.mark.skipif(not AS_ROOT, reason="launcher.conf must be root's")
class TestInstalled:
    """The file as it is installed: root's, beside its configuration."""

    CONF = '{"min_uid": 1000, "slurm_bin_dir": "/usr/bin", "slurm_conf": "", "umask": "0022"}\n'

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix="launcher-"))
        folder.chmod(0o755)
        shutil.copy(LAUNCHER, folder / "launcher")
        (folder / "launcher").chmod(0o755)
        (folder / "launcher.conf").write_text(self.CONF)
        yield folder
        shutil.rmtree(folder)

    def run(self, folder: Path, uid: int = UID, *options: str) -> subprocess.CompletedProcess[str]:
        become = ["setpriv", *(options or (f"--reuid={uid}", "--regid=65534", "--clear-groups"))]
        return subprocess.run(
            [*become, folder / "launcher"], input="", capture_output=True, text=True, check=False
        )

    def test_it_starts(self, folder: Path) -> None:
        hello = json.loads(self.run(folder).stdout)
        assert (hello["uid"], hello["username"]) == (65534, "nobody")

    @pytest.mark.parametrize("uid", [0, 1, 999])
    def test_not_for_root_nor_the_systems_own(self, folder: Path, uid: int) -> None:
        result = self.run(folder, uid)
        assert result.returncode == 78
        assert result.stdout == ""
        assert f"refused for uid {uid}" in result.stderr

    def test_not_for_half_a_user(self, folder: Path) -> None:
        result = self.run(folder, UID, "--ruid=65534", "--euid=0", "--regid=65534", "--keep-groups")
        assert result.returncode == 78
        assert "ids differ" in result.stderr

    @pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
    def test_a_configuration_others_can_write(self, folder: Path, mode: int) -> None:
        (folder / "launcher.conf").chmod(mode)
        assert self.run(folder).returncode == 78

    def test_a_configuration_of_someone_else(self, folder: Path) -> None:
        os.chown(folder / "launcher.conf", UID, GID)
        assert self.run(folder).returncode == 78

    @pytest.mark.parametrize("text", ["", "{}\n", CONF.replace("1000", '"x"'), "[]\n"])
    def test_a_broken_configuration(self, folder: Path, text: str) -> None:
        (folder / "launcher.conf").write_text(text)
        result = self.run(folder)
        assert result.returncode != 0
        assert result.stdout == ""
