"""Tickets: the part of a TensorBoard's address that only the portal's own page can obtain.

TensorBoards share an origin (all of them, or those of one owner), so the page of one could open
another that the same browser has access to. Each address contains a ticket, which is worthless
without the cookie of the login that it was issued for: a page can neither guess another
TensorBoard's ticket nor use one elsewhere.

A frame ticket opens a TensorBoard inside its owner's notebooks.
"""

import hashlib
import hmac
from enum import Enum, auto

from portal.config.settings import Settings

TICKET_PATTERN = r"[0-9a-f]{32}"


class TicketUse(Enum):
    """Permitted use of a ticket."""

    PAGE = auto()  # a page of its own
    FRAME = auto()  # a frame in the owner's notebooks


def issue_ticket(settings: Settings, web_session_id: str, tensorboard_id: str) -> str:
    """Return the ticket for this login's view of a TensorBoard."""
    return _sign(settings, "page", web_session_id, tensorboard_id)


def issue_frame_ticket(settings: Settings, user_id: str, tensorboard_id: str) -> str:
    """Return the ticket with which the owner's notebooks show this TensorBoard in a frame."""
    return _sign(settings, "frame", user_id, tensorboard_id)


def check_ticket(
    settings: Settings, ticket: str, tensorboard_id: str, web_session_id: str, user_id: str
) -> TicketUse | None:
    """Return the permitted use of this ticket for the login that presents it; None if it is
    invalid.
    """
    page = issue_ticket(settings, web_session_id, tensorboard_id)
    frame = issue_frame_ticket(settings, user_id, tensorboard_id)
    given = ticket.encode()
    if hmac.compare_digest(given, page.encode()):
        return TicketUse.PAGE
    return TicketUse.FRAME if hmac.compare_digest(given, frame.encode()) else None


def ticketed_address(settings: Settings, owner: str, board_id: str, ticket: str) -> str:
    """Return the absolute address of a TensorBoard with this ticket."""
    path = f"/tensorboard/{board_id}/{ticket}/"
    address = settings.tensorboard_address(owner, path)
    return address if settings.content else f"{settings.public_url}{path}"


def _sign(settings: Settings, use: str, subject: str, tensorboard_id: str) -> str:
    message = f"tensorboard ticket|{use}|{subject}|{tensorboard_id}"
    key = settings.internal_secret.encode()
    return hmac.digest(key, message.encode(), hashlib.sha256).hex()[:32]
