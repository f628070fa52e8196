"""What `portal check --as NAME` finds out by acting as somebody: sudo and the launcher, and one
small job of theirs, which looks at a node. The job's folder is removed again; nothing else is left.
"""

import asyncio
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from portal.check_clocks import MOST_SKEW_S, skewed
from portal.finding import Finding
from portal.settings import Settings
from spawner.agent import Agents
from spawner.errors import HomeUnavailable, NotFound, SpawnerError
from spawner.model import JobSpec, Outcome, Resources, SlurmState
from spawner.sbatch import JOB_FOLDER
from spawner.scripts import quote
from spawner.slurm import Slurm
from spawner.sources import edition

MARK = "portal-check: "
JOB_S = 120.0
POLL_S = 0.5
MOST_BYTES = 256 * 1024
NODE_URL_ADVICE = (
    "Look whether nginx runs, whether the nodes can resolve and reach the host of node_url, and at"
    " firewalls between."
)
RUNTIME_ADVICE = (
    "Run `portal runtime`, with runtime_dir on a file system that all nodes have, and the nodes'"
    " own /usr/bin/python3 of the same version as here."
)
LAUNCHER_ADVICE = (
    "Run `portal system-files --install`, and look whether the account is in one of"
    " ldap_user_groups, has a uid of at least min_uid, and a home directory."
)


@dataclass(frozen=True)
class Look:
    """How the job went: what it printed, or why there is nothing."""

    text: str = ""
    problem: str | None = None
    advice: str = ""


async def as_somebody(settings: Settings, slurm: Slurm, name: str) -> list[Finding]:
    """All that needs somebody to be."""
    agents = Agents(
        settings.launcher_path, settings.sudo_path, slurm_timeout_s=settings.slurm_timeout_s
    )
    try:
        try:
            user = await agents.info(name)
        except SpawnerError as error:
            said = " ".join(f"{error.message} {error.stderr[:300]}".split())
            return [Finding(f"launcher as {name}", said, LAUNCHER_ADVICE)]
        found = await _job(settings, slurm, agents, name, user.home)
    finally:
        await agents.close()
    return [Finding(f"launcher as {name}"), *findings(settings, name, found)]


async def _job(settings: Settings, slurm: Slurm, agents: Agents, name: str, home: str) -> Look:
    job_uuid = str(uuid.uuid4())
    files = {"config.json": json.dumps(_wishes(settings))}
    resources = Resources(
        partition=settings.default_partition,
        memory_gb=0.25,
        time_limit_minutes=2,
        account=settings.default_account,
        qos=settings.default_qos,
    )
    script = _script(settings, f"{home}/{JOB_FOLDER}/{job_uuid}/config.json")
    spec = JobSpec(uuid=job_uuid, name="portal-check", resources=resources, script=script)
    try:
        job_id = await agents.submit(name, spec, files)
    except HomeUnavailable as error:
        advice = "Mount the home directories here, as on the nodes."
        return Look(problem=f"{home}: {error.message}", advice=advice)
    except SpawnerError as error:
        said = " ".join(f"{error.message} {error.stderr[:300]}".split())
        return Look(problem=f"no job can be submitted: {said}", advice=_submit_advice(name))
    try:
        try:
            return await _ended(slurm, agents, name, job_uuid, job_id)
        finally:
            await agents.forget(name, job_uuid)
    except SpawnerError as error:
        return Look(problem=f"job {job_id} was lost sight of: {error.message}", advice="Try again.")


def _script(settings: Settings, config: str) -> str:
    python = f"{settings.runtime_dir}/bin/python"
    return f"#!/bin/bash\nexec {quote(python)} -I -m spawner.node.look {quote(config)}\n"


def _wishes(settings: Settings) -> dict[str, Any]:
    folders = [settings.image_dir, settings.image_import_dir, settings.modules_init]
    return {
        "node_url": settings.node_url,
        "ca": settings.node_url_ca,
        "folders": [str(folder) for folder in folders if folder],
        "programs": [str(settings.apptainer_path)],
    }


def _submit_advice(name: str) -> str:
    return (
        f"Try as {name}: sbatch --wrap hostname. They need an account in Slurm (sacctmgr add user),"
        " and default_partition, default_account and default_qos must be ones that they may use."
    )


async def _ended(slurm: Slurm, agents: Agents, name: str, job_uuid: str, job_id: int) -> Look:
    """What the job printed, once it has ended; one that waits too long is cancelled."""
    until = time.monotonic() + JOB_S
    while True:
        job = next((job for job in await slurm.jobs() if job.job_id == job_id), None)
        if job is None or job.state is SlurmState.ENDED:
            break
        if time.monotonic() > until:
            await _cancel(slurm, job_id)
            why = f"still {job.slurm_state}" + (f" ({job.reason})" if job.reason else "")
            advice = "Look at `sinfo` and `squeue`; try again when there is room."
            return Look(problem=f"job {job_id} is {why} after {JOB_S:g} s", advice=advice)
        await asyncio.sleep(POLL_S)
    out, *_ = await agents.read(name, f"{job_uuid}/stdout.log", 0, MOST_BYTES)
    text = out.decode(errors="replace")
    if MARK in text:
        return Look(text)
    error, *_ = await agents.read(name, f"{job_uuid}/stderr.log", 0, MOST_BYTES)
    said = " ".join(error.decode(errors="replace").split())[-300:]
    failed = job is None or job.outcome is not Outcome.COMPLETED
    where = ",".join(job.nodes) if job and job.nodes else "its node"
    if said or failed:
        problem = f"the job failed on {where}: {said or 'it left no words'}"
        return Look(problem=problem, advice=RUNTIME_ADVICE)
    problem = f"the job ran on {where}, but what it wrote into {name}'s home isn't here"
    advice = "Home directories must be one and the same here and on the nodes."
    return Look(problem=problem, advice=advice)


async def _cancel(slurm: Slurm, job_id: int) -> None:
    try:
        await slurm.cancel(job_id)
    except NotFound:
        return


def findings(settings: Settings, name: str, found: Look) -> list[Finding]:
    """Pure. What the job's words mean."""
    what = f"job as {name}"
    if found.problem is not None:
        return [Finding(what, found.problem, found.advice)]
    try:
        seen = json.loads(found.text.partition(MARK)[2].partition("\n")[0])
        return [Finding(what), *_seen(settings, seen)]
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return [Finding(what, "what the job printed can't be read", RUNTIME_ADVICE)]


def _seen(settings: Settings, seen: Mapping[str, Any]) -> Iterator[Finding]:
    node = str(seen["node"])[:80]
    old = None
    if seen["edition"] != edition():
        old = f"{node} has other node programs in {settings.runtime_dir} than this portal"
    yield Finding("runtime on the nodes", old, RUNTIME_ADVICE if old else "")
    missing = [path for path, there in seen["folders"].items() if not there]
    problem = f"{node} can't read {', '.join(missing)}" if missing else None
    advice = "Share them at the same path with every node, readable by everybody."
    yield Finding("shared folders on the nodes", problem, advice if missing else "")
    gone = [program for program, version in seen["programs"].items() if version is None]
    problem = f"{node} can't run {', '.join(gone)}" if gone else None
    advice = "Install Apptainer on every node, or correct apptainer_path."
    yield Finding("Apptainer on the nodes", problem, advice if gone else "")
    yield _reaches(settings, node, "portal", seen["portal"])
    yield _reaches(settings, node, "hub", seen["hub"])
    for answer in (seen["portal"], seen["hub"]):
        if answer.get("date") is not None:
            yield skewed(node, float(answer["here"]) - float(answer["date"]), MOST_SKEW_S)
            return


def _reaches(settings: Settings, node: str, part: str, answer: Mapping[str, Any]) -> Finding:
    """The hub says its version to anybody; the portal that it doesn't know who asks."""
    what = f"{part} from the nodes"
    if "error" in answer:
        problem = f"{node} gets no answer from {settings.node_url}: {answer['error']}"
        advice = NODE_URL_ADVICE
        if "certificate" in problem.lower():
            advice = "Let node_url_ca_file name the CA, and node_url the name in the certificate."
        return Finding(what, problem, advice)
    status, kind = answer["status"], answer["type"]
    known = {"portal": status in {401, 403, 404} and "problem" in kind, "hub": status == 200}
    if known[part]:
        return Finding(what)
    problem = f"what answers {node} at {settings.node_url} doesn't lead to the {part}: {status}"
    return Finding(what, problem, f"Look whether the {part} runs, and whose port node_url names.")
