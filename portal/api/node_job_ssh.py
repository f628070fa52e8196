"""Routes that the programs for SSH in batch jobs call, each with its job's secret."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import Field, StrictBool
from starlette.requests import HTTPConnection

from portal.api.node import CertificateIn, CertificateOut, Hello, Report, WaitS
from portal.models import BatchJob
from portal.services.jobs import ssh as job_ssh
from portal.services.sessions import ssh
from portal.web.bearer import bearer
from portal.web.dependencies import GUARDS, ContextDep
from spawner.names import UUID

router = APIRouter(prefix="/node/jobs/{batch_job_id}", include_in_schema=False)


async def job_program(
    batch_job_id: str, connection: HTTPConnection, context: ContextDep
) -> BatchJob:
    """Return the job of the calling program, authenticated by its secret."""
    return await job_ssh.authenticate(context, batch_job_id, bearer(connection))


GUARDS.update({job_program})
OwnJob = Annotated[BatchJob, Depends(job_program)]


RunId = Annotated[str, Field(pattern=rf"^{UUID.pattern}$")]
"""The id of this start of the program; the portal ignores all but the latest."""


class JobHello(Hello):
    """A report that the program listens. `tls`: it has a certificate from an earlier report."""

    run_id: RunId
    tls: StrictBool = False


class JobCertificateIn(CertificateIn):
    """A renewal request from a run of the program."""

    run_id: RunId


class JobReport(Report):
    """The reason why a run of the program ends."""

    run_id: RunId


@router.post("/hello")
async def job_hello(body: JobHello, job: OwnJob, context: ContextDep) -> CertificateOut:
    """Record the address of the job's program; repeated every few seconds. 410: end; 409: ask
    again, also for a run that is not the current one.
    """
    certificate = await job_ssh.set_address(
        context, job, body.run_id, body.port, body.csr, is_tls=body.tls
    )
    return CertificateOut(certificate=certificate)


@router.post("/certificate")
async def certify_job(body: JobCertificateIn, job: OwnJob, context: ContextDep) -> CertificateOut:
    """Issue another certificate."""
    certificate = await job_ssh.certify(context, job, body.run_id, body.csr)
    return CertificateOut(certificate=certificate)


@router.get("/ssh/{token_id}", status_code=204)
async def job_ssh_admitted(
    token_id: str, job: OwnJob, context: ContextDep, wait_s: WaitS = 20.0
) -> Response:
    """Return 204 after a while: keep this token's connections and ask again; 410: close them."""
    await ssh.wait_while_admitted(context, job, token_id, wait_s)
    return Response(status_code=204)


@router.post("/report", status_code=204)
async def job_report(body: JobReport, job: OwnJob, context: ContextDep) -> Response:
    """Record the reason why the program ends."""
    job_ssh.report(context, job, body.run_id, body.event, body.message)
    return Response(status_code=204)
