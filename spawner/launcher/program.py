#!/usr/bin/python3 -IS
"""The launcher: acts as one user; the only program that sudo permits the portal to run as a user.

It submits and cancels jobs, starts steps and reads that user's logs.

Protocol: one JSON object per line, called a frame. A request `{"id": 1, "op": "ping", …}` is
answered by `{"id": 1, "ok": true, "result": {…}}` or `{"id": 1, "ok": false, "error": {"type",
"message", "stderr"}}`. The first line out is a greeting with the user's identity. For each request
one line is written to stderr, for the log. Requests are served one after another. The deadline of
each is enforced here, by killing the child's process group, because the portal may not signal this
process. The process exits when its input ends, or after two minutes without a request.

It uses only the standard library and is installed as this single file, owned by root, so that what
sudo permits can be read in one sitting. It does not know what a session or a job is *for*. The
root-owned launcher.conf lies beside it; its first line is
`{"min_uid": …, "slurm_bin_dir": …, "slurm_conf": …, "umask": "0022"}`. The files program, files.pyz
(spawner/files), lies there too: the operation `files` replaces this process by it.

Paths: below the user's home every part is opened by directory descriptor without following links,
and folders must be owned by the user. Only `read_file` and `look` take any absolute path: the
kernel checks access, and links in its folders are followed.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import json
import os
import pwd
import re
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

PORTAL = (".local", "share", "portal")
JOBS = (*PORTAL, "jobs")  # below the user's home
IDLE_S = 120.0
MAX_FRAME = 1 << 20
MAX_READ = 256 * 1024
MAX_STDERR = 8192
MAX_TIMEOUT_S = 60.0
SETTLE_S = 0.3  # by then a refused srun has reported the error
# Target of the link "claimed" in a withdrawn job's folder. A job's script first creates "claimed"
# (a link to its job id, or a folder), and exits if another one is already there.
WITHDRAWN = "withdrawn"
PR_SET_DUMPABLE = 4

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
REQUEST = re.compile(r"[0-9a-f]{16,32}")
WORD = re.compile(r"[a-z_]{1,40}")
OPTION = re.compile(r"--[a-z][a-z-]*(?:=[^\x00-\x1f\x7f]*)?")
NOT_WRITABLE = "Your home directory, or the portal's folder in it, is not writable."
NO_RESPONSE = "Your home directory doesn't answer."
IN_THE_WAY = (
    "In your home directory, there is a link or a file where the portal needs its own folder or "
    "file, in ~/.local/share/portal or the folder you specified."
)
NO_FILES_PROGRAM = (
    "Files are unavailable: the portal's program for files is not installed correctly. Contact "
    "your administrators."
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

# Messages of Slurm's commands when its daemons do not answer.
UNREACHABLE = re.compile(
    r"Unable to contact slurm|Unable to establish|slurm_load_\w+ error|Connection refused"
    r"|timed out|reset by peer|Broken pipe|No route to host|Network is unreachable"
    r"|Unexpected (?:message received|missing socket error)|Message (?:send|receive) failure"
    r"|Communication (?:connection|shutdown) failure|Header lengths|Insane message length"
    r"|Incomplete message|Zero Bytes were transmitted|Protocol authentication error|[Mm]unge"
    r"|Problem talking to the database|slurm_persist_conn|Unable to process configuration"
    r"|is already the primary|standby mode|Transport endpoint"
    r"|Incompatible versions of client and server"
)

Request = dict[str, Any]
Result = dict[str, Any]
Operation = Callable[[Request], Result]


class Refused(Exception):
    """Refused or failed request.

    `kind` is the error's type in the protocol, `message` a sentence for the user except in a
    BadRequest, and `more` holds further fields for programs.
    """

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


def beside(name: str) -> str:
    """Return the path of a file that is installed in this program's folder."""
    return f"{__file__.rpartition('/')[0]}/{name}"


def only_root_can_write(state: os.stat_result) -> bool:
    """Return whether a file is owned by root and writable by root only."""
    return state.st_uid == 0 and not state.st_mode & 0o022


def read_conf(path: str) -> Conf:
    """Read launcher.conf, which only root may write: it decides who this program may act for."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, encoding="utf-8") as file:
        state = os.fstat(file.fileno())
        if not only_root_can_write(state):
            die("launcher.conf must be owned by root and writable only by root")
        fields = json.loads(file.readline(4096))
    if set(fields) != set(Conf._fields):
        die(f"launcher.conf must hold exactly {', '.join(Conf._fields)}")
    slurm_conf = str(fields["slurm_conf"] or "")
    umask = int(str(fields["umask"]), 8)
    return Conf(int(fields["min_uid"]), str(fields["slurm_bin_dir"]), slurm_conf, umask)


def who_am_i(min_uid: int) -> User:
    """Return the real user from the user database; the environment is not trusted."""
    uids, gids = set(os.getresuid()), set(os.getresgid())
    if len(uids) != 1 or len(gids) != 1:
        die("real, effective and saved ids differ")
    uid, gid = uids.pop(), gids.pop()
    if uid < max(1, min_uid):
        die(f"refused for uid {uid}")
    entry = pwd.getpwuid(uid)
    return User(entry.pw_name, uid, gid, entry.pw_dir, entry.pw_shell or "/bin/sh")


def harden() -> None:
    """Disable core files and tracing, because requests contain secrets; set umask and directory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        die("prctl failed")
    os.umask(0o077)
    os.chdir("/")


# --- validation of requests -----------------------------------------------------------------------


def required_field(
    request: Request, key: str, kind: type, pattern: re.Pattern[str] | None = None
) -> Any:
    """Return a field of exactly this type (a bool is not an int) and, for text, of this pattern."""
    value = request.get(key)
    if type(value) is not kind or (pattern and not pattern.fullmatch(str(value))):
        raise Refused("BadRequest", f"{key} is missing or malformed")
    return value


def required_job_id(request: Request) -> int:
    job_id: int = required_field(request, "job_id", int)
    if not 0 < job_id < 1 << 32:
        raise Refused("BadRequest", "job_id is out of range")
    return job_id


def required_files(request: Request) -> dict[str, bytes]:
    """Return the job's files including its script, as bytes."""
    files = required_field(request, "files", dict)
    for name, text in files.items():
        if not FILE_NAME.fullmatch(name) or type(text) is not str or len(files) > 32:
            raise Refused("BadRequest", "files is malformed")
    files["script.sh"] = required_field(request, "script", str)
    return {name: text.encode() for name, text in files.items()}


def required_options(request: Request) -> list[str]:
    options: list[str] = required_field(request, "options", list)
    if not all(type(option) is str and OPTION.fullmatch(option) for option in options):
        raise Refused("BadRequest", "options is malformed")
    return options


def timeout_of(request: Request) -> float:
    value = request.get("timeout_s", 10)
    if type(value) not in (int, float) or not 0 < value <= MAX_TIMEOUT_S:
        raise Refused("BadRequest", "timeout_s is out of range")
    return float(value)


def required_absolute_path(request: Request, key: str) -> str:
    """Return an absolute path; the kernel checks access, because this process runs as the user."""
    path: str = required_field(request, key, str)
    if not path.startswith("/") or path.endswith("/") or "\0" in path or len(path) > 4096:
        raise Refused("PathRefused", "This is not a full path.")
    return path


def required_relative_path(request: Request) -> tuple[str, ...]:
    """Return the parts of a relative path, none of which leads up."""
    path: str = required_field(request, "path", str)
    parts = tuple(path.split("/"))
    if len(parts) > 16 or any(p in ("", ".", "..") or "\0" in p or len(p) > 255 for p in parts):
        raise Refused("PathRefused", "This path is not one of the portal's.")
    return parts


# --- folders and files --------------------------------------------------------------------------


@contextlib.contextmanager
def opened(fd: int) -> Iterator[int]:
    """Yield an open descriptor, and close it at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def reporting_home_errors() -> Iterator[None]:
    """Report why a home is unusable (full, missing, ...), because the user can fix that."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused("PathRefused", IN_THE_WAY) from error
        other = f"Your home directory can't be used: {error.strerror}."
        raise Refused("HomeUnavailable", HOME_ERRORS.get(error.errno or 0, other)) from error


def open_home(user: User) -> int:
    """Open the home, which must be owned by the user.

    Links above or instead of the home are the site's configuration; below it none is followed.
    """
    fd = os.open(user.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if os.fstat(fd).st_uid != user.uid:
        os.close(fd)
        raise Refused("HomeUnavailable", f"The home directory {user.home} is not yours.")
    return fd


def enter(parent: int, name: str, user: User, make: bool) -> int:
    """Open the folder `name` in an open folder; it must be a real folder owned by the user."""
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=parent)
    if os.fstat(fd).st_uid != user.uid:
        os.close(fd)
        raise Refused("PathRefused", f"The folder {name} in your home is not yours.")
    return fd


def descend(user: User, parts: tuple[str, ...], make: bool) -> int:
    fd = open_home(user)
    for name in parts:
        with opened(fd):
            below = enter(fd, name, user, make)
        fd = below
    return fd


def write_file(folder: int, name: str, data: bytes) -> None:
    """Write a file atomically: to a new file, which then takes the name.

    The fsync is needed because a network file system may report an exceeded quota only then.
    """
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
    """Yield the job's folder with its files in it.

    If the operation is refused, delete the folder, unless it existed before: a repeated request may
    have a running job in it. After Unreachable keep it, because Slurm may have accepted the job.
    """
    with reporting_home_errors():
        jobs = descend(user, JOBS, make=True)
    with opened(jobs):
        created = False
        try:
            with reporting_home_errors():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(uuid, 0o700, dir_fd=jobs)
                    created = True
                folder = enter(jobs, uuid, user, make=False)
            with opened(folder):
                with reporting_home_errors():
                    for name, data in files.items():
                        write_file(folder, name, data)
                yield folder
        except Refused as error:
            if created and error.kind != "Unreachable":
                shutil.rmtree(uuid, ignore_errors=True, dir_fd=jobs)
            raise


# --- Slurm --------------------------------------------------------------------------------------


class Launcher:
    """Operations for one user: each is a method named op_…"""

    def __init__(self, conf: Conf, user: User) -> None:
        self.conf, self.user = conf, user
        self.steps: list[subprocess.Popen[bytes]] = []

    def operation(self, name: str) -> Operation | None:
        operation: Operation | None = getattr(self, f"op_{name}", None)
        return operation

    def environment(self) -> dict[str, str]:
        """Return a new environment, which sbatch passes on to the job (--export=ALL).

        It inherits nothing from the portal's environment.
        """
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
        stdin: bytes = b"",
        cwd: str = "/",
        **extra: str,
    ) -> tuple[str, str]:
        """Return stdout and stderr of a Slurm command that succeeded.

        Raises Refused for an error or a timeout.
        """
        pipe = subprocess.PIPE
        process = self.start(arguments, cwd, extra, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            out, err = process.communicate(stdin, timeout_s)
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

    def op_files(self, request: Request) -> NoReturn:
        """Become the files program, which answers this request and all later ones.

        The portal waits for the answer: requests that were already read are lost.
        """
        number = str(required_field(request, "id", int))
        program = beside("files.pyz")
        installed = False
        with contextlib.suppress(OSError), opened(os.open(program, os.O_RDONLY)) as fd:
            installed = only_root_can_write(os.fstat(fd))
        if not installed:
            raise Refused("NoFilesProgram", NO_FILES_PROGRAM)
        python = sys.executable
        arguments = [python, "-IS", program, number, f"{self.conf.umask:o}"]
        write_log(request, 0.0, "")  # that program logs only later requests
        try:
            os.execve(python, arguments, self.environment())  # noqa: S606 - a fixed program
        except OSError as error:
            raise Refused("NoFilesProgram", NO_FILES_PROGRAM, error.strerror or "") from error

    def op_submit(self, request: Request) -> Result:
        uuid, files = required_field(request, "uuid", str, UUID), required_files(request)
        options, timeout_s = required_options(request), timeout_of(request)
        arguments = ["sbatch", *options, f"--chdir={self.user.home}"]
        with job_folder(self.user, uuid, files):
            out, stderr = self.run(arguments, timeout_s, files["script.sh"], self.user.home)
            match = re.search(r"^(\d+)(?:;\S*)?$", out, re.MULTILINE)
            if match is None:
                raise Refused("Unreachable", "Slurm did not report the ID of the new job.", stderr)
        return {"job_id": int(match[1]), "stderr": stderr[-MAX_STDERR:]}

    def op_withdraw(self, request: Request) -> Result:
        """Claim a job before its script can, so that it exits; see WITHDRAWN.

        This covers a job that Slurm may already have accepted, or may yet accept. `withdrawn` is
        false if a copy of the job claimed it first.
        """
        uuid = required_field(request, "uuid", str, UUID)
        with (
            reporting_home_errors(),
            opened(descend(self.user, (*JOBS, uuid), make=True)) as folder,
        ):
            try:
                os.symlink(WITHDRAWN, "claimed", dir_fd=folder)
            except FileExistsError:
                with contextlib.suppress(OSError):  # a folder is a session's claim
                    return {"withdrawn": os.readlink("claimed", dir_fd=folder) == WITHDRAWN}
                return {"withdrawn": False}
        return {"withdrawn": True}

    def op_unclaimed(self, request: Request) -> Result:
        """Return whether a job's folder is there without a claim, so that its script has not run.

        Opening the folder makes NFS revalidate it, because a node may have changed it.
        """
        uuid = required_field(request, "uuid", str, UUID)
        with reporting_home_errors():
            os.close(open_home(self.user))  # a missing home is not a missing folder
            try:
                with opened(descend(self.user, (*JOBS, uuid), make=False)) as folder:
                    names = os.listdir(folder)  # noqa: PTH208 - of a descriptor
                    return {"unclaimed": "claimed" not in names}
            except FileNotFoundError:
                return {"unclaimed": False}

    def op_cancel(self, request: Request) -> Result:
        return self.scancel(str(required_job_id(request)), timeout_of(request))

    def scancel(self, target: str, timeout_s: float) -> Result:
        """Cancel a job or step. Only with --verbose does scancel report a missing job."""
        try:
            _, stderr = self.run(["scancel", "--verbose", target], timeout_s)
        except Refused as error:
            if error.kind != "Rejected":
                raise
            stderr = error.stderr
            if "already completing or completed" not in stderr and "Invalid job id" not in stderr:
                raise
        if "Invalid job id" in stderr:
            raise Refused("NotFound", "Slurm no longer has this job.", stderr)
        return {}

    def op_step(self, request: Request) -> Result:
        """Start a program in the job's allocation, beside the job; it outlives this process."""
        uuid, job_id = required_field(request, "uuid", str, UUID), required_job_id(request)
        node, files = required_field(request, "node", str, NODE), required_files(request)
        home = self.user.home
        gpus = [] if request.get("gpus") is True else ["--gres=none"]
        arguments = [
            "srun", "--overlap", f"--jobid={job_id}", f"--nodelist={node}", "--nodes=1",
            "--ntasks=1", *gpus, "--mpi=none", "--input=none", "--unbuffered",
            "--propagate=NONE", "--export=ALL", f"--job-name={step_name(uuid)}",
            f"--chdir={home}", "/".join([home, *JOBS, uuid, "script.sh"]),
        ]  # fmt: skip
        with job_folder(self.user, uuid, files) as folder:
            with reporting_home_errors():
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
        """End the step that op_step started, also if another process of the same user did."""
        uuid, job_id = required_field(request, "uuid", str, UUID), required_job_id(request)
        timeout_s = timeout_of(request) / 2
        arguments = ["squeue", "--noheader", "--steps", f"--jobs={job_id}", "--format=%i|%j"]
        steps, _ = self.run(arguments, timeout_s)
        match = re.search(rf"^({job_id}\.\d+)\|{step_name(uuid)}\s*$", steps, re.MULTILINE)
        try:
            return self.scancel(match[1], timeout_s) if match else {}
        except Refused as error:
            if error.kind != "NotFound":
                raise
            return {}  # it has ended by itself

    def op_read(self, request: Request) -> Result:
        """Return part of a file of a job; a missing file is reported as empty."""
        *folders, name = required_relative_path(request)
        offset, limit = (
            required_field(request, "offset", int),
            required_field(request, "limit", int),
        )
        if not 0 < limit <= MAX_READ:
            raise Refused("BadRequest", "limit is out of range")
        with reporting_home_errors():
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
        """Return part of any file that the user may read, such as output of an external job."""
        path = required_absolute_path(request, "path")
        folder_name, _, name = path.rpartition("/")
        offset, limit = (
            required_field(request, "offset", int),
            required_field(request, "limit", int),
        )
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
        """Return whether a folder exists; it is an error if the user may not read it."""
        path = required_absolute_path(request, "path")
        try:
            with opened(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC)):
                return {"exists": True}
        except FileNotFoundError:
            return {"exists": False}
        except OSError as error:
            raise Refused(
                "PathRefused", f"The folder {path} can't be read: {error.strerror}."
            ) from error

    def op_paths(self, request: Request) -> Result:
        """Return a job's working directory and output files, in the format of scontrol.

        When slurmctld has dropped the job, only the working directory is known, from accounting.
        """
        job_id, timeout_s = required_job_id(request), timeout_of(request) / 2
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
        """Return the output of sbatch --test-only: the job's expected start, in UTC."""
        options, timeout_s = required_options(request), timeout_of(request)
        arguments = ["sbatch", "--test-only", *options]
        _, stderr = self.run(arguments, timeout_s, b"#!/bin/sh\n", self.user.home, TZ="UTC0")
        return {"stderr": stderr[-MAX_STDERR:]}

    def op_mkdir(self, request: Request) -> Result:
        """Create a folder below the home, with its parents."""
        parts = required_relative_path(request)
        with reporting_home_errors():
            os.close(descend(self.user, parts, make=True))
        return {}

    def op_forget(self, request: Request) -> Result:
        """Delete a job's folder, if it is there."""
        uuid = required_field(request, "uuid", str, UUID)
        with reporting_home_errors(), contextlib.suppress(FileNotFoundError):
            jobs = descend(self.user, JOBS, make=False)
            with opened(jobs):
                shutil.rmtree(uuid, dir_fd=jobs)
        return {}


# --- answers ------------------------------------------------------------------------------------


def respond(line: bytes, find: Callable[[str], Operation | None]) -> Result:
    """Return the response to one frame; `find` returns the operation of a name.

    ValueError stands for malformed JSON or invalid UTF-8.
    """
    began = time.monotonic()
    request = number = None
    try:
        request = json.loads(line)
        number = request.get("id") if isinstance(request, dict) else None
        result = named_operation(request, find)(request)
        write_log(request, time.monotonic() - began, "")
        return {"id": number, "ok": True, "result": result}
    except Refused as error:
        refused = error
    except (ValueError, RecursionError) as error:
        refused = Refused("BadRequest", f"not a request: {type(error).__name__}")
    write_log(request, time.monotonic() - began, refused.kind)
    return {"id": number, "ok": False, "error": details_of(refused)}


def named_operation(request: Any, find: Callable[[str], Operation | None]) -> Operation:
    name = request.get("op") if isinstance(request, dict) else None
    operation = find(name) if type(name) is str else None
    if operation is None:
        raise Refused("BadRequest", "no such operation")
    return operation


def write_log(request: Any, seconds: float, error: str) -> None:
    """Write a log line about a request to stderr, with the portal's request id.

    It contains nothing else from the request. If nothing reads stderr, the line is lost.
    """
    fields = request if isinstance(request, dict) else {}
    operation, request_id = fields.get("op"), fields.get("request")
    fields = {
        "launcher": operation if type(operation) is str and WORD.fullmatch(operation) else "none",
        "seconds": round(seconds, 4),
        "error": error,
        "request": request_id if type(request_id) is str and REQUEST.fullmatch(request_id) else "",
    }
    with contextlib.suppress(OSError):
        os.write(2, json.dumps(fields).encode() + b"\n")


def details_of(refused: Refused) -> Result:
    more = {"more": refused.more} if refused.more else {}
    return {"type": refused.kind, "message": refused.message, "stderr": refused.stderr, **more}


# --- helpers ------------------------------------------------------------------------------------


def step_name(uuid: str) -> str:
    return f"portal-{uuid}"


def is_unreachable(stderr: str) -> bool:
    """Return whether an error message means that Slurm was unreachable, not that it refused.

    For an unknown job squeue reports a load error, which is a refusal.
    """
    return "Invalid job id" not in stderr and UNREACHABLE.search(stderr) is not None


def refusal(stderr: str) -> Refused:
    if is_unreachable(stderr):
        return Refused("Unreachable", "Slurm doesn't answer.", stderr)
    return Refused("Rejected", "Slurm refused it.", stderr)


def open_log(folder: int, name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=folder)


def read_part(folder: int, name: str, offset: int, limit: int) -> tuple[bytes, int, int]:
    """Return bytes of a file, their offset, and the file's size.

    O_NONBLOCK: do not block on a FIFO.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with opened(os.open(name, flags, dir_fd=folder)) as fd:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise Refused("PathRefused", "This is not a file.")
        start = max(0, state.st_size + offset) if offset < 0 else min(offset, state.st_size)
        return os.pread(fd, limit, start), start, state.st_size


# --- frames -------------------------------------------------------------------------------------


def frames(fd: int) -> Iterator[bytes]:
    """Yield lines until the input ends, a line is too long, or `IDLE_S` passes without a line."""
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


def serve(find: Callable[[str], Operation | None]) -> Iterator[None]:
    """Answer the requests that arrive, and yield after each."""
    for line in frames(0):
        send(1, respond(line, find))
        yield


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    conf = read_conf(beside("launcher.conf"))
    user = who_am_i(conf.min_uid)
    harden()
    launcher = Launcher(conf, user)
    greeting = {"uid": user.uid, "gid": user.gid, "username": user.name}
    with contextlib.suppress(BrokenPipeError):
        send(1, {"hello": 1, **greeting, "home": user.home, "shell": user.shell})
        for _ in serve(launcher.operation):
            # poll() reaps each srun that has ended
            launcher.steps = [step for step in launcher.steps if step.poll() is None]


if __name__ == "__main__":
    main()
