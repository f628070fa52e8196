"""Routes for machines: liveness, readiness and metrics. They expose no data of users."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

import structlog
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from sqlalchemy import func, select

from portal.context import AppContext
from portal.db import utcnow
from portal.health.result import ComponentState
from portal.health.status import SystemStatus
from portal.metrics import CONTENT_TYPE, Metrics
from portal.models import Job, JobState
from portal.web.dependencies import Anyone, MetricsReader

log = structlog.get_logger(__name__)
router = APIRouter(tags=["health"])

CHECK_TIMEOUT_S = 5.0
REMEMBER_S = 5.0
Check = Callable[[], Awaitable[object]]
Verdict = Literal["ok", "failed"]


class Health(BaseModel):
    status: Literal["ok"]


class Readiness(BaseModel):
    """The readiness of the portal.

    `degraded`: the portal serves, but a part that some operations need is not working. `standby`:
    another portal on the same database is the leader, and this one forwards requests to it.
    """

    status: Literal["ok", "degraded", "failed", "standby"]
    checks: dict[str, Verdict]


@dataclass
class Checks:
    """Named checks, each of which raises an error when its part does not work; run at most every 5
    s.
    """

    by_name: dict[str, Check] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _last: tuple[float, dict[str, Verdict]] | None = None

    async def results(self) -> dict[str, Verdict]:
        async with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > REMEMBER_S:
                names = list(self.by_name)
                results = await asyncio.gather(*(self._run_check(name) for name in names))
                self._last = (time.monotonic(), dict(zip(names, results, strict=True)))
            return self._last[1]

    async def _run_check(self, name: str) -> Verdict:
        """Run one check and return its verdict. `gather` returns its error as a value."""
        check = asyncio.wait_for(self.by_name[name](), CHECK_TIMEOUT_S)
        (error,) = await asyncio.gather(check, return_exceptions=True)
        if not isinstance(error, BaseException):
            return "ok"
        log.warning("check failed", check=name, cause=f"{type(error).__name__}: {error}"[:300])
        return "failed"


@router.get("/healthz", dependencies=[Anyone])
async def healthz() -> Health:
    """Return ok: the process responds."""
    return Health(status="ok")


@router.get("/readyz", dependencies=[Anyone], responses={503: {"model": Readiness}})
async def readyz(request: Request, response: Response) -> Readiness:
    """Return whether the portal's dependencies work: 503 only when it cannot serve at all."""
    response.headers["Cache-Control"] = "no-store"
    if not request.app.state.leader.leads.is_set():
        return Readiness(status="standby", checks={})
    checks: Checks = request.app.state.checks
    results = await checks.results()
    if results.get("database") == "failed":
        response.status_code = 503
        return Readiness(status="failed", checks=results)
    healthy = all(verdict == "ok" for verdict in results.values())
    return Readiness(status="ok" if healthy else "degraded", checks=results)


@router.get("/metrics", dependencies=[MetricsReader], response_class=Response)
async def metrics(request: Request) -> Response:
    """Return the metrics in Prometheus' text format.

    No metric is about a single user. A standby portal exposes only its own metrics, not the
    leader's.
    """
    exported: Metrics = request.app.state.metrics
    if not request.app.state.leader.leads.is_set():
        return Response(exported.render([]), media_type=CONTENT_TYPE)
    context: AppContext = request.app.state.context
    counts = select(Job.kind, Job.state, func.count()).where(Job.state != JobState.ENDED)
    async with context.db.session() as db:
        rows = (await db.execute(counts.group_by(Job.kind, Job.state))).all()
    live = [(kind.value, state.value, count) for kind, state, count in rows]
    status: SystemStatus = request.app.state.status
    known = [item for item in status.items if item.state is not ComponentState.UNKNOWN]
    healthy = [(item.part.value, item.name, item.state is ComponentState.OK) for item in known]
    stale = context.watcher.stale_since
    stale_s = (utcnow() - stale).total_seconds() if stale else 0.0
    return Response(exported.render(live, healthy, stale_s), media_type=CONTENT_TYPE)
