"""What a session's server knows about its session: by the portal, and by the node itself.

It knows nothing of Jupyter. The words are for whoever sits before JupyterLab.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from spawner.node.home import Answer, Home
from spawner.node.meter import Meter
from spawner.node.rest import Rest

NO_PORTAL = "The portal can't be reached at the moment. Your session goes on without it."
ENDING = "This session is ending."
UNKNOWN = "The portal doesn't know this session any more."
PASSED_ON = frozenset({409, 422, 503})
"""Refusals of the portal whose words are meant for people."""


@dataclass
class Desk:
    """The session's two sources: the portal, and the node itself; `rest` is what the recorder has
    found out about the session's idleness."""

    home: Home
    meter: Meter = field(default_factory=Meter)
    rest: Rest = field(default_factory=Rest)

    async def ask(self, method: str, act: str, body: dict[str, Any] | None = None) -> Answer:
        """The portal's answer. Raises HomeError."""
        return await asyncio.to_thread(self.home.ask, method, act, body)


def refusal(answer: Answer) -> tuple[int, str]:
    """The status and the words for the page when the portal says no. Neither 401 nor 403 is among
    them, which mean to JupyterLab that its own login has ended."""
    if answer.status == 410:
        return 410, ENDING
    if answer.status in PASSED_ON:
        found = answer.body.get("detail")
        return answer.status, found if isinstance(found, str) and found else NO_PORTAL
    return 502, UNKNOWN if answer.status in {401, 404} else NO_PORTAL
