"""Submission of a row as a Slurm job: render the row's contents, and submit them as its owner.

Used by requests that start something and by the reconcile loop, which repeats it after a crash. The
row alone determines the job, so both submit the same.
"""

import hashlib
import hmac
import posixpath
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import structlog

from portal.context import AppContext
from portal.db import utcnow
from portal.errors import (
    FieldError,
    HomeProblem,
    InvalidInput,
    LauncherProblem,
    PortalError,
    SlurmRejected,
    SlurmUnreachable,
)
from portal.models import BatchJob, Job, JobState, Session, Tensorboard, TensorboardJob
from portal.services.catalog.available import check_environment
from portal.services.hashes import hash_token
from portal.services.identity import preferences
from portal.services.limits.user_accounts import NO_ACCOUNT
from portal.services.slurm.job_identity import find_job
from portal.services.store import update_row
from spawner.catalog import app, lab_config, launch_files
from spawner.catalog.environment import Environment
from spawner.containers.kernels import KernelContext, job_command, kernelspec
from spawner.errors import (
    BadRequest,
    HomeUnavailable,
    LauncherUnavailable,
    NoFilesProgram,
    PathRefused,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.launcher.connection import UserInfo
from spawner.slurm.model import JobSpec, Resources

log = structlog.get_logger(__name__)

MAX_PATH = 4000
LOG_TAIL_BYTES = 4096
UNREACHABLE_AFTER = timedelta(seconds=20)  # without an answer of Slurm, nothing is attempted
NOTHING_STARTED = "Slurm doesn't answer, so nothing was started. Try again in a minute."


def derive_secret(context: AppContext, uuid: str) -> str:
    """Return the secret of the node program of a session or of a TensorBoard's run, and the one
    from which a batch job's folder on the node gets its name.

    It is derived, not random, so that a second attempt after a crash does not invalidate the secret
    of a first one that Slurm has accepted after all. Only its hash is stored.
    """
    key = context.settings.internal_secret.encode()
    return hmac.digest(key, f"node program|{uuid}".encode(), hashlib.sha256).hex()


def derive_job_ssh_secret(context: AppContext, job: Job) -> str:
    """Return the secret of the program that serves SSH in a batch job; nothing else uses it."""
    return derive_secret(context, f"{job.id}|ssh")


def build_logdir(home: str, name: str, row_id: str) -> str:
    """Return the folder that PORTAL_LOGDIR names in a session or batch job."""
    return f"{home}/portal/runs/{name}-{row_id[:8]}"


def normalize_path(field: str, path: str, home: str) -> str:
    """Return a normalized absolute path, with ~ expanded to the owner's home. Access is decided by
    the owner's own permissions. Raises InvalidInput.
    """
    if path == "~" or path.startswith("~/"):
        path = home.rstrip("/") + path[1:]
    if not path.startswith("/") or not path.isprintable() or len(path) > MAX_PATH:
        text = "Enter the folder's full path, starting with “/” or “~/”."
        raise InvalidInput(text, errors=[FieldError(field, text)])
    return posixpath.normpath(path)


def resources_of(row: Job) -> Resources:
    return Resources(**row.resources)


def resources_to_json(resources: Resources) -> dict[str, Any]:
    """Convert resources to the JSON of the row's column."""
    return asdict(resources)


async def submit_session(context: AppContext, session: Session) -> None:
    """Submit a session's job. Raises the spawner's errors.

    Every attempt has the same secret: of two copies either may be the one that runs.
    """
    secret = derive_secret(context, session.id)
    user = await context.launchers.info(session.user.username)
    launch = launch_files.SessionLaunch(
        uuid=session.id,
        secret=secret,
        portal_url=context.settings.node_url,
        portal_ca=context.settings.node_url_ca,
        tls=context.settings.node_tls,
        runtime_dir=str(context.settings.runtime_dir),
        username=session.user.username,
        home=user.home,
        name=session.name,
        logdir=session.logdir,
        **_build_lab_options(context, session, user.home),
    )
    await _save_secret_hash(context, session, secret)
    spec = JobSpec(
        uuid=session.id,
        name=f"portal-{session.name}",
        resources=resources_of(session),
        script=launch_files.session_script(launch),
    )
    await context.block_unless_leader()
    job_id = await context.launchers.submit(user.username, spec, launch_files.session_files(launch))
    await _record_submission(context, session, job_id)


async def submit_job(context: AppContext, job: BatchJob) -> None:
    """Submit a batch job exactly as in its row. Raises the spawner's errors."""
    size = job.array_size
    task = "-%a" if size else ""
    spec = JobSpec(
        uuid=job.id,
        name=job.name,
        resources=resources_of(job),
        script=job.script,
        stdout=f"stdout{task}.log",
        stderr=f"stderr{task}.log",
        requeue=job.requeue,
        signal=job.signal,
        array=f"0-{size - 1}" if size else None,
    )
    await context.block_unless_leader()
    job_id = await context.launchers.submit(job.user.username, spec, job.files)
    await _record_submission(context, job, job_id)


async def submit_tensorboard(context: AppContext, row: TensorboardJob, board: Tensorboard) -> None:
    """Submit a TensorBoard as a job of its own, in the service partition."""
    user = await context.launchers.info(row.user.username)
    launch = await _prepare_tensorboard(context, board, user, uuid=row.id)
    spec = JobSpec(
        uuid=row.id,
        name="portal-tensorboard",
        resources=resources_of(row),
        script=launch_files.tensorboard_script(launch),
    )
    await context.block_unless_leader()
    job_id = await context.launchers.submit(
        user.username, spec, launch_files.tensorboard_files(launch)
    )
    await _record_submission(context, row, job_id)


async def step_tensorboard(context: AppContext, board: Tensorboard) -> None:
    """Start a TensorBoard inside its parent's allocation."""
    parent = board.parent
    if parent.job_id is None or parent.node is None:
        raise ValueError("only a running job can start a step")
    user = await context.launchers.info(board.user.username)
    launch = await _prepare_tensorboard(context, board, user, uuid=board.run_id)
    await context.block_unless_leader()
    await find_job(context, parent, parent.job_id)
    await context.launchers.step(
        user.username,
        job_id=parent.job_id,
        node=parent.node,
        uuid=board.run_id,
        files=launch_files.tensorboard_files(launch),
        script=launch_files.tensorboard_script(launch),
    )


async def step_job_ssh(context: AppContext, job: BatchJob, run_id: str) -> None:
    """Start a run of the program that serves SSH in a batch job's allocation, with the job's GPUs.

    Raises the spawner's errors.
    """
    if job.job_id is None or job.node is None:
        raise ValueError("only a running job can start a step")
    user = await context.launchers.info(job.user.username)
    launch = launch_files.JobSshLaunch(
        uuid=run_id,
        batch_job_id=job.id,
        secret=derive_job_ssh_secret(context, job),
        portal_url=context.settings.node_url,
        portal_ca=context.settings.node_url_ca,
        tls=context.settings.node_tls,
        runtime_dir=str(context.settings.runtime_dir),
        home=user.home,
    )
    await context.block_unless_leader()
    await find_job(context, job, job.job_id)
    await context.launchers.step(
        user.username,
        job_id=job.job_id,
        node=job.node,
        uuid=launch.uuid,
        files=launch_files.job_ssh_files(launch),
        script=launch_files.job_ssh_script(launch),
        gpus=True,
    )


async def end_job_ssh(context: AppContext, job: BatchJob, run_id: str) -> None:
    """End the step of a run that `step_job_ssh` started. Raises the spawner's errors."""
    if job.job_id is None:
        raise ValueError("only a submitted job has steps")
    await context.block_unless_leader()
    await context.launchers.end_step(job.user.username, job.job_id, run_id)


async def read_job_ssh_log(context: AppContext, job: BatchJob, run_id: str) -> str:
    """Return the end of the log of a run that `step_job_ssh` started, empty if there is none.

    The log is the user's own: any text. Raises the spawner's errors.
    """
    path = f"{run_id}/stderr.log"
    data, _, _ = await context.launchers.read(
        job.user.username, path, -LOG_TAIL_BYTES, LOG_TAIL_BYTES
    )
    return data.decode(errors="replace")


async def _prepare_tensorboard(
    context: AppContext, board: Tensorboard, user: UserInfo, *, uuid: str
) -> launch_files.TensorboardLaunch:
    """Return the parameters of one run of a TensorBoard; each run has a folder of its own, `uuid`,
    and a secret of its own. As for a session, it is the same in every attempt.
    """
    secret = derive_secret(context, board.run_id)

    def save_hash(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.secret_hash = hash_token(secret)

    await update_row(context.db, Tensorboard, board.id, save_hash)
    return launch_files.TensorboardLaunch(
        uuid=uuid,
        tensorboard_id=board.id,
        secret=secret,
        signing_key=board.guard_key,
        portal_url=context.settings.node_url,
        portal_ca=context.settings.node_url_ca,
        tls=context.settings.node_tls,
        runtime_dir=str(context.settings.runtime_dir),
        username=user.username,
        home=user.home,
        logdir=board.logdir,
    )


def check_slurm_answers(context: AppContext) -> None:
    """Raise SlurmUnreachable if Slurm has not answered for so long that an attempt would only time
    out.
    """
    stale_since = context.watcher.stale_since
    if stale_since is not None and utcnow() - stale_since > UNREACHABLE_AFTER:
        raise SlurmUnreachable(NOTHING_STARTED)


def to_launch_error(error: SpawnerError, resources: Resources | None = None) -> PortalError:
    """Convert the failure of a launch, or of another request to the launcher, to a portal error. If
    `resources` were requested, it names the field that Slurm refused.
    """
    match error:
        case Rejected():
            text = f"{error.message} {error.suggestion or ''}".strip()
            field = REJECTED_FIELDS.get(error.code)
            if field == "gpus" and resources is not None and resources.gpus == 0:
                field = None  # the script's own options, or a combination of fields
            fields = [FieldError(f"resources.{field}", text)] if field else []
            return SlurmRejected(text, errors=fields)
        case HomeUnavailable():
            return HomeProblem(error.message)
        case PathRefused() | BadRequest():
            return InvalidInput(error.message)
        case Unreachable():
            return SlurmUnreachable(NOTHING_STARTED)
        case LauncherUnavailable() if not isinstance(error, NoFilesProgram):
            return LauncherProblem(
                "The portal could not act for you on the cluster, so nothing was started. Try "
                "again in a minute. If it happens again, contact your administrators."
            )
    return LauncherProblem(error.message)


def to_submission_error(
    context: AppContext, username: str, resources: Resources, error: SpawnerError
) -> PortalError:
    """Convert a submission failure, like `to_launch_error`. sbatch gives the same error for an
    account that is not the user's and for a user without any; they are distinguished here.
    """
    if not isinstance(error, Rejected) or error.code != INVALID_ACCOUNT:
        return to_launch_error(error, resources)
    if (
        not resources.account
        and context.accounting.associations is not None
        and not context.accounting.list_for_user(username)
    ):
        return SlurmRejected(NO_ACCOUNT)
    text = f"{_explain_account(resources)} {CHOOSE_ACCOUNT}"
    return SlurmRejected(text, errors=[FieldError("resources.account", text)])


def _explain_account(resources: Resources) -> str:
    account, partition = resources.account, resources.partition
    if account and partition:
        return f"You are not allowed to use the account {account} in the partition {partition}."
    if account:
        return f"You are not allowed to use the account {account}."
    if partition:
        return f"None of your Slurm accounts is allowed to use the partition {partition}."
    return "You don't have a Slurm account."


INVALID_ACCOUNT = "invalid-account"
CHOOSE_ACCOUNT = "Choose another account or partition, or ask your administrators for access."
REJECTED_FIELDS = {
    "invalid-partition": "partition",
    "partition-closed": "partition",
    "partition-forbidden": "partition",
    "invalid-qos": "qos",
    "too-much-memory": "memory_gb",
    "too-many-cpus": "cpus",
    "too-many-nodes": "nodes",
    "time-limit": "time_limit_minutes",
    "no-such-node": "gpus",
}
"""The field of `resources` for each of Slurm's error codes."""


def _build_lab_options(context: AppContext, session: Session, home: str) -> dict[str, Any]:
    """Return the fields of SessionLaunch with the kernels, JupyterLab's configuration and the apps
    that a session offers. Its own environment's kernel comes first, then the other available ones.

    Raises Rejected if no kernel is available.
    """
    kernel_context = KernelContext(
        runtime_dir=str(context.settings.runtime_dir),
        apptainer=str(context.settings.apptainer_path),
        home=home,
        node_dir=launch_files.node_dir(session.id, derive_secret(context, session.id)),
        logdir=session.logdir,
        gpus=resources_of(session).gpus > 0,
        pip_index_url=context.settings.pip_index_url,
    )
    offered = list_offered_environments(context, session.environment or "")
    if not offered:
        raise Rejected(
            "NoKernel",
            "No environment with a kernel is available now.",
            "Ask your administrators to check the catalog.",
        )
    return {
        "default_kernel": offered[0].name,
        "kernelspecs": {
            environment.name: kernelspec(environment, kernel_context) for environment in offered
        },
        "lab": lab_config.lab_files(offered, preferences.read(session.user.preferences).language),
        "server_config": lab_config.server_config(
            [environment.name for environment in offered], kernel_context.node_dir
        ),
        "apps": _build_apps(context, session, offered[0], kernel_context),
    }


def _build_apps(
    context: AppContext, session: Session, environment: Environment, kernel_context: KernelContext
) -> dict[str, Any]:
    """Return the apps that a session offers; they run in its own environment."""
    settings = context.settings
    apps = app.resolve_programs(context.catalog.apps.values(), settings.app_dir)
    if settings.app_dir is not None and any(each.program for each in apps):
        kernel_context = replace(kernel_context, app_dir=str(settings.app_dir))
    command = job_command(environment, kernel_context, app.list_variables(apps))
    origin = settings.notebook_origin(session.user.username) or settings.public_url
    return app.to_config(apps, environment, origin, command)


def list_offered_environments(context: AppContext, own: str) -> list[Environment]:
    """Return all available environments with a kernel, `own` first."""
    usable = [
        e
        for e in context.catalog.environments.values()
        if e.has_kernel and check_environment(context, e)[0]
    ]
    return sorted(usable, key=lambda item: (item.name != own, item.name))


async def _save_secret_hash(context: AppContext, row: Job, secret: str) -> None:
    def modify(job: Job) -> None:
        job.secret_hash = hash_token(secret)

    await update_row(context.db, type(row), row.id, modify)


async def _record_submission(context: AppContext, row: Job, job_id: int) -> None:
    def modify(job: Job) -> None:
        job.job_id = job_id
        job.submitted_at = job.submitted_at or utcnow()
        job.cluster = context.settings.cluster_name
        if job.state is JobState.SUBMITTING:
            job.state, job.reason = JobState.QUEUED, None

    log.info("submitted", kind=row.kind.value, job=row.id, slurm=job_id)
    await update_row(context.db, type(row), row.id, modify)
