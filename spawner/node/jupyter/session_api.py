"""API for JupyterLab's page about its session, and the server's proof to the portal.

The addresses are `…/portal/session` and `…/portal/proof`.

The server forwards requests to the portal with the session's secret, which stays here: so the page
needs no login at the portal, and JupyterLab may be on another host than the portal's pages. Polling
by the page does not count as activity in the session.
"""

from __future__ import annotations

import json
import time
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

from spawner.node.jupyter.session_sources import (
    NO_PORTAL,
    SessionSources,
    to_job_page_error,
    to_page_error,
    to_server_path,
)
from spawner.node.jupyter.signed import SignedHandler
from spawner.node.portal_client import PortalRequestError

SOURCES_SETTING = "portal_session_sources"
PROOF = r"/portal/proof"
FACTS = r"/portal/session"
KEEP = r"/portal/session/keep"
EXTEND = r"/portal/session/extend"
TENSORBOARD = r"/portal/session/tensorboard"
USAGE = r"/portal/session/usage"
JOBS = r"/portal/session/jobs"
JOB_ID = r"([0-9a-f-]{36})"
JOB_LOG = rf"{JOBS}/{JOB_ID}/log"
JOB_CANCEL = rf"{JOBS}/{JOB_ID}/cancel"


class PortalHandler(APIHandler):  # type: ignore[misc]
    """Base class: access to the session's data, and error handling."""

    describe_error = staticmethod(to_page_error)
    """Returns status and message for the page."""

    @property
    def sources(self) -> SessionSources:
        """Return the data sources from the server's settings, stored there by server.py."""
        sources: SessionSources = self.settings[SOURCES_SETTING]
        return sources

    def send_json(self, value: dict[str, Any], status: int = 200) -> None:
        """Send an answer that must not be cached."""
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(value))

    async def pass_on(self, method: str, action: str, body: dict[str, Any] | None = None) -> None:
        """Forward a request to the portal, and send its answer."""
        try:
            response = await self.sources.ask(method, action, body)
        except PortalRequestError as error:
            self.log.warning("%s", error)
            self.send_json({"message": NO_PORTAL}, 502)
            return
        if response.status == 200:
            self.send_json(response.body)
            return
        status, message = self.describe_error(response)
        self.send_json({"message": message}, status)


class ServerProof(SignedHandler):
    """GET: prove to the portal that this server still has the session's port."""

    def get(self) -> None:
        """Answer; the header has the proof."""
        self.set_status(204)


class PollingHandler(PortalHandler):
    """Base class of requests that an open page repeats."""

    def update_api_activity(self) -> None:
        """Do nothing, so that an open page does not keep an idle session alive."""


class SessionFacts(PollingHandler):
    """GET: what the portal knows about the session, and the node's measurements.

    The portal's facts are the session with its end, the portal's time, and links to its pages.
    The answer is `{"facts": the portal's answer | null, "problem": reason for null | null, "use":
    the node's measurements, "kept": whether the owner keeps it although it is idle}`.
    """

    @authenticated
    async def get(self) -> None:
        """Send the current data; an unreachable portal is not an error here."""
        facts, problem = await self._fetch_facts()
        use = await self.sources.meter.use()
        data = {"facts": facts, "problem": problem, "use": use.as_json()}
        self.send_json({**data, "kept": self.sources.idle.kept})

    async def _fetch_facts(self) -> tuple[dict[str, Any] | None, str | None]:
        try:
            response = await self.sources.ask("GET", "facts")
        except PortalRequestError:
            return None, NO_PORTAL
        return (
            (response.body, None) if response.status == 200 else (None, to_page_error(response)[1])
        )


class SessionExtend(PortalHandler):
    """POST `{"minutes": n}`: the facts, with the new end."""

    @authenticated
    async def post(self) -> None:
        """Request more time; the portal validates the request and decides."""
        body = self.get_json_body()
        minutes = body.get("minutes") if isinstance(body, dict) else None
        await self.pass_on("POST", "extend", {"minutes": minutes})


class SessionKeep(PortalHandler):
    """PUT: suppress the question whether the session is still needed, until it was busy again."""

    @authenticated
    async def put(self) -> None:
        """Store this in the server, for every tab and browser with this JupyterLab."""
        self.sources.idle.kept = True
        self.send_json({"kept": True})


class SessionTensorboard(PortalHandler):
    """PUT: the session's TensorBoard, started if it does not run.

    The output of `%tensorboard`, a magic of catalog/kernel/startup.py, sends
    `{"logdir": folder | null, "asked": when the cell ran}`.
    """

    @authenticated
    async def put(self) -> None:
        """Start it; the portal's page, or the frame in the notebook, waits for it."""
        logdir = self._accept_logdir(self.get_json_body())
        await self.pass_on("PUT", "tensorboard", {"logdir": logdir} if logdir else None)

    def _accept_logdir(self, body: Any) -> str | None:
        logdir, asked_at = (
            (body.get("logdir"), body.get("asked")) if isinstance(body, dict) else (None, None)
        )
        if not isinstance(logdir, str) or not isinstance(asked_at, int | float):
            return None
        return logdir if self.sources.accept_logdir(asked_at) else None


class SessionUsage(PollingHandler):
    """GET: the session's usage in the last hour, as measured on this node."""

    @authenticated
    async def get(self) -> None:
        """Send the series in the format of the reports to the portal."""
        self.send_json(self.sources.recent.to_report(time.monotonic()))


class SessionJobs(PollingHandler):
    """GET: the owner's jobs; `path` is that of an executed notebook for JupyterLab."""

    @authenticated
    async def get(self) -> None:
        """Send the list, with paths relative to the server's root folder."""
        await self.pass_on("GET", "jobs")

    def send_json(self, value: dict[str, Any], status: int = 200) -> None:
        """Add the paths, and send the answer."""
        root = str(getattr(self.contents_manager, "root_dir", ""))
        for job in value.get("jobs", []):
            job["path"] = to_server_path(job["notebook"], root)
        super().send_json(value, status)


class SessionJobLog(PollingHandler):
    """GET: the end of a job's log."""

    describe_error = staticmethod(to_job_page_error)

    @authenticated
    async def get(self, batch_job_id: str) -> None:
        """Send the text, and whether its beginning is left out."""
        await self.pass_on("GET", f"jobs/{batch_job_id}/log")


class SessionJobCancel(PortalHandler):
    """POST: cancel a job."""

    describe_error = staticmethod(to_job_page_error)

    @authenticated
    async def post(self, batch_job_id: str) -> None:
        """Request the end of the job; the page has asked for confirmation."""
        await self.pass_on("POST", f"jobs/{batch_job_id}/cancel")


HANDLERS = [
    (PROOF, ServerProof),
    (FACTS, SessionFacts),
    (KEEP, SessionKeep),
    (EXTEND, SessionExtend),
    (TENSORBOARD, SessionTensorboard),
    (USAGE, SessionUsage),
    (JOBS, SessionJobs),
    (JOB_LOG, SessionJobLog),
    (JOB_CANCEL, SessionJobCancel),
]
