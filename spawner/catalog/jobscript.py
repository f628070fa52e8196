"""Job scripts for Slurm, rendered from a template and its parameters or from a user's script.

Pure.

**Values.** A template's script is plain bash and is inserted unchanged. Before it, the job script
sets a shell variable for each parameter. Every value passes through `launch_files.quote`, so a
variable has exactly that text. The variables are not exported.

**Claims.** A script first claims its job: of two jobs with one UUID (slurmctld can forget a job
that it had accepted) the second exits, and so does a second start of the same run. A task of an
array and a start after a requeue have separate claims.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spawner.catalog import own_script
from spawner.catalog.environment import Environment
from spawner.catalog.job_functions import MPI_VARIABLE, NOTEBOOK, list_functions
from spawner.catalog.launch_files import EXIT_CLAIMED, job_dir, quote
from spawner.catalog.parameters import permitted_types
from spawner.catalog.template import Template, array_tasks
from spawner.containers.kernels import KernelContext, job_command, kernelspec
from spawner.slurm.model import Resources

MAX_SCRIPT_BYTES = 256 * 1024
MAX_LINE = 90
USER_SCRIPT = "job"
SAMPLER = "spawner.node.usage.sampler"
SAMPLER_STEP = "portal-usage"
_MPI = (
    "RANK NAMESPACE VERSION HOSTNAME SERVER_URI SERVER_URI2 SERVER_URI21 SERVER_URI3 SERVER_URI4"
    " SERVER_URI41 SERVER_TMPDIR SYSTEM_TMPDIR SECURITY_MODE PTL_MODULE BFROP_BUFFER_TYPE"
    " GDS_MODULE DSTORE_ESH_BASE_PATH DSTORE_21_BASE_PATH MCA_gds MCA_psec MCA_ptl"
)
_RENDEZVOUS_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "PORTAL_NODES", "PORTAL_RANKS_PER_NODE")
KEPT_VARIABLES = ("PORTAL_JOB_DIR", "PORTAL_TASK", *_RENDEZVOUS_VARIABLES)
_OPEN_MPI = "OMPI_MCA_btl_vader_single_copy_mechanism"
KEPT_FOR_MPI = (_OPEN_MPI, *(f"PMIX_{name}" for name in _MPI.split()))
"""Variables that programs in a container get besides the ones in spawner/node/kernel.py.

KEPT_VARIABLES: the job's folder, task and rendezvous. KEPT_FOR_MPI: what srun --mpi=pmix passes.
"""

_TMP = "/tmp"  # noqa: S108 - exists on each node, and containers share it

ScriptRefused = own_script.ScriptRefused


@dataclass(frozen=True)
class JobContext:
    """Absolute paths and other properties that a job script depends on.

    `workdir` is its initial directory, the home if None; `node_dir` is a folder on the node's own
    disk that the job may create; `modules_init` is the file that defines `module` for bash there.
    `environment` is that of its commands; a user's own script may have none. `resources` are
    complete, as submitted. With `measured`, samplers record its usage.
    """

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
    pip_index_url: str | None = None
    modules_init: str | None = None
    measured: bool = True


@dataclass(frozen=True)
class RenderedJob:
    """Script of a job, and how it is to be submitted.

    `files` are stored beside the script in the job's folder; `array` is the number of tasks, None
    for a single job; `signal` is Slurm's --signal.
    """

    script: str
    files: Mapping[str, str] = field(repr=False)
    array: int | None
    requeue: bool
    signal: str | None
    logdir: str


# Not a trap: bash would also run it when killed by a signal, with an earlier command's status.
_FINISH = """\
portal_status=$?
[ "$portal_status" -eq 0 ] && : > "$PORTAL_JOB_DIR/finished-$PORTAL_TASK"
exit "$portal_status\""""


def render_job(
    template: Template, parameters: Mapping[str, Any], context: JobContext
) -> RenderedJob:
    """Return the job for parameters that passed `check_parameters`.

    Raises ScriptRefused if the script becomes too long, or if the environment has no kernel for a
    notebook.
    """
    values = {name: _expand_home(template, name, parameters[name], context) for name in parameters}
    tasks = array_tasks(template, values)
    parts = [
        f"#!/bin/bash\n# A job of the template {template.name}.",
        _claim_job(context, template.requeue),
        *_start_samplers(context),
        _enter_directory(context),
        *_set_task(template, tasks),
        _set_job_values(context),
        *(_assign(name, value) for name, value in values.items() if name not in template.array),
    ]
    script = template.script
    kept_variables = (*KEPT_VARIABLES, *KEPT_FOR_MPI) if MPI_VARIABLE in script else KEPT_VARIABLES
    files = dict(template.programs)
    if NOTEBOOK in script:
        files["kernel.json"] = _kernel_json(context)
        parts += [_set_notebook_paths(context)]
    parts += [_define_in_env(context, kept_variables), *list_functions(script), script.rstrip("\n")]
    parts += [_FINISH] if template.requeue else []
    return RenderedJob(
        script=_check_size("\n".join([*parts, ""])),
        files=files,
        array=len(tasks) or None,
        requeue=template.requeue,
        signal=template.signal,
        logdir=context.logdir,
    )


def render_script(script: str, context: JobContext, environment: Environment | None) -> RenderedJob:
    """Return the job for a user's own script.

    The interpreter in its first line runs it, /bin/bash by default, inside the environment if one
    is given. Raises ScriptRefused with the line that is not permitted.
    """
    read = own_script.parse_script(script, MAX_SCRIPT_BYTES)
    run = f'{shlex.join(read.interpreter)} "$PORTAL_JOB_DIR/{USER_SCRIPT}"'
    parts = [
        "#!/bin/bash",
        *read.sbatch_lines,
        _claim_job(context, requeue=False),
        *_start_samplers(context),
        _enter_directory(context),
    ]
    if environment:
        parts += [_define_in_env(replace(context, environment=environment)), f"in_env {run}"]
    else:
        parts += [*_define_module(context), f"exec {run}"]
    return RenderedJob(
        script="\n".join([*parts, ""]),
        files={USER_SCRIPT: script},
        array=None,
        requeue=False,
        signal=None,
        logdir=context.logdir,
    )


def task_logdir(logdir: str, index: int) -> str:
    """Return the value of PORTAL_LOGDIR in a task of an array."""
    return f"{logdir}/task-{index}"


def _expand_home(template: Template, name: str, value: Any, context: JobContext) -> Any:
    """Return a value with a path's ~ replaced by the home: the shell does not expand it quoted."""
    rule = template.parameters["properties"][name]
    if rule.get("x-widget") != "path" or "string" not in permitted_types(rule) or value is None:
        return value
    home = context.home.rstrip("/")
    return home + value[1:] if value == "~" or value.startswith("~/") else value


def _define_module(context: JobContext) -> list[str]:
    """Return the lines that define `module` for scripts that bash runs, as in a login shell.

    Both module systems export the function, or set BASH_ENV to their file.
    """
    if context.modules_init is None:
        return []
    init = quote(context.modules_init)
    return [f"# for `module`\n[ -r {init} ] && . {init} >&2"]


def _claim_job(context: JobContext, requeue: bool) -> str:
    finished = (
        """
# Slurm starts a job again when its node was lost, even if it had just finished.
[ -e "$PORTAL_JOB_DIR/finished-$PORTAL_TASK" ] && exit 0"""
        if requeue
        else ""
    )
    return f"""\
export PORTAL_JOB_DIR={quote(job_dir(context.home, context.uuid))}
export PORTAL_TASK=${{SLURM_ARRAY_TASK_ID:-0}}
# If Slurm created two jobs for one submission, only the first runs, and each run of it once.
portal_id=${{SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}}
ln -sT -- "$portal_id" "$PORTAL_JOB_DIR/claimed" 2>/dev/null
[ "$(readlink -- "$PORTAL_JOB_DIR/claimed")" = "$portal_id" ] || exit {EXIT_CLAIMED}
mkdir -- "$PORTAL_JOB_DIR/claimed-$PORTAL_TASK-${{SLURM_RESTART_COUNT:-0}}" || exit {EXIT_CLAIMED}\
{finished}"""


def is_measured(script: str) -> bool:
    """Return whether a rendered job starts samplers."""
    return f"-m {SAMPLER} " in script


def _start_samplers(context: JobContext) -> list[str]:
    """Return the lines that measure the usage on each of the job's nodes.

    Neither the script's first command nor a `wait` in it may wait for them: they are started by a
    subshell in the background that is not in the shell's table of jobs.
    """
    if not context.measured:
        return []
    sampler = f"nice -n 19 {quote(context.runtime_dir + '/bin/python')} -I -m {SAMPLER}"
    others = '"$(( SLURM_JOB_NUM_NODES - 1 ))"'
    options = [
        "--overlap", "--relative=1", f"--nodes={others}", f"--ntasks={others}",
        "--ntasks-per-node=1", "--cpus-per-task=1", "--cpu-bind=none", "--mpi=none",
        "--input=none", "--export=ALL", "--propagate=NONE", f"--job-name={SAMPLER_STEP}",
    ]  # fmt: skip
    on_others = _wrap_words(["srun", *options, f"{sampler} &"])
    lines = f"""\
# Measures the usage of the job's nodes, for its page in the portal.
( exec </dev/null >/dev/null 2>&1
  {sampler} "$$" &
  [ "${{SLURM_JOB_NUM_NODES:-1}}" -gt 1 ] || exit
  {on_others}
) &
disown 2>/dev/null"""
    return [lines]


def _enter_directory(context: JobContext) -> str:
    return f"""\
export PORTAL_LOGDIR={quote(context.logdir)}
mkdir -p -- "$PORTAL_LOGDIR" || exit
cd -- {quote(context.workdir or context.home)} || exit"""


def _set_task(template: Template, tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines that set each task's own values and log folder."""
    if not tasks:
        return []
    lines = ["# One task for each value, or for each combination."]
    for name in template.array:
        lines += [
            _assign("portal_values", [task[name] for task in tasks]),
            f"{name}=${{portal_values[PORTAL_TASK]}}",
        ]
    lines += [
        'export PORTAL_LOGDIR="$PORTAL_LOGDIR/task-$PORTAL_TASK"',
        'mkdir -p -- "$PORTAL_LOGDIR" || exit',
    ]
    return lines


def _set_job_values(context: JobContext) -> str:
    """Return the command that sets the variables in `JOB_VARIABLES`."""
    values = {
        "home": context.home,
        "username": context.username,
        "logdir": context.logdir,
        "nodes": context.resources.nodes,
        "gpus": context.resources.gpus,
        "cpus": context.resources.cpus,
    }
    words = _wrap_words([_assign(name, value) for name, value in values.items()])
    return f"# shellcheck disable=SC2034  # a template need not use all of them\n{words}"


def _assign(name: str, value: Any) -> str:
    """Return the assignment of a value to a shell variable, which is an array for a list."""
    if isinstance(value, list):
        return f"{name}=({' '.join(quote(_to_text(item)) for item in value)})"
    return f"{name}={quote(_to_text(value))}"


def _to_text(value: str | float | bool | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _define_in_env(context: JobContext, kept_variables: Sequence[str] = KEPT_VARIABLES) -> str:
    """Return the shell function that runs its arguments in the environment, even under srun."""
    environment = context.environment
    if environment is None:
        return 'exec_in_env() { exec "$@"; }\nin_env() ( exec_in_env "$@" )'
    env, command = job_command(environment, _to_kernel_context(context, _TMP), kept_variables)
    exports = [f"{name}={quote(value)}" for name, value in env.items() if name != "PORTAL_LOGDIR"]
    return f"""\
# in_env COMMAND… runs it in the environment {environment.name}.
exec_in_env() {{
  export {_wrap_words(exports)}
  exec {_wrap_words([*map(quote, command), '"$@"'])}
}}
# shellcheck disable=SC2317  # a template need not call it
in_env() ( exec_in_env "$@" )
export -f exec_in_env"""


def _to_kernel_context(context: JobContext, node_dir: str) -> KernelContext:
    return KernelContext(
        runtime_dir=context.runtime_dir,
        apptainer=context.apptainer,
        home=context.home,
        node_dir=node_dir,
        logdir=context.logdir,
        gpus=context.resources.gpus > 0,
        pip_index_url=context.pip_index_url,
    )


def _kernel_json(context: JobContext) -> str:
    """Return the kernel.json for a notebook that runs as a job."""
    environment = context.environment
    if environment is None or not environment.has_kernel:
        raise ScriptRefused("environment", "This environment has no kernel to run a notebook with.")
    return json.dumps(kernelspec(environment, _to_kernel_context(context, context.node_dir)))


def _set_notebook_paths(context: JobContext) -> str:
    return f"""\
PORTAL_PYTHON={quote(context.runtime_dir + "/bin/python")}
PORTAL_NODE_DIR={quote(context.node_dir)}"""


def _wrap_words(parts: Sequence[str]) -> str:
    """Join shell words, wrapped to lines of readable length."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > MAX_LINE:
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return " \\\n    ".join(lines)


def _check_size(script: str) -> str:
    size = len(script.encode())
    if size > MAX_SCRIPT_BYTES:
        raise ScriptRefused(
            "parameters",
            f"With these values the script has {size // 1024} KiB;"
            f" the limit is {MAX_SCRIPT_BYTES // 1024} KiB.",
        )
    return script
