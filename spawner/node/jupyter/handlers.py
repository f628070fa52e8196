"""Data about a session for its JupyterLab page, from the portal and from the node.

Independent of Jupyter. The messages are for the user of JupyterLab.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from spawner.node.jupyter.idle import Rest
from spawner.node.portal_client import PortalClient, PortalResponse
from spawner.node.usage.meter import Meter

NO_PORTAL = "The portal can't be reached. Your session continues without it."
ENDING = "This session is ending."
UNKNOWN = "The portal no longer knows this session."
PASSED_ON = frozenset({409, 422, 503})
"""Errors of the portal whose details are meant for users."""


@dataclass
class SessionSources:
    """Sources of data about the session: the portal, and the node's own measurements.

    `rest` holds the recorder's result on the session's idleness.
    """

    home: PortalClient
    meter: Meter = field(default_factory=Meter)
    rest: Rest = field(default_factory=Rest)
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
        self, method: str, act: str, body: dict[str, Any] | None = None
    ) -> PortalResponse:
        """Return the portal's answer. Raises HomeError."""
        return await asyncio.to_thread(self.home.ask, method, act, body)


def refusal(answer: PortalResponse) -> tuple[int, str]:
    """Return status and message for the page when the portal refuses.

    The status is neither 401 nor 403, which to JupyterLab mean that its own login has ended.
    """
    if answer.status == 410:
        return 410, ENDING
    if answer.status in PASSED_ON:
        found = answer.body.get("detail")
        return answer.status, found if isinstance(found, str) and found else NO_PORTAL
    return 502, UNKNOWN if answer.status in {401, 404} else NO_PORTAL
