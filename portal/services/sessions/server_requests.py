"""Requests of the portal to a session's server, signed with the session's secret.

The server is the user's own program: the proof in its answer shows that it is the session's, not
that its content is true.
"""

import json
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from portal.context import AppContext
from portal.models import Session
from portal.services.sessions import servers
from portal.services.slurm import certificates, launch
from spawner import signing

MAX_ANSWER_BYTES = 512 * 1024


@dataclass(frozen=True)
class ServerAnswer:
    """Status and JSON object of an answer."""

    status: int
    body: dict[str, Any]


async def ask(
    context: AppContext,
    session: Session,
    method: str,
    action: str,
    *,
    timeout_s: float,
    body: dict[str, Any] | None = None,
) -> ServerAnswer:
    """Send one request to `…/portal/ACTION`. Raises ClientError, TimeoutError, ValueError.

    An answer without the session's proof is a ValueError: another user's program may have taken the
    port of a killed session.
    """
    path = f"/user/{session.user.username}/{session.name}/portal/{action}"
    key = launch.derive_secret(context, session.id)
    content = b"" if body is None else json.dumps(body).encode()
    signature = signing.sign(key, method, signing.with_body(path, content), time.time())
    async with context.http.request(
        method,
        URL(f"{servers.build_url(session)}{path}", encoded=True),
        headers={signing.SIGNATURE_HEADER: signature},
        data=content or None,
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        allow_redirects=False,
        **certificates.build_connect_arguments(context, session.tls_name),
    ) as answer:
        if not signing.is_proven(key, signature, answer.headers.get(signing.PROOF_HEADER, "")):
            raise ValueError(f"the proof of status {answer.status} is missing or malformed")
        text = await _read(answer)
    try:
        found = json.loads(text)
    except RecursionError as error:  # nested too deeply
        raise ValueError("malformed") from error
    if not isinstance(found, dict):
        raise ValueError("malformed")  # noqa: TRY004 - as for bad JSON
    return ServerAnswer(answer.status, found)


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """Return the whole body. Raises ValueError if it is too long."""
    text = b""
    async for chunk in answer.content.iter_any():
        text += chunk
        if len(text) > MAX_ANSWER_BYTES:
            raise ValueError("the answer is too long")
    return text
