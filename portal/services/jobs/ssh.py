"""SSH connections to running batch jobs: which the gate admits, and the program that serves them.

The rules are those of sessions (services/sessions/ssh.py). A job has no program that listens: the
first connection starts one, as a step in the job's allocation, which ends after a while without
connections.
"""

import asyncio
import hmac

import structlog
from sqlalchemy import select

from portal import errors
from portal.background.notifier import Subscription
from portal.context import AppContext
from portal.models import BatchJob, JobState, User, Wanted, new_id
from portal.services.jobs.ssh_programs import START_S, JobSshProgram
from portal.services.sessions import nodes, ssh
from portal.services.sessions.gate import Decision, GateAnswer
from portal.services.sessions.ssh import SshAdmission
from portal.services.slurm import certificates, launch
from portal.services.slurm.placement import find_running_job, get_node_address
from spawner.errors import LauncherUnavailable, SpawnerError, Unreachable
from spawner.names import remove_invisible
from spawner.ssh.host_key import render_public_key

log = structlog.get_logger(__name__)

NO_TASKS = "SSH can't reach the tasks of an array."
STARTING = "SSH is starting in this job. Connect again in a few seconds."
LOG_S = 5.0
LOG_LINES, LOG_CHARS = 5, 400
NOT_STARTED = "SSH could not start in this job in time. Connect again in a minute."
ANOTHER_PROGRAM = "Another program serves SSH in this job now."
READY = "SSH is ready in this job now. Connect again."


async def admit(
    context: AppContext, token: str, owner: str, number: str, public_key: str, *, start: bool
) -> SshAdmission:
    """Decide about one connection to the job with Slurm's `number`, as `ssh.admit` for a session.

    With `start`, start the job's program if there is none, and wait for it. Raises Conflict, with
    the reason, if it can't be reached, and the errors of `ssh.admit` and `find_running`.
    """
    caller = await ssh.authenticate(context, token)
    if caller.user.username != owner:
        raise errors.Forbidden("This job belongs to another user.")
    job = await find_running(context, caller.user, int(number))
    granted = ssh.build_grant(caller, public_key)
    program = await _reach(context, job, start=start)
    decision = Decision(GateAnswer.ENTER, program.host, program.port, program.tls_name)
    log.info("SSH connection admitted", user=owner, job=job.id, credential=caller.name)
    secret = launch.derive_job_ssh_secret(context, job)
    return ssh.to_admission(decision, granted, secret, ssh.build_path(owner, number))


async def find_running(context: AppContext, user: User, job_id: int) -> BatchJob:
    """Return the user's running job with this Slurm job ID. Raises NotFound, NotRunning,
    Conflict.
    """
    query = (
        select(BatchJob)
        .where(BatchJob.user_id == user.id, BatchJob.job_id == job_id)
        .order_by(BatchJob.created_at.desc())  # slurmctld may have reused the ID
        .limit(1)
    )
    async with context.db.session() as db:
        job = (await db.scalars(query)).first()
    if job is None:
        raise errors.NotFound(f"You have no job {job_id}.")
    check_reachable(job)
    return job


def check_reachable(job: BatchJob) -> None:
    """Raise NotRunning or Conflict for a job that SSH can't reach."""
    if job.array_size is not None:
        raise errors.Conflict(NO_TASKS)
    if job.state is not JobState.RUNNING or job.wanted is not Wanted.RUN or job.node is None:
        raise errors.NotRunning("The job isn't running.")


def get_host_key(context: AppContext, job: BatchJob) -> str:
    """Return the public key that the job's sshd shows, as in known_hosts."""
    return render_public_key(launch.derive_job_ssh_secret(context, job))


async def _reach(context: AppContext, job: BatchJob, *, start: bool) -> JobSshProgram:
    """Return the job's program, with its address. Raises Conflict with the reason."""
    programs = context.job_ssh
    if start and programs.find(job.id, job.node) is None:
        async with context.notifier.listen(job.id) as listener:
            await _start_and_wait(context, job, listener)
    if (found := programs.find(job.id, job.node)) is not None:
        return found
    raise errors.Conflict(programs.problem(job.id) or STARTING)


async def _start_and_wait(context: AppContext, job: BatchJob, listener: Subscription) -> None:
    """Start the job's program; return once it has reported, has failed, or takes too long."""
    programs = context.job_ssh
    deadline = asyncio.get_running_loop().time() + START_S

    async def begin(run_id: str, earlier: str | None) -> None:
        await _begin(context, job, run_id, earlier)

    await programs.start(job.id, new_id(), begin)
    while programs.find(job.id, job.node) is None and programs.problem(job.id) is None:
        left_s = deadline - asyncio.get_running_loop().time()
        if left_s <= 0 or not await listener.wait(left_s):
            await _explain_silence(context, job)
            return


async def _explain_silence(context: AppContext, job: BatchJob) -> None:
    """Record the end of the log of a program that has not reported in time."""
    run_id = context.job_ssh.current_run(job.id)
    if run_id is not None and (lines := await _read_log(context, job, run_id)):
        log.warning("SSH in a job does not report", job=job.id, run=run_id, log=lines)
        context.job_ssh.explain(job.id, run_id, f"{STARTING} Its log ends with: {lines}")


async def _begin(context: AppContext, job: BatchJob, run_id: str, earlier: str | None) -> None:
    """Start a run of the job's program, after the end of an earlier one; a refusal becomes its
    problem.
    """
    programs = context.job_ssh
    try:
        async with asyncio.timeout(START_S):
            if earlier is not None:
                await _end(context, job, earlier)
            programs.expect(job.id, run_id)
            await launch.step_job_ssh(context, job, run_id)
    except TimeoutError:
        log.warning("the start of SSH in a job takes too long", job=job.id, run=run_id)
        programs.remove(job.id, run_id, NOT_STARTED, may_live=True)
    except SpawnerError as error:
        lines = to_last_lines(error.stderr)
        log.warning("SSH can't start in a job", job=job.id, error=error.message, log=lines)
        may_live = isinstance(error, (LauncherUnavailable, Unreachable))
        problem = f"SSH could not start in this job. {error.message}"
        if lines:
            problem = f"{problem} Its log ends with: {lines}"
        programs.remove(job.id, run_id, problem, may_live=may_live)


async def _end(context: AppContext, job: BatchJob, run_id: str) -> None:
    """End a run that may live, and delete its folder. Raises the spawner's errors."""
    await launch.end_job_ssh(context, job, run_id)
    lines = await _read_log(context, job, run_id)
    log.info("an earlier program for SSH in a job has ended", job=job.id, run=run_id, log=lines)
    try:
        await context.launchers.delete_job_folder(job.user.username, run_id)
    except SpawnerError as error:  # over NFS a program that is ending keeps its log there
        log.info("the folder of SSH in a job stays", job=job.id, run=run_id, error=error.message)


async def _read_log(context: AppContext, job: BatchJob, run_id: str) -> str:
    """Return the last lines of a run's log; none if it can't be read."""
    try:
        async with asyncio.timeout(LOG_S):
            return to_last_lines(await launch.read_job_ssh_log(context, job, run_id))
    except (SpawnerError, TimeoutError) as error:
        log.info("the log of SSH in a job can't be read", job=job.id, run=run_id, error=str(error))
        return ""


def to_last_lines(text: str) -> str:
    """Return the end of a log as one bounded line: it may contain anything. Pure."""
    lines = [remove_invisible(line).strip() for line in text.splitlines()]
    return " / ".join([line for line in lines if line][-LOG_LINES:])[-LOG_CHARS:]


# --- requests of the program ----------------------------------------------------------------------


async def authenticate(context: AppContext, batch_job_id: str, secret: str) -> BatchJob:
    """Return the job whose program has this secret. Raises LoginRequired without the reason."""
    async with context.db.session() as db:
        job = await db.get(BatchJob, batch_job_id)
    expected = launch.derive_job_ssh_secret(context, job) if job is not None else ""
    if job is None or not hmac.compare_digest(expected.encode(), secret.encode()):
        raise errors.LoginRequired("This address requires the job's secret.")
    return job


async def set_address(
    context: AppContext, job: BatchJob, run_id: str, port: int, csr: str | None, *, is_tls: bool
) -> str | None:
    """Record that this run of the job's program listens on `port`; return the certificate for its
    signing request `csr`, None without one.

    `is_tls`: it has a certificate from an earlier call. Its host is taken from Slurm. Raises
    Conflict until Slurm reports where the job runs, and for a run that is not the current one; such
    a program ends once its connections have ended. Raises Gone for a job in which nothing should be
    started.
    """
    nodes.check_wanted(job)
    if not context.settings.session_ssh or job.user.disabled_at is not None:
        raise errors.Gone
    info = await find_running_job(context, job)
    _check_current(context, job, run_id)
    name = certificates.derive_name(job)
    certificate = certificates.issue_first(context, name, csr, info)
    tls_name = name if is_tls or certificate is not None else None
    program = JobSshProgram(info.nodes[0], get_node_address(context, info), port, tls_name)
    if context.job_ssh.register(job.id, run_id, program):
        context.notifier.notify(job.id)
    return certificate


async def certify(context: AppContext, job: BatchJob, run_id: str, csr: str) -> str:
    """Return a certificate to replace one that expires soon.

    Raises Gone, Conflict, InvalidInput, Unavailable.
    """
    nodes.check_wanted(job)
    info = await find_running_job(context, job)
    _check_current(context, job, run_id)
    return certificates.sign(context, certificates.derive_name(job), csr, info)


def report(context: AppContext, job: BatchJob, run_id: str, event: str, message: str) -> None:
    """Record that a run of the program ends; nothing changes if another run is current.

    The message is the user's own, and shown to the owner only.
    """
    message = remove_invisible(message)
    log.info("node program reports", job=job.id, run=run_id, event_=event, message=message[:200])
    if context.job_ssh.remove(job.id, run_id, message if event == "failed" else None):
        context.notifier.notify(job.id)


def _check_current(context: AppContext, job: BatchJob, run_id: str) -> None:
    if not context.job_ssh.is_current(job.id, run_id):
        raise errors.Conflict(ANOTHER_PROGRAM)
