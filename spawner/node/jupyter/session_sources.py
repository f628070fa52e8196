"""Data about a session for its JupyterLab page, from the portal and from the node.

Independent of Jupyter. The messages are for the user of JupyterLab.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from spawner.node.jupyter.idle import IdleTime
from spawner.node.portal_client import PortalClient, PortalResponse
from spawner.node.usage.meter import MEASURE_EVERY_S, Meter
from spawner.node.usage.time_series import Series

NO_PORTAL = "The portal doesn't answer. Your session continues without it."
ENDING = "This session is ending."
UNKNOWN = "The portal no longer knows this session."
NO_JOB = "This job is no longer in your list."
RECENT_S = 3600
"""Time before now for which JupyterLab shows the usage."""
PASSED_ON = frozenset({409, 422, 424, 429, 503})
"""Errors of the portal whose details are meant for users."""


@dataclass
class SessionSources:
    """Sources of data about the session: the portal, and the node's own measurements.

    `idle` and `recent` hold the recorder's results: the session's idleness and its usage in the
    last hour.
    """

    portal: PortalClient
    meter: Meter = field(default_factory=Meter)
    idle: IdleTime = field(default_factory=IdleTime)
    recent: Series = field(
        default_factory=lambda: Series(
            MEASURE_EVERY_S, most=int(RECENT_S / MEASURE_EVERY_S), recent=True
        )
    )
    _logdir_asked_at: float = field(default_factory=time.time)

    def accept_logdir(self, asked_at: float) -> bool:
        """Return whether a cell that ran at this time determines TensorBoard's folder.

        It does if it is newer than the last one. The output of an old cell is rendered whenever its
        notebook is opened, and must not change TensorBoard's folder.
        """
        if asked_at <= self._logdir_asked_at:
            return False
        self._logdir_asked_at = asked_at
        return True

    async def ask(
        self, method: str, action: str, body: dict[str, Any] | None = None
    ) -> PortalResponse:
        """Return the portal's answer. Raises PortalRequestError."""
        return await asyncio.to_thread(self.portal.ask, method, action, body)


def to_server_path(path: str | None, root: str) -> str | None:
    """Return the path relative to the server's root folder, for JupyterLab; None outside it."""
    if path is None:
        return None
    parts, root_parts = PurePosixPath(path).parts, PurePosixPath(root).parts
    if parts[: len(root_parts)] != root_parts or ".." in parts:
        return None
    return "/".join(parts[len(root_parts) :])


def to_app_input(body: Any, root: str) -> dict[str, Any]:
    """Return an app's input for the portal: the file, with its absolute path or one in `~/`, and
    whether it may take the place of another one.
    """
    body = body if isinstance(body, dict) else {}
    file, replace = body.get("file"), body.get("replace") is True
    if not isinstance(file, str) or not file:
        return {"replace": replace}
    file = file if file.startswith("~/") else str(PurePosixPath(root, file))
    return {"file": file, "replace": replace}


def to_job_page_error(response: PortalResponse) -> tuple[int, str]:
    """Return status and message like `to_page_error`, for a request about one job."""
    return (404, NO_JOB) if response.status == 404 else to_page_error(response)


def to_app_page_error(response: PortalResponse) -> tuple[int, str]:
    """Return status and message like `to_page_error`, for a request about one app."""
    detail = response.body.get("detail")
    if response.status == 404 and isinstance(detail, str) and detail:
        return 404, detail
    return to_page_error(response)


def to_page_error(response: PortalResponse) -> tuple[int, str]:
    """Return status and message for the page when the portal refuses.

    The status is neither 401 nor 403, which to JupyterLab mean that its own login has ended.
    """
    if response.status == 410:
        return 410, ENDING
    if response.status in PASSED_ON:
        detail = response.body.get("detail")
        return response.status, detail if isinstance(detail, str) and detail else NO_PORTAL
    return 502, UNKNOWN if response.status in {401, 404} else NO_PORTAL
