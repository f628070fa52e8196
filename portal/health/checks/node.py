"""Checks that run as a user, for `portal check --as NAME`: sudo, the launcher, and a small job that
inspects a node.

The job's folder is removed again; nothing else remains.
"""

import asyncio
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from portal.config.settings import Settings
from portal.context import AppContext
from portal.health.checks.clocks import check_skew
from portal.health.result import CheckResult, failing
from spawner.catalog.launch_files import quote
from spawner.errors import HomeUnavailable, JobNotFound, SpawnerError
from spawner.launcher.folders import JOBS_FOLDER
from spawner.launcher.pool import LauncherPool
from spawner.package_hash import hash_package
from spawner.slurm.client import Slurm
from spawner.slurm.model import JobInfo, JobPhase, JobSpec, Outcome, Resources

MARK = "portal-check: "
JOB_S = 120.0
POLL_S = 0.5
MAX_BYTES = 256 * 1024
NODE_URL_SUGGESTION = (
    "Check that nginx is running, that the nodes can resolve and reach the host in node_url, and "
    "that no firewall blocks them."
)
RUNTIME_SUGGESTION = (
    "Run `portal runtime`, with runtime_dir on a file system that all nodes mount, and with the "
    "same version of /usr/bin/python3 on the nodes as here."
)
LAUNCHER_SUGGESTION = (
    "Run `portal system-files --install`, and check that the account is in one of "
    "ldap_user_groups, and has a uid of at least min_uid and a home directory."
)


@dataclass(frozen=True)
class NodeReport:
    """The result of the job: its output, or the reason why there is none."""

    text: str = ""
    problem: str | None = None
    suggestion: str = ""


async def check_as_user(context: AppContext, name: str) -> list[CheckResult]:
    """Run all checks that need to run as a user."""
    settings = context.settings
    launchers = LauncherPool(
        settings.launcher_path, settings.sudo_path, slurm_timeout_s=settings.slurm_timeout_s
    )
    try:
        try:
            user = await launchers.info(name)
        except SpawnerError as error:
            message = " ".join(f"{error.message} {error.stderr[:300]}".split())
            return [failing(message, LAUNCHER_SUGGESTION, name=f"launcher as {name}")]
        report = await _run_job(settings, context.slurm, launchers, name, user.home)
    finally:
        await launchers.close()
    return [CheckResult(f"launcher as {name}"), *judge_report(settings, name, report)]


async def _run_job(
    settings: Settings, slurm: Slurm, launchers: LauncherPool, name: str, home: str
) -> NodeReport:
    job_uuid = str(uuid.uuid4())
    files = {"config.json": json.dumps(_build_config(settings))}
    resources = Resources(
        partition=settings.default_partition,
        memory_gb=0.25,
        time_limit_minutes=2,
        account=settings.default_account,
        qos=settings.default_qos,
    )
    script = _build_script(settings, f"{home}/{JOBS_FOLDER}/{job_uuid}/config.json")
    spec = JobSpec(uuid=job_uuid, name="portal-check", resources=resources, script=script)
    try:
        job_id = await launchers.submit(name, spec, files)
    except HomeUnavailable as error:
        suggestion = "Mount the home directories on this machine as on the nodes."
        return NodeReport(problem=f"{home}: {error.message}", suggestion=suggestion)
    except SpawnerError as error:
        message = " ".join(f"{error.message} {error.stderr[:300]}".split())
        return NodeReport(
            problem=f"job submission failed: {message}", suggestion=_submit_suggestion(name)
        )
    try:
        try:
            return await _wait_for_output(slurm, launchers, name, job_uuid, job_id)
        finally:
            await launchers.delete_job_folder(name, job_uuid)
    except SpawnerError as error:
        return NodeReport(
            problem=f"lost track of job {job_id}: {error.message}", suggestion="Try again."
        )


def _build_script(settings: Settings, config: str) -> str:
    python = f"{settings.runtime_dir}/bin/python"
    return f"#!/bin/bash\nexec {quote(python)} -I -m spawner.node.node_report {quote(config)}\n"


def _build_config(settings: Settings) -> dict[str, Any]:
    folders = [settings.image_dir, settings.image_import_dir, settings.modules_init]
    if settings.app_dir is not None and settings.app_dir.is_dir():  # its programs are optional
        folders.append(settings.app_dir)
    return {
        "node_url": settings.node_url,
        "ca": settings.node_url_ca,
        "folders": [str(folder) for folder in folders if folder],
        "programs": [str(settings.apptainer_path)],
    }


def _submit_suggestion(name: str) -> str:
    return (
        f"As {name}, try: sbatch --wrap hostname. The user needs a Slurm account (sacctmgr add "
        "user), and must be allowed to use default_partition, default_account and default_qos."
    )


async def _wait_for_output(
    slurm: Slurm, launchers: LauncherPool, name: str, job_uuid: str, job_id: int
) -> NodeReport:
    """Return the job's output, once it has ended; a job that is pending for too long is
    cancelled.
    """
    until = time.monotonic() + JOB_S
    while True:
        shown = await slurm.find(job_id)
        job = next((job for job in shown if job.uuid == job_uuid), None)
        if job is None or job.phase is JobPhase.ENDED:
            break
        if time.monotonic() > until:
            await _cancel(slurm, job)
            why = f"still {job.slurm_state}" + (f" ({job.reason})" if job.reason else "")
            suggestion = "Check `sinfo` and `squeue`, and try again when resources are free."
            return NodeReport(
                problem=f"job {job_id} is {why} after {JOB_S:g} s", suggestion=suggestion
            )
        await asyncio.sleep(POLL_S)
    out, *_ = await launchers.read(name, f"{job_uuid}/stdout.log", 0, MAX_BYTES)
    text = out.decode(errors="replace")
    if MARK in text:
        return NodeReport(text)
    error, *_ = await launchers.read(name, f"{job_uuid}/stderr.log", 0, MAX_BYTES)
    message = " ".join(error.decode(errors="replace").split())[-300:]
    failed = job is None or job.outcome is not Outcome.COMPLETED
    where = ",".join(job.nodes) if job and job.nodes else "its node"
    if message or failed:
        problem = f"the job failed on {where}: {message or 'it printed no error'}"
        return NodeReport(problem=problem, suggestion=RUNTIME_SUGGESTION)
    problem = (
        f"the job ran on {where}, but the files it wrote to {name}'s home directory are not "
        "visible here"
    )
    suggestion = "This machine and the nodes must mount the same home directories."
    return NodeReport(problem=problem, suggestion=suggestion)


async def _cancel(slurm: Slurm, job: JobInfo) -> None:
    try:
        await slurm.cancel(job.job_id, job.user)
    except JobNotFound:
        return


def judge_report(settings: Settings, name: str, report: NodeReport) -> list[CheckResult]:
    """Interpret the job's output. Pure."""
    what = f"job as {name}"
    if report.problem is not None:
        return [failing(report.problem, report.suggestion, name=what)]
    try:
        seen = json.loads(report.text.partition(MARK)[2].partition("\n")[0])
        return [CheckResult(what), *_interpret(settings, seen)]
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return [failing("the job's output can't be parsed", RUNTIME_SUGGESTION, name=what)]


def _interpret(settings: Settings, seen: Mapping[str, Any]) -> Iterator[CheckResult]:
    node = str(seen["node"])[:80]
    old = None
    # `edition` is a hash of the sources of the package `spawner`, here and on the node.
    if seen["edition"] != hash_package():
        old = (
            f"{node} has a different version of the node programs in {settings.runtime_dir} "
            "than this portal"
        )
    yield _judge("runtime on the nodes", old, RUNTIME_SUGGESTION)
    missing = [path for path, there in seen["folders"].items() if not there]
    problem = f"{node} can't read {', '.join(missing)}" if missing else None
    suggestion = "Share them with every node at the same path, readable by all users."
    yield _judge("shared folders on the nodes", problem, suggestion)
    gone = [program for program, version in seen["programs"].items() if version is None]
    problem = f"{node} can't run {', '.join(gone)}" if gone else None
    suggestion = "Install Apptainer on every node, or correct apptainer_path."
    yield _judge("Apptainer on the nodes", problem, suggestion)
    yield _check_answer(settings, node, "portal", seen["portal"])
    yield _check_answer(settings, node, "hub", seen["hub"])
    for answer in (seen["portal"], seen["hub"]):
        if answer.get("date") is not None:
            clock = check_skew(float(answer["here"]) - float(answer["date"]))
            yield replace(clock, name=f"clock of {node}")
            return


def _judge(what: str, problem: str | None, suggestion: str) -> CheckResult:
    return failing(problem, suggestion, name=what) if problem else CheckResult(what)


def _check_answer(
    settings: Settings, node: str, part: str, answer: Mapping[str, Any]
) -> CheckResult:
    """Check the answer that a node got.

    The hub reports its version to any client; the portal refuses an unauthenticated one.
    """
    what = f"{part} from the nodes"
    if "error" in answer:
        problem = f"{node} gets no answer from {settings.node_url}: {answer['error']}"
        suggestion = NODE_URL_SUGGESTION
        if "certificate" in problem.lower():
            suggestion = (
                "Set node_url_ca_file to the CA, and use the name in the certificate in node_url."
            )
        return failing(problem, suggestion, name=what)
    status, kind = answer["status"], answer["type"]
    known = {"portal": status in {401, 403, 404} and "problem" in kind, "hub": status == 200}
    if known[part]:
        return CheckResult(what)
    problem = (
        f"requests from {node} to {settings.node_url} do not reach the {part}: status {status}"
    )
    suggestion = f"Check that the {part} is running, and that node_url has the right port."
    return failing(problem, suggestion, name=what)
