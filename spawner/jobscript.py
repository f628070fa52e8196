"""From a template and what its user filled in to the script that Slurm runs. Pure.

**The one way in.** Every value goes through `words`, and so through `scripts.quote`: a script's
`{{ … }}` can't be anything but words of the shell with exactly that text. Where they stand was
checked when the template was loaded (shelltext.py).

**Claims.** A script's first act is to claim its job: of two jobs with one id (Slurm's controller
can forget one it had taken) the second exits, and so does a second start of the same run. A task of
an array and a start after a requeue have a claim each.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spawner import freescript
from spawner.catalog import Environment
from spawner.jobfunctions import MPI_VARIABLE, NOTEBOOK, functions
from spawner.kernels import KernelPlace, job_command, kernelspec
from spawner.model import Resources
from spawner.parameters import types
from spawner.scripts import EXIT_CLAIMED, job_dir, quote
from spawner.shelltext import ShellWord, Unrenderable, render, words
from spawner.templates import Template, array_tasks

MAX_SCRIPT_BYTES = 256 * 1024
MAX_LINE = 90
USER_SCRIPT = "job"
_MPI = (
    "RANK NAMESPACE VERSION HOSTNAME SERVER_URI SERVER_URI2 SERVER_URI21 SERVER_URI3 SERVER_URI4"
    " SERVER_URI41 SERVER_TMPDIR SYSTEM_TMPDIR SECURITY_MODE PTL_MODULE BFROP_BUFFER_TYPE"
    " GDS_MODULE DSTORE_ESH_BASE_PATH DSTORE_21_BASE_PATH MCA_gds MCA_psec MCA_ptl"
)
_MEETING = ("MASTER_ADDR", "MASTER_PORT", "PORTAL_NODES", "PORTAL_RANKS_PER_NODE")
KEPT = ("PORTAL_JOB_DIR", "PORTAL_TASK", *_MEETING)
_OPEN_MPI = "OMPI_MCA_btl_vader_single_copy_mechanism"
KEPT_FOR_MPI = (_OPEN_MPI, *(f"PMIX_{name}" for name in _MPI.split()))
"""What programs in a container see beside what spawner/node/kernel.py lets through: where the job
is, where its ranks meet, and what srun --mpi=pmix tells MPI."""

_TMP = "/tmp"  # noqa: S108 - each node has it already, and containers share it

ScriptRefused = freescript.ScriptRefused


@dataclass(frozen=True)
class JobPlace:
    """Where a job runs: absolute paths. `workdir` is where it starts, the home if None; `node_dir`
    is a folder on the node's own disk that the job may make for itself.

    `environment` is what its commands run in; a free script may have none. `resources` are the
    complete ones, as submitted."""

    uuid: str
    username: str
    home: str
    runtime_dir: str
    apptainer: str
    logdir: str
    environment: Environment | None
    resources: Resources
    workdir: str | None = None
    node_dir: str = _TMP


@dataclass(frozen=True)
class Rendered:
    """What to submit. `files` lie beside the script in the job's folder; `array` is the number of
    tasks, None for a job without; `signal` is Slurm's --signal."""

    script: str
    files: Mapping[str, str] = field(repr=False)
    array: int | None
    requeue: bool
    signal: str | None
    logdir: str


# No trap: bash would run that also when a signal ends it, with the status of an earlier command.
_FINISH = """\
portal_status=$?
[ "$portal_status" -eq 0 ] && : > "$PORTAL_JOB_DIR/finished-$PORTAL_TASK"
exit "$portal_status\""""


def render_job(template: Template, parameters: Mapping[str, Any], place: JobPlace) -> Rendered:
    """The job of parameters that `check_parameters` found good.

    Raises ScriptRefused if the script can't be made of them after all."""
    values = {name: _placed(template, name, parameters[name], place) for name in parameters}
    tasks = array_tasks(template, values)
    shown = {name: ShellWord(f'"${_variable(name)}"') for name in template.array}
    resources = place.resources
    surroundings = {
        "home": place.home,
        "username": place.username,
        "logdir": place.logdir,
        "nodes": resources.nodes,
        "gpus": resources.gpus,
        "cpus": resources.cpus,
    }
    try:
        body = render(template.script, {**surroundings, **values, **shown})
    except Unrenderable as error:
        raise ScriptRefused(
            "script", f"The template's script can't be rendered: {error}"
        ) from error
    head = [f"#!/bin/bash\n# A job of the template {template.name}."]
    parts = [*head, _claim(place, template.requeue), _setting(place), *_tasks(template, tasks)]
    kept = (*KEPT, *KEPT_FOR_MPI) if MPI_VARIABLE in body else KEPT
    files = dict(template.programs)
    if NOTEBOOK in body:
        files["kernel.json"] = _kernel(place)
        parts += [_notebook_setting(place)]
    parts += [_in_env(place, kept), *functions(body), body.rstrip("\n")]
    parts += [_FINISH] if template.requeue else []
    script = "\n".join([*parts, ""])
    return Rendered(
        script=_short_enough(script),
        files=files,
        array=len(tasks) or None,
        requeue=template.requeue,
        signal=template.signal,
        logdir=place.logdir,
    )


def render_script(script: str, place: JobPlace, environment: Environment | None) -> Rendered:
    """The job of a user's own script, run by what its first line names, /bin/bash if none; within
    the environment as a whole, if there is one.

    Raises ScriptRefused with the line that can't be had."""
    read = freescript.read(script, MAX_SCRIPT_BYTES)
    run = f'{shlex.join(read.interpreter)} "$PORTAL_JOB_DIR/{USER_SCRIPT}"'
    parts = ["#!/bin/bash", *read.sbatch_lines, _claim(place, requeue=False), _setting(place)]
    if environment:
        parts += [_in_env(replace(place, environment=environment)), f"in_env {run}"]
    else:
        parts += [f"exec {run}"]
    return Rendered(
        script="\n".join([*parts, ""]),
        files={USER_SCRIPT: script},
        array=None,
        requeue=False,
        signal=None,
        logdir=place.logdir,
    )


def task_logdir(logdir: str, index: int) -> str:
    """Where PORTAL_LOGDIR points in a task of an array."""
    return f"{logdir}/task-{index}"


def _placed(template: Template, name: str, value: Any, place: JobPlace) -> Any:
    """A path's ~ is the user's home: quoted, the shell would leave it as it is."""
    rule = template.parameters["properties"][name]
    if rule.get("x-widget") != "path" or "string" not in types(rule) or value is None:
        return value
    home = place.home.rstrip("/")
    return home + value[1:] if value == "~" or value.startswith("~/") else value


def _variable(name: str) -> str:
    return f"portal_{name}"


def _claim(place: JobPlace, requeue: bool) -> str:
    finished = (
        """
# Slurm starts a job again when its node was lost, even if it had just finished.
[ -e "$PORTAL_JOB_DIR/finished-$PORTAL_TASK" ] && exit 0"""
        if requeue
        else ""
    )
    return f"""\
export PORTAL_JOB_DIR={quote(job_dir(place.home, place.uuid))}
export PORTAL_TASK=${{SLURM_ARRAY_TASK_ID:-0}}
# Of two jobs that Slurm made of one only the first runs, and each run of it once.
portal_id=${{SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}}
ln -sT -- "$portal_id" "$PORTAL_JOB_DIR/claimed" 2>/dev/null
[ "$(readlink -- "$PORTAL_JOB_DIR/claimed")" = "$portal_id" ] || exit {EXIT_CLAIMED}
mkdir -- "$PORTAL_JOB_DIR/claimed-$PORTAL_TASK-${{SLURM_RESTART_COUNT:-0}}" || exit {EXIT_CLAIMED}\
{finished}"""


def _setting(place: JobPlace) -> str:
    return f"""\
export PORTAL_LOGDIR={quote(place.logdir)}
mkdir -p -- "$PORTAL_LOGDIR" || exit
cd -- {quote(place.workdir or place.home)} || exit"""


def _tasks(template: Template, tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each task's own values and log folder."""
    if not tasks:
        return []
    lines = ["# One task for each value, or for each combination."]
    for name in template.array:
        variable = _variable(name)
        lines += [
            f"{variable}=({words([task[name] for task in tasks])})",
            f"{variable}=${{{variable}[PORTAL_TASK]}}",
        ]
    lines += [
        'export PORTAL_LOGDIR="$PORTAL_LOGDIR/task-$PORTAL_TASK"',
        'mkdir -p -- "$PORTAL_LOGDIR" || exit',
    ]
    return lines


def _in_env(place: JobPlace, kept: Sequence[str] = KEPT) -> str:
    """The shell function that runs its arguments in the environment, also under srun."""
    environment = place.environment
    if environment is None:
        return 'become_in_env() { exec "$@"; }\nin_env() ( become_in_env "$@" )'
    env, command = job_command(environment, _kernel_place(place, _TMP), kept)
    exports = [f"{name}={quote(value)}" for name, value in env.items() if name != "PORTAL_LOGDIR"]
    return f"""\
# in_env COMMAND… runs it in the environment {environment.name}.
become_in_env() {{
  export {_wrapped(exports)}
  exec {_wrapped([*map(quote, command), '"$@"'])}
}}
in_env() ( become_in_env "$@" )
export -f become_in_env"""


def _kernel_place(place: JobPlace, node_dir: str) -> KernelPlace:
    return KernelPlace(
        runtime_dir=place.runtime_dir,
        apptainer=place.apptainer,
        home=place.home,
        node_dir=node_dir,
        logdir=place.logdir,
        gpus=place.resources.gpus > 0,
    )


def _kernel(place: JobPlace) -> str:
    """The kernel.json of a notebook that runs as a job."""
    environment = place.environment
    if environment is None or not environment.kernel:
        raise ScriptRefused("environment", "This environment has no kernel to run a notebook with.")
    return json.dumps(kernelspec(environment, _kernel_place(place, place.node_dir)))


def _notebook_setting(place: JobPlace) -> str:
    return f"""\
PORTAL_PYTHON={quote(place.runtime_dir + "/bin/python")}
PORTAL_NODE_DIR={quote(place.node_dir)}"""


def _wrapped(parts: Sequence[str]) -> str:
    """Words of the shell, on lines that can be read."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > MAX_LINE:
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return " \\\n    ".join(lines)


def _short_enough(script: str) -> str:
    size = len(script.encode())
    if size > MAX_SCRIPT_BYTES:
        raise ScriptRefused(
            "parameters",
            f"With these values the script has {size // 1024} KiB;"
            f" {MAX_SCRIPT_BYTES // 1024} can be had.",
        )
    return script
