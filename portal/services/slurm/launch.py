"""From a row to a job in Slurm: render what the row says, and submit it as its owner.

Used by a request that starts something and by the reconcile loop that repeats it after a crash; the
row alone decides what is submitted, so both come to the same.
"""

import hashlib
import posixpath
import secrets
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import structlog

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
from portal.parts import Parts
from portal.services.catalog.available import availability
from portal.services.people import preferences
from portal.services.store import change
from spawner import lab, scripts
from spawner.catalog import Environment
from spawner.errors import (
    BadRequest,
    HomeUnavailable,
    LauncherUnavailable,
    PathRefused,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.kernels import KernelPlace, kernelspec
from spawner.model import JobSpec, Resources

log = structlog.get_logger(__name__)

MAX_PATH = 4000
SURELY_AWAY = timedelta(seconds=20)
NOTHING_STARTED = "Slurm does not answer, so nothing was started. Please try again in a minute."


def hashed(secret: str) -> str:
    """How a node program's secret is kept: SHA-256, for it is random and long."""
    return hashlib.sha256(secret.encode()).hexdigest()


def session_logdir(home: str, name: str, session_id: str) -> str:
    """Where PORTAL_LOGDIR points in a session."""
    return f"{home}/portal/runs/{name}-{session_id[:8]}"


def checked_path(field: str, path: str, home: str) -> str:
    """A whole, normal path, where ~ is the owner's home; what may be done there is decided by the
    owner's own rights. Raises InvalidInput."""
    if path == "~" or path.startswith("~/"):
        path = home.rstrip("/") + path[1:]
    if not path.startswith("/") or not path.isprintable() or len(path) > MAX_PATH:
        text = "Give a folder's whole path, beginning with “/” or “~/”."
        raise InvalidInput(text, errors=[FieldError(field, text)])
    return posixpath.normpath(path)


def resources_of(row: Job) -> Resources:
    return Resources(**row.resources)


def kept(resources: Resources) -> dict[str, Any]:
    """Resources as a row keeps them."""
    return asdict(resources)


async def submit_session(parts: Parts, session: Session) -> None:
    """Submit a session's job; raises the spawner's errors.

    A new secret is made for every try: only its hash is kept, so an earlier try's is lost.
    """
    secret = secrets.token_urlsafe(32)
    user = await parts.agents.info(session.user.username)
    launch = scripts.SessionLaunch(
        uuid=session.id,
        secret=secret,
        portal_url=parts.settings.node_url,
        portal_ca=parts.settings.node_url_ca,
        tls=parts.settings.node_tls,
        runtime_dir=str(parts.settings.runtime_dir),
        username=session.user.username,
        home=user.home,
        name=session.name,
        logdir=session.logdir,
        **_kernels(parts, session, user.home),
    )
    await _remember(parts, session, secret)
    spec = JobSpec(
        uuid=session.id,
        name=f"portal-{session.name}",
        resources=resources_of(session),
        script=scripts.session_script(launch),
    )
    await parts.fence()
    job_id = await parts.agents.submit(user.username, spec, scripts.session_files(launch))
    await _submitted(parts, session, job_id)


async def submit_job(parts: Parts, job: BatchJob) -> None:
    """Submit a batch job just as its row has it; raises the spawner's errors."""
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
    await parts.fence()
    job_id = await parts.agents.submit(job.user.username, spec, job.files)
    await _submitted(parts, job, job_id)


async def submit_tensorboard(parts: Parts, row: TensorboardJob, board: Tensorboard) -> None:
    """Submit a TensorBoard as a job of its own, in the service partition."""
    user = await parts.agents.info(row.user.username)
    launch = tensorboard_launch(parts, board, user.username, user.home, uuid=row.id)
    spec = JobSpec(
        uuid=row.id,
        name="portal-tensorboard",
        resources=resources_of(row),
        script=scripts.tensorboard_script(launch),
    )
    await parts.fence()
    job_id = await parts.agents.submit(user.username, spec, scripts.tensorboard_files(launch))
    await _submitted(parts, row, job_id)


async def step_tensorboard(parts: Parts, board: Tensorboard) -> None:
    """Start a TensorBoard inside its parent's own allocation."""
    parent = board.parent
    if parent.job_id is None or parent.node is None:
        raise ValueError("only a job that runs somewhere can take a step")
    user = await parts.agents.info(board.user.username)
    launch = tensorboard_launch(parts, board, user.username, user.home, uuid=board.run_id)
    await parts.fence()
    await parts.agents.step(
        user.username,
        job_id=parent.job_id,
        node=parent.node,
        uuid=board.run_id,
        files=scripts.tensorboard_files(launch),
        script=scripts.tensorboard_script(launch),
    )


def tensorboard_launch(
    parts: Parts, board: Tensorboard, username: str, home: str, *, uuid: str
) -> scripts.TensorboardLaunch:
    """What one run of a TensorBoard needs to know; each run has a folder of its own, `uuid`."""
    return scripts.TensorboardLaunch(
        uuid=uuid,
        tensorboard_id=board.id,
        secret=board.secret,
        portal_url=parts.settings.node_url,
        portal_ca=parts.settings.node_url_ca,
        tls=parts.settings.node_tls,
        runtime_dir=str(parts.settings.runtime_dir),
        username=username,
        home=home,
        logdir=board.logdir,
    )


def check_slurm_answers(parts: Parts) -> None:
    """Raises SlurmUnreachable where trying would only take its time to come to the same."""
    stale_since = parts.watcher.stale_since
    if stale_since is not None and utcnow() - stale_since > SURELY_AWAY:
        raise SlurmUnreachable(NOTHING_STARTED)


def explained(error: SpawnerError) -> PortalError:
    """A failure to launch, as the answer to the request that wanted it."""
    match error:
        case Rejected():
            text = f"{error.message} {error.advice or ''}".strip()
            field = REJECTED_FIELDS.get(error.code)
            fields = [FieldError(f"resources.{field}", text)] if field else []
            return SlurmRejected(text, errors=fields)
        case HomeUnavailable():
            return HomeProblem(error.message)
        case PathRefused() | BadRequest():
            return InvalidInput(error.message)
        case Unreachable():
            return SlurmUnreachable(NOTHING_STARTED)
        case LauncherUnavailable():
            return LauncherProblem(
                "The portal could not act for you on the cluster, so nothing was started. "
                "Please try again in a minute; if it happens twice, tell the admins."
            )
    return LauncherProblem(error.message)


REJECTED_FIELDS = {
    "invalid-account": "account",
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
"""Slurm's refusal → the field of `resources` that it is about."""


def _kernels(parts: Parts, session: Session, home: str) -> dict[str, Any]:
    """The kernels a session offers: its own environment's first, then the others that are here."""
    place = KernelPlace(
        runtime_dir=str(parts.settings.runtime_dir),
        apptainer=str(parts.settings.apptainer_path),
        home=home,
        node_dir=scripts.node_dir(session.id),
        logdir=session.logdir,
        gpus=resources_of(session).gpus > 0,
    )
    offered = offered_environments(parts, session.environment or "")
    if not offered:
        raise Rejected(
            "NoKernel",
            "No environment with a kernel can be used here now.",
            "Ask your administrators to look at the catalog.",
        )
    return {
        "default_kernel": offered[0].name,
        "kernelspecs": {found.name: kernelspec(found, place) for found in offered},
        "lab": lab.lab_files(offered, preferences.read(session.user.preferences).language),
        "server_config": lab.server_config([found.name for found in offered], place.node_dir),
    }


def offered_environments(parts: Parts, own: str) -> list[Environment]:
    """Every available environment with a kernel, `own` first."""
    usable = [
        e for e in parts.catalog.environments.values() if e.kernel and availability(parts, e)[0]
    ]
    return sorted(usable, key=lambda found: (found.name != own, found.name))


async def _remember(parts: Parts, row: Job, secret: str) -> None:
    def apply(job: Job) -> None:
        job.secret_hash = hashed(secret)

    await change(parts.db, type(row), row.id, apply)


async def _submitted(parts: Parts, row: Job, job_id: int) -> None:
    def apply(job: Job) -> None:
        job.job_id = job_id
        job.submitted_at = job.submitted_at or utcnow()
        job.cluster = parts.settings.cluster_name
        if job.state is JobState.SUBMITTING:
            job.state, job.reason = JobState.QUEUED, None

    log.info("submitted", kind=row.kind.value, job=row.id, slurm=job_id)
    await change(parts.db, type(row), row.id, apply)
