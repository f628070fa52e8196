#!/usr/bin/python3 -IS
"""Acts as one user: submits, cancels, starts steps, reads that user's logs. Sudo runs it, alone.

One JSON object a line: `{"id": 1, "op": "ping", …}` in; `{"id": 1, "ok": true, "result": {…}}` or
`{"id": 1, "ok": false, "error": {"type", "message", "stderr"}}` out, after a greeting that says who
this is; and of each request a line on stderr, for the log. Requests are served one after another.
The deadline of each is kept here, by ending the child's process group, for no one above may signal
this process. It ends when its input does, or after two minutes without a request.

One file, the standard library only, owned by root, so that what sudo permits can be read in one
sitting. What people do with their files stands in spawner/filer/; `deploy.launcher` puts all of it
into the one file that is installed. This part works alone, too.
It does not know what a session or a job is *for*. Beside it lies launcher.conf (root's), whose
first line is `{"min_uid": …, "slurm_bin_dir": …, "slurm_conf": …, "umask": "0022"}`.

Paths: below the user's home every step is opened by directory descriptor without following links,
and must be the user's own. What the portal names is a UUID and plain file names.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import functools
import json
import math
import os
import pwd
import re
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

IDLE_S = 120.0
STREAM_IDLE_S = 600.0  # how long the reader of a stream may take for the next piece
MAX_FRAME = 1 << 20
MAX_READ = 256 * 1024
MAX_STDERR = 8192
MAX_FOLDERS = 64
MAX_TAGS = 32
MAX_EVENT_FILES = 16
MAX_EVENT_BYTES = 64 << 20
MAX_RECORD = 64 << 10
MAX_ENTRIES = 2000
MAX_DEPTH = 4
MAX_NOTEBOOKS = 40
MAX_WALK = 20_000
MAX_LEVELS = 6
END_BYTES = 16 << 10
MAX_TIMEOUT_S = 60.0
SETTLE_S = 0.3  # an srun that is refused has said so by then
JOBS = (".local", "share", "portal", "jobs")
WITHDRAWN = "withdrawn"  # no job's id, so that no script takes it for its own claim
PR_SET_DUMPABLE = 4

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
REQUEST = re.compile(r"[0-9a-f]{16,32}")
WORD = re.compile(r"[a-z_]{1,40}")
OPTION = re.compile(r"--[a-z][a-z-]*(?:=[^\x00-\x1f\x7f]*)?")
RUNS = "portal/runs"  # jobs' log folders, with the executed copies of notebooks
# The one place of these words outside a cell's text, where quotes would be escaped.
KERNEL = re.compile(rb'"kernelspec"\s*:\s*\{[^{}]*"name"\s*:\s*"([\w.-]{1,64})"')
NO_ANSWER = re.compile(
    r"Unable to contact slurm|timed out|Zero Bytes were transmitted|Connection refused"
    r"|Transport endpoint|reset by peer|Broken pipe|No route to host|Network is unreachable"
    r"|Unexpected message received|Header lengths|Insane message length|Incomplete message"
    r"|Protocol authentication error|[Mm]unge|Unable to establish|standby mode"
    r"|Incompatible versions of client and server"
)
NOT_WRITABLE = "Your home directory, or the portal's folder in it, can't be written to."
NO_RESPONSE = "Your home directory doesn't answer at the moment."
IN_THE_WAY = (
    "In your home directory a link or a file stands where the portal needs a folder or file of "
    "its own, in ~/.local/share/portal or the folder you named."
)
HOME_ERRORS = {
    errno.ENOSPC: "Your home directory is full: free some space, then try again.",
    errno.EDQUOT: "Your home directory's quota is used up: free some space, then try again.",
    errno.ENOENT: "Your home directory doesn't exist.",
    errno.EROFS: NOT_WRITABLE,
    errno.EACCES: NOT_WRITABLE,
    errno.EPERM: NOT_WRITABLE,
    errno.ESTALE: NO_RESPONSE,
    errno.EIO: NO_RESPONSE,
    errno.ETIMEDOUT: NO_RESPONSE,
}

Request = dict[str, Any]
Result = dict[str, Any]


class Refused(Exception):
    """`kind` is the error's type in the protocol, `message` a sentence for the user, `more` what
    else a program can do with it."""

    def __init__(self, kind: str, message: str, stderr: str = "", **more: Any) -> None:
        super().__init__(message)
        self.kind, self.message, self.stderr = kind, message, stderr[-MAX_STDERR:]
        self.more = more


class Conf(NamedTuple):
    min_uid: int
    slurm_bin_dir: str
    slurm_conf: str
    umask: int


class User(NamedTuple):
    name: str
    uid: int
    gid: int
    home: str
    shell: str


# --- start --------------------------------------------------------------------------------------


def die(message: str) -> NoReturn:
    sys.stderr.write(f"launcher: {message}\n")
    sys.exit(78)  # EX_CONFIG


def read_conf(path: str) -> Conf:
    """Root's, and no one else's to write: it decides whom this program acts for."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, encoding="utf-8") as file:
        state = os.fstat(file.fileno())
        if state.st_uid != 0 or state.st_mode & 0o022:
            die("launcher.conf must be root's, and writable by root alone")
        fields = json.loads(file.readline(4096))
    if set(fields) != set(Conf._fields):
        die(f"launcher.conf must hold exactly {', '.join(Conf._fields)}")
    slurm_conf = str(fields["slurm_conf"] or "")
    umask = int(str(fields["umask"]), 8)
    return Conf(int(fields["min_uid"]), str(fields["slurm_bin_dir"]), slurm_conf, umask)


def who_am_i(min_uid: int) -> User:
    """The real user, from the user database: nothing is taken from the environment."""
    uids, gids = set(os.getresuid()), set(os.getresgid())
    if len(uids) != 1 or len(gids) != 1:
        die("real, effective and saved ids differ")
    uid, gid = uids.pop(), gids.pop()
    if uid < max(1, min_uid):
        die(f"refused for uid {uid}")
    entry = pwd.getpwuid(uid)
    return User(entry.pw_name, uid, gid, entry.pw_dir, entry.pw_shell or "/bin/sh")


def harden() -> None:
    """No core file and no tracer: requests hold secrets."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        die("prctl failed")
    os.umask(0o077)
    os.chdir("/")


# --- what a request may say ---------------------------------------------------------------------


def want(request: Request, key: str, kind: type, pattern: re.Pattern[str] | None = None) -> Any:
    """A field of exactly this type (a bool is no int) and, for text, of this shape."""
    value = request.get(key)
    if type(value) is not kind or (pattern and not pattern.fullmatch(str(value))):
        raise Refused("BadRequest", f"{key} is missing or malformed")
    return value


def want_job_id(request: Request) -> int:
    job_id: int = want(request, "job_id", int)
    if not 0 < job_id < 1 << 32:
        raise Refused("BadRequest", "job_id is out of range")
    return job_id


def want_files(request: Request) -> dict[str, bytes]:
    """The job's files with its script, as bytes."""
    files = want(request, "files", dict)
    for name, text in files.items():
        if not FILE_NAME.fullmatch(name) or type(text) is not str or len(files) > 32:
            raise Refused("BadRequest", "files is malformed")
    files["script.sh"] = want(request, "script", str)
    return {name: text.encode() for name, text in files.items()}


def want_options(request: Request) -> list[str]:
    options: list[str] = want(request, "options", list)
    if not all(type(option) is str and OPTION.fullmatch(option) for option in options):
        raise Refused("BadRequest", "options is malformed")
    return options


def want_timeout(request: Request) -> float:
    value = request.get("timeout_s", 10)
    if type(value) not in (int, float) or not 0 < value <= MAX_TIMEOUT_S:
        raise Refused("BadRequest", "timeout_s is out of range")
    return float(value)


def want_absolute(request: Request, key: str) -> str:
    """A whole path: whose file it is, the kernel decides, for this process is the user's own."""
    path: str = want(request, key, str)
    if not path.startswith("/") or path.endswith("/") or "\0" in path or len(path) > 4096:
        raise Refused("PathRefused", "This is not a whole path.")
    return path


def want_path(request: Request) -> tuple[str, ...]:
    """A relative path as its steps, none of which leads up."""
    path: str = want(request, "path", str)
    steps = tuple(path.split("/"))
    if len(steps) > 16 or any(s in ("", ".", "..") or "\0" in s or len(s) > 255 for s in steps):
        raise Refused("PathRefused", "This path is not one of the portal's.")
    return steps


# --- folders and files --------------------------------------------------------------------------


@contextlib.contextmanager
def opened(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def at_home() -> Iterator[None]:
    """A home that is full or missing is for the user to mend: say which it is."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused("PathRefused", IN_THE_WAY) from error
        other = f"Your home directory can't be used: {error.strerror}."
        raise Refused("HomeUnavailable", HOME_ERRORS.get(error.errno or 0, other)) from error


def open_home(user: User) -> int:
    """Links above the home, or instead of it, are the site's own; below it none is followed."""
    fd = os.open(user.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if os.fstat(fd).st_uid != user.uid:
        os.close(fd)
        raise Refused("HomeUnavailable", f"The home directory {user.home} is not yours.")
    return fd


def enter(parent: int, name: str, user: User, make: bool) -> int:
    """The folder `name` in an open folder: a real one, and the user's own."""
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=parent)
    if os.fstat(fd).st_uid != user.uid:
        os.close(fd)
        raise Refused("PathRefused", f"The folder {name} in your home is not yours.")
    return fd


def descend(user: User, steps: tuple[str, ...], make: bool) -> int:
    fd = open_home(user)
    for name in steps:
        with opened(fd):
            below = enter(fd, name, user, make)
        fd = below
    return fd


def write_file(folder: int, name: str, data: bytes) -> None:
    """Whole or not at all: to a new file, which then takes the name. fsync, because a network
    file system tells of a full quota only then."""
    new = f".{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    mode = 0o700 if name == "script.sh" else 0o600
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened(os.open(new, flags, mode, dir_fd=folder)) as fd:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)


@contextlib.contextmanager
def job_folder(user: User, uuid: str, files: dict[str, bytes]) -> Iterator[int]:
    """The job's folder with its files in it. If what is then done with it is refused, it goes
    again, unless it was there before: a repeated request may have a running job in it. After
    Unreachable it stays, for nobody knows whether Slurm took the job."""
    with at_home():
        jobs = descend(user, JOBS, make=True)
    with opened(jobs):
        made = False
        try:
            with at_home():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(uuid, 0o700, dir_fd=jobs)
                    made = True
                folder = enter(jobs, uuid, user, make=False)
            with opened(folder):
                with at_home():
                    for name, data in files.items():
                        write_file(folder, name, data)
                yield folder
        except Refused as error:
            if made and error.kind != "Unreachable":
                shutil.rmtree(uuid, ignore_errors=True, dir_fd=jobs)
            raise


# --- Slurm --------------------------------------------------------------------------------------


class Launcher:
    """The operations, each a method named op_… or one of OPERATIONS, for one user."""

    def __init__(self, conf: Conf, user: User) -> None:
        self.conf, self.user = conf, user
        self.steps: list[subprocess.Popen[bytes]] = []
        self.outflow: Iterator[bytes] | None = None
        """What goes out after an answer, as `pour` says; this process ends with it."""

    def environment(self) -> dict[str, str]:
        """Built, never inherited: sbatch hands it on to the job (--export=ALL)."""
        path = dict.fromkeys([self.conf.slurm_bin_dir, "/usr/local/bin", "/usr/bin", "/bin"])
        environment = {
            "HOME": self.user.home,
            "USER": self.user.name,
            "LOGNAME": self.user.name,
            "SHELL": self.user.shell,
            "PATH": ":".join(path),
            "LANG": "C.UTF-8",
        }
        if self.conf.slurm_conf:
            environment["SLURM_CONF"] = self.conf.slurm_conf
        return environment

    def start(
        self, arguments: list[str], cwd: str, extra: dict[str, str], **streams: Any
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [f"{self.conf.slurm_bin_dir}/{arguments[0]}", *arguments[1:]],
                env={**self.environment(), **extra},
                cwd=cwd,
                umask=self.conf.umask,
                start_new_session=True,
                **streams,
            )
        except OSError as error:
            message = f"The program {arguments[0]} can't be run: {error.strerror}."
            raise Refused("Unreachable", message) from error

    def run(
        self,
        arguments: list[str],
        timeout_s: float,
        text: bytes = b"",
        cwd: str = "/",
        **extra: str,
    ) -> tuple[str, str]:
        """stdout and stderr of a command that succeeded; refusals and silence raise."""
        pipe = subprocess.PIPE
        process = self.start(arguments, cwd, extra, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            out, err = process.communicate(text, timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            message = f"Slurm did not answer within {timeout_s:g} s."
            raise Refused("Unreachable", message) from None
        stderr = err.decode(errors="replace")
        if process.returncode != 0:
            raise refusal(stderr)
        return out.decode(errors="replace"), stderr

    def op_ping(self, request: Request) -> Result:
        return {}

    def op_submit(self, request: Request) -> Result:
        uuid, files = want(request, "uuid", str, UUID), want_files(request)
        options, timeout_s = want_options(request), want_timeout(request)
        arguments = ["sbatch", *options, f"--chdir={self.user.home}"]
        with job_folder(self.user, uuid, files):
            out, stderr = self.run(arguments, timeout_s, files["script.sh"], self.user.home)
            match = re.search(r"^(\d+)(?:;\S*)?$", out, re.MULTILINE)
            if match is None:
                raise Refused("Unreachable", "Slurm did not say which job it made.", stderr)
        return {"job_id": int(match[1]), "stderr": stderr[-MAX_STDERR:]}

    def op_withdraw(self, request: Request) -> Result:
        """Claims a job as its script would (scripts.py, jobscript.py): should Slurm have got it, or
        get it yet, it can only exit. Says whether it came before every copy of the job."""
        uuid = want(request, "uuid", str, UUID)
        with at_home(), opened(descend(self.user, (*JOBS, uuid), make=True)) as folder:
            try:
                os.symlink(WITHDRAWN, "claimed", dir_fd=folder)
            except FileExistsError:
                with contextlib.suppress(OSError):  # a folder: a session's claim
                    return {"withdrawn": os.readlink("claimed", dir_fd=folder) == WITHDRAWN}
                return {"withdrawn": False}
        return {"withdrawn": True}

    def op_cancel(self, request: Request) -> Result:
        return self.scancel(str(want_job_id(request)), want_timeout(request))

    def scancel(self, what: str, timeout_s: float) -> Result:
        """Without --verbose scancel says nothing of a job that isn't there."""
        try:
            _, stderr = self.run(["scancel", "--verbose", what], timeout_s)
        except Refused as error:
            if error.kind != "Rejected":
                raise
            stderr = error.stderr
            if "already completing or completed" not in stderr and "Invalid job id" not in stderr:
                raise
        if "Invalid job id" in stderr:
            raise Refused("NotFound", "Slurm has no such job any more.", stderr)
        return {}

    def op_step(self, request: Request) -> Result:
        """A program beside the job, in its allocation: it outlives this process."""
        uuid, job_id = want(request, "uuid", str, UUID), want_job_id(request)
        node, files = want(request, "node", str, NODE), want_files(request)
        home = self.user.home
        arguments = [
            "srun", "--overlap", f"--jobid={job_id}", f"--nodelist={node}", "--nodes=1",
            "--ntasks=1", "--gres=none", "--mpi=none", "--input=none", "--unbuffered",
            "--propagate=NONE", "--export=ALL", f"--job-name={step_name(uuid)}",
            f"--chdir={home}", "/".join([home, *JOBS, uuid, "script.sh"]),
        ]  # fmt: skip
        with job_folder(self.user, uuid, files) as folder:
            with at_home():
                out, err = open_log(folder, "stdout.log"), open_log(folder, "stderr.log")
            with opened(out), opened(err):
                null = subprocess.DEVNULL
                process = self.start(arguments, home, {}, stdin=null, stdout=out, stderr=err)
            self.steps.append(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                if process.wait(SETTLE_S) != 0:
                    with opened(os.open("stderr.log", os.O_RDONLY, dir_fd=folder)) as log:
                        raise refusal(os.read(log, MAX_STDERR).decode(errors="replace"))
        return {}

    def op_end_step(self, request: Request) -> Result:
        """Ends what op_step started, this process or another one of the same user."""
        uuid, job_id = want(request, "uuid", str, UUID), want_job_id(request)
        timeout_s = want_timeout(request) / 2
        arguments = ["squeue", "--noheader", "--steps", f"--jobs={job_id}", "--format=%i|%j"]
        steps, _ = self.run(arguments, timeout_s)
        match = re.search(rf"^({job_id}\.\d+)\|{step_name(uuid)}\s*$", steps, re.MULTILINE)
        return self.scancel(match[1], timeout_s) if match else {}

    def op_read(self, request: Request) -> Result:
        """Part of a file of a job. One that isn't there (yet) is empty."""
        *folders, name = want_path(request)
        offset, limit = want(request, "offset", int), want(request, "limit", int)
        if not 0 < limit <= MAX_READ:
            raise Refused("BadRequest", "limit is out of range")
        with at_home():
            with opened(open_home(self.user)):
                pass  # a missing home is not a missing file
            try:
                with opened(descend(self.user, (*JOBS, *folders), make=False)) as folder:
                    data, start, size = read_part(folder, name, offset, limit)
            except FileNotFoundError:
                return {"data_b64": "", "size": 0, "next_offset": 0}
        text = base64.b64encode(data).decode()
        return {"data_b64": text, "size": size, "next_offset": start + len(data)}

    def op_read_file(self, request: Request) -> Result:
        """Part of any file that the user may read: what a job from outside the portal prints."""
        path = want_absolute(request, "path")
        folder_name, _, name = path.rpartition("/")
        offset, limit = want(request, "offset", int), want(request, "limit", int)
        if not 0 < limit <= MAX_READ:
            raise Refused("BadRequest", "limit is out of range")
        try:
            with opened(os.open(folder_name or "/", os.O_PATH | os.O_CLOEXEC)) as folder:
                data, start, size = read_part(folder, name, offset, limit)
        except FileNotFoundError:
            return {"data_b64": "", "size": 0, "next_offset": 0}
        except OSError as error:
            raise Refused(
                "PathRefused", f"The file {path} can't be read: {error.strerror}."
            ) from error
        text = base64.b64encode(data).decode()
        return {"data_b64": text, "size": size, "next_offset": start + len(data)}

    def op_look(self, request: Request) -> Result:
        """Whether the user may look into a folder; one that isn't there (yet) is no mistake."""
        path = want_absolute(request, "path")
        try:
            with opened(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC)):
                return {"exists": True}
        except FileNotFoundError:
            return {"exists": False}
        except OSError as error:
            raise Refused(
                "PathRefused", f"The file {path} can't be read: {error.strerror}."
            ) from error

    def op_paths(self, request: Request) -> Result:
        """Where one of the user's jobs works and writes, as scontrol prints it. Once Slurm's
        controller has forgotten it, accounting still knows where it worked."""
        job_id, timeout_s = want_job_id(request), want_timeout(request) / 2
        try:
            out, _ = self.run(["scontrol", "show", "job", str(job_id)], timeout_s)
        except Refused as error:
            if "Invalid job id" not in error.stderr:
                raise
            fields = ["--noheader", "--parsable2", "--allocations", "--format=WorkDir%4096"]
            out, _ = self.run(["sacct", f"--jobs={job_id}", *fields], timeout_s)
            return {"text": f"   WorkDir={out.strip()[:4096]}\n", "live": False}
        return {"text": out[:65536], "live": True}

    def op_forecast(self, request: Request) -> Result:
        """sbatch --test-only: when such a job would start, in UTC."""
        options, timeout_s = want_options(request), want_timeout(request)
        arguments = ["sbatch", "--test-only", *options]
        _, stderr = self.run(arguments, timeout_s, b"#!/bin/sh\n", self.user.home, TZ="UTC0")
        return {"stderr": stderr[-MAX_STDERR:]}

    def op_scalars(self, request: Request) -> Result:
        """The last value of each scalar in the event files of some folders."""
        folders = want(request, "folders", list)
        if len(folders) > MAX_FOLDERS or not all(type(f) is str for f in folders):
            raise Refused("BadRequest", "folders is malformed")
        deadline = time.monotonic() + want_timeout(request)
        return {"scalars": [last_scalars(folder, deadline) for folder in folders]}

    def op_notebooks(self, request: Request) -> Result:
        """The notebooks below the home that were changed last, and the kernel each names."""
        timeout_s, home = want_timeout(request), self.user.home
        deadline = time.monotonic() + timeout_s
        with at_home():
            os.close(open_home(self.user))
        found, complete = newest_notebooks(home, deadline - timeout_s / 3)
        shown = [
            {"path": path, "changed": changed, "kernel": kernel_of(f"{home}/{path}", deadline)}
            for changed, path in found
        ]
        return {"notebooks": shown, "complete": complete}

    def op_mkdir(self, request: Request) -> Result:
        steps = want_path(request)
        with at_home():
            os.close(descend(self.user, steps, make=True))
        return {}

    def op_forget(self, request: Request) -> Result:
        uuid = want(request, "uuid", str, UUID)
        with at_home(), contextlib.suppress(FileNotFoundError):
            jobs = descend(self.user, JOBS, make=False)
            with opened(jobs):
                shutil.rmtree(uuid, dir_fd=jobs)
        return {}

    def answer(self, line: bytes) -> Result:
        """One frame's answer. ValueError: not JSON, or text that is no UTF-8."""
        began = time.monotonic()
        request = number = None
        try:
            request = json.loads(line)
            number = request.get("id") if isinstance(request, dict) else None
            result = self.operation(request)(request)
            tell(request, time.monotonic() - began, "")
            return {"id": number, "ok": True, "result": result}
        except Refused as error:
            refused = error
        except (ValueError, RecursionError) as error:
            refused = Refused("BadRequest", f"not a request: {type(error).__name__}")
        tell(request, time.monotonic() - began, refused.kind)
        return {"id": number, "ok": False, "error": details_of(refused)}

    def operation(self, request: Any) -> Callable[[Request], Result]:
        name = request.get("op") if isinstance(request, dict) else None
        operation: Callable[[Request], Result] | None = getattr(self, f"op_{name}", None)
        if operation is None and name in OPERATIONS:
            operation = functools.partial(OPERATIONS[name], self)
        if operation is None:
            raise Refused("BadRequest", "no such operation")
        return operation


OPERATIONS: dict[str, Callable[[Launcher, Request], Result]] = {}
"""More of them, by name: spawner/filer/ adds its own."""


def tell(request: Any, seconds: float, error: str) -> None:
    """A line for the portal's log, with its own name for what this was for. Nothing that a request
    holds besides is in it. Whoever doesn't listen misses it."""
    fields = request if isinstance(request, dict) else {}
    operation, name = fields.get("op"), fields.get("request")
    said = {
        "launcher": operation if type(operation) is str and WORD.fullmatch(operation) else "none",
        "seconds": round(seconds, 4),
        "error": error,
        "request": name if type(name) is str and REQUEST.fullmatch(name) else "",
    }
    with contextlib.suppress(OSError):
        os.write(2, json.dumps(said).encode() + b"\n")


def details_of(refused: Refused) -> Result:
    more = {"more": refused.more} if refused.more else {}
    return {"type": refused.kind, "message": refused.message, "stderr": refused.stderr, **more}


# --- notebooks ----------------------------------------------------------------------------------


def newest_notebooks(home: str, deadline: float) -> tuple[list[tuple[float, str]], bool]:
    """When they were changed and their paths, newest first; and whether everything was seen: it
    looks at the upper levels first, at so many entries and for so long. No link is followed."""
    found: list[tuple[float, str]] = []
    folders, seen, complete = deque([""]), 0, True
    while folders and complete:
        at = folders.popleft()
        with contextlib.suppress(OSError), os.scandir(f"{home}/{at}") as entries:
            for entry in entries:
                seen += 1
                if seen > MAX_WALK or time.monotonic() > deadline:
                    complete = False
                    break
                path, hidden = at + entry.name, entry.name.startswith(".")
                if entry.is_dir(follow_symlinks=False) and not hidden and path != RUNS:
                    if path.count("/") < MAX_LEVELS:
                        folders.append(f"{path}/")
                    else:
                        complete = False
                elif path.endswith(".ipynb") and entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        found.append((entry.stat(follow_symlinks=False).st_mtime, path))
    return sorted(found, reverse=True)[:MAX_NOTEBOOKS], complete


def kernel_of(path: str, deadline: float) -> str | None:
    """The kernel that a notebook's metadata names; they are its end, or else its beginning."""
    if time.monotonic() > deadline:
        return None
    with contextlib.suppress(OSError, Refused):
        folder, _, name = path.rpartition("/")
        with opened(os.open(folder, os.O_PATH | os.O_CLOEXEC)) as fd:
            for offset in (-END_BYTES, 0):
                named = KERNEL.findall(read_part(fd, name, offset, END_BYTES)[0])
                if named:
                    return str(named[-1].decode(errors="replace"))
    return None


# --- event files --------------------------------------------------------------------------------


def last_scalars(folder: str, deadline: float) -> dict[str, float | None]:
    """Tag → last value below a folder; null for what is no number any more. However much lies
    there, it reads so many files, so many bytes and for so long."""
    found: dict[str, tuple[int, float]] = {}
    left = MAX_EVENT_BYTES
    for path in event_files(folder):
        with contextlib.suppress(OSError):
            for step, tag, value in events(path, left):
                if (tag in found or len(found) < MAX_TAGS) and step >= found.get(tag, (-1, 0.0))[0]:
                    found[tag] = (step, value)
                if time.monotonic() > deadline:
                    break
            left -= os.lstat(path).st_size
        if left <= 0 or time.monotonic() > deadline:
            break
    return {tag: value if math.isfinite(value) else None for tag, (_, value) in found.items()}


def event_files(folder: str) -> list[str]:
    """The newest event files below a folder, the oldest of them first."""
    found: list[tuple[float, str]] = []
    seen = 0
    for at, folders, files in os.walk(folder):
        seen += len(files) + len(folders)
        if at[len(folder) :].count("/") >= MAX_DEPTH or seen > MAX_ENTRIES:
            folders.clear()
        for name in files[:MAX_ENTRIES]:
            if "tfevents" in name:
                with contextlib.suppress(OSError):
                    found.append((os.lstat(f"{at}/{name}").st_mtime, f"{at}/{name}"))
    return [path for _, path in sorted(found)[-MAX_EVENT_FILES:]]


def events(path: str, most: int) -> Iterator[tuple[int, str, float]]:
    """Step, tag and value of the scalars in one event file: records of a length (8 bytes), its
    checksum (4), data, and a checksum (4). A record that is cut off is still being written."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return
        while file.tell() < most and len(head := file.read(12)) == 12:
            length = int.from_bytes(head[:8], "little")
            if length > MAX_EVENT_BYTES:
                return  # no event file, or a damaged one
            if length > MAX_RECORD:  # a picture, or a graph
                file.seek(length + 4, os.SEEK_CUR)
                continue
            record = file.read(length + 4)
            if len(record) < length + 4:
                return
            with contextlib.suppress(ValueError, IndexError, struct.error):
                yield from scalars_of(record[:length])


def scalars_of(event: bytes) -> Iterator[tuple[int, str, float]]:
    """tensorflow.Event: step = 2, summary = 5; Summary: value = 1; Value: tag = 1,
    simple_value = 2, tensor = 8."""
    step = 0
    summaries = []
    for number, value in fields_of(event):
        if number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for _, item in fields_of(summary):
            parts = dict(fields_of(item)) if isinstance(item, bytes) else {}
            tag = parts.get(1)
            number_ = scalar_of(parts.get(2), parts.get(8))
            if isinstance(tag, bytes) and number_ is not None:
                yield step, tag.decode(errors="replace")[:100], number_


def scalar_of(simple: int | bytes | None, tensor: int | bytes | None) -> float | None:
    """A float32, or a TensorProto that holds one number: dtype = 1 (float 1, double 2),
    tensor_content = 4, float_val = 5, double_val = 6."""
    if isinstance(simple, bytes) and len(simple) == 4:
        return float(struct.unpack("<f", simple)[0])
    if not isinstance(tensor, bytes):
        return None
    parts = dict(fields_of(tensor))
    kind = {1: "<f", 2: "<d"}.get(int(parts.get(1) or 0))
    data = parts.get(4) or parts.get(5) or parts.get(6)
    if kind is None or not isinstance(data, bytes) or len(data) != struct.calcsize(kind):
        return None
    return float(struct.unpack(kind, data)[0])


def fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of a protobuf message's fields: whole numbers, and bytes for the rest."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind, size = key & 7, {1: 8, 5: 4}.get(key & 7)
        if kind == 0:
            value, at = varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError("not a message")
        yield key >> 3, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("not a number")


def step_name(uuid: str) -> str:
    return f"portal-{uuid}"


def refusal(stderr: str) -> Refused:
    if NO_ANSWER.search(stderr):
        return Refused("Unreachable", "Slurm can't be reached at the moment.", stderr)
    return Refused("Rejected", "Slurm refused it.", stderr)


def open_log(folder: int, name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=folder)


def read_part(folder: int, name: str, offset: int, limit: int) -> tuple[bytes, int, int]:
    """Bytes, where they begin, and the file's size. O_NONBLOCK, or a FIFO would hold us here."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with opened(os.open(name, flags, dir_fd=folder)) as fd:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise Refused("PathRefused", "This is not a file.")
        start = max(0, state.st_size + offset) if offset < 0 else min(offset, state.st_size)
        return os.pread(fd, limit, start), start, state.st_size


# --- frames -------------------------------------------------------------------------------------


def frames(fd: int) -> Iterator[bytes]:
    """Lines, until the end of the input, a line that is too long, or too long a silence."""
    buffer = b""
    deadline = time.monotonic() + IDLE_S
    while select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(fd, 1 << 16)
        *lines, buffer = (buffer + chunk).split(b"\n")
        yield from lines
        if not chunk or len(buffer) > MAX_FRAME:
            return
        if lines:
            deadline = time.monotonic() + IDLE_S


def send(fd: int, frame: Result) -> None:
    view = memoryview(json.dumps(frame).encode() + b"\n")
    while view:
        view = view[os.write(fd, view) :]


def pour(chunks: Iterator[bytes]) -> None:
    """Each chunk with its length before it (4 bytes, big-endian); then a length of nought and a
    last line, which says as an answer does whether that was all of it."""
    os.set_blocking(1, False)
    last: Result = {"ok": True, "result": {}}
    try:
        for chunk in filter(None, chunks):
            give(len(chunk).to_bytes(4, "big") + chunk)
    except Refused as refused:
        last = {"ok": False, "error": details_of(refused)}
    give(bytes(4) + json.dumps(last).encode() + b"\n")


def give(data: bytes) -> None:
    """To whoever reads, as fast as they do. That the input ends says that nobody wants the rest."""
    view = memoryview(data)
    while view:
        readable, writable, _ = select.select([0], [1], [], STREAM_IDLE_S)
        if readable or not writable:
            sys.exit(0)
        view = view[os.write(1, view) :]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    conf = read_conf(f"{__file__.rpartition('/')[0]}/launcher.conf")
    user = who_am_i(conf.min_uid)
    harden()
    launcher = Launcher(conf, user)
    greeting = {"uid": user.uid, "gid": user.gid, "username": user.name}
    with contextlib.suppress(BrokenPipeError):
        send(1, {"hello": 1, **greeting, "home": user.home, "shell": user.shell})
        for line in frames(0):
            launcher.steps = [step for step in launcher.steps if step.poll() is None]
            send(1, launcher.answer(line))
            if launcher.outflow is not None:
                pour(launcher.outflow)
                return


if __name__ == "__main__":
    main()
