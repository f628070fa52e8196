"""Routes of the caller's personal access tokens: list, create, revoke; for browsers only."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.login import CallerDep
from portal.db import utcnow
from portal.models import AccessToken
from portal.services.auth import tokens
from portal.services.auth.tokens import Scope, TokenRequest
from portal.web.dependencies import (
    ContextDep,
    CurrentToken,
    CurrentWebSession,
    ReenteredPasswordUser,
)

router = APIRouter(tags=["tokens"])


class TokenIn(BaseModel):
    """A token to create.

    Its `scopes` permit: `read`, reading all of the caller's data except files; `sessions`, changing
    sessions and TensorBoards; `jobs`, submitting and changing jobs; `files`, reading and changing
    files; `ssh`, SSH connections to the caller's sessions; `admin`, for administrators.
    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    expires_in_days: Annotated[int, Field(strict=True, ge=1, le=100_000)]


class TokenOut(BaseModel):
    """A token without its text, which cannot be read again; `last_used_at` to the minute."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime
    expired: bool
    last_used_at: datetime | None


class NewToken(TokenOut):
    """A new token. `token` is shown only this once; it begins with `dsp_`."""

    token: str


class Tokens(BaseModel):
    """The caller's tokens, newest first. `max_days` is the longest lifetime of a new one."""

    items: list[TokenOut]
    max_days: int


@router.get("/tokens")
async def list_tokens(session: CurrentWebSession, context: ContextDep) -> Tokens:
    """Return the caller's tokens, expired ones for thirty days."""
    rows = await tokens.list_tokens(context.db, session.user)
    return Tokens(
        items=[_to_out(token) for token in rows], max_days=context.settings.access_token_max_days
    )


@router.post("/tokens", status_code=201)
async def create_token(
    body: TokenIn,
    user: ReenteredPasswordUser,
    response: Response,
    context: ContextDep,
    caller: CallerDep,
) -> NewToken:
    """Create a token. A token cannot create tokens."""
    request = TokenRequest(
        name=body.name.strip(), scopes=frozenset(body.scopes), days=body.expires_in_days
    )
    token, text = await tokens.create(context.db, context.settings, user, request, caller)
    response.headers["Cache-Control"] = "no-store"
    return NewToken(**_to_out(token).model_dump(), token=text)


@router.delete("/tokens/current", status_code=204)
async def revoke_current_token(
    token: CurrentToken, context: ContextDep, caller: CallerDep
) -> Response:
    """Revoke the access token that this request is made with, as a program's logout."""
    await tokens.revoke(context.db, token.user, token.id, caller)
    context.notifier.notify(token.user_id)  # its streams and SSH connections end
    return Response(status_code=204)


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(
    token_id: str, session: CurrentWebSession, context: ContextDep, caller: CallerDep
) -> Response:
    """Revoke a token: the next request with it is refused."""
    await tokens.revoke(context.db, session.user, token_id, caller)
    context.notifier.notify(session.user_id)  # its streams and SSH connections end
    return Response(status_code=204)


def _to_out(token: AccessToken) -> TokenOut:
    return TokenOut(
        id=token.id,
        name=token.name,
        scopes=[Scope(scope) for scope in token.scopes],
        created_at=token.created_at,
        expires_at=token.expires_at,
        expired=token.expires_at <= utcnow(),
        last_used_at=token.last_used_at,
    )
