"""Personal access tokens: one's own, listed, made and revoked, by a browser only."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import CurrentWebSession, DatabaseDep, FreshPassword, SettingsDep
from portal.api.login import CallerDep
from portal.db import utcnow
from portal.models import AccessToken
from portal.services.login import tokens
from portal.services.login.tokens import Scope, Wish

router = APIRouter(tags=["tokens"])


class TokenIn(BaseModel):
    """A token to make. It may do what its `scopes` say: `read` everything of one's own but files,
    change `sessions` and TensorBoards, submit and change `jobs`, read and change `files`, and
    `admin` for administrators."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    expires_in_days: Annotated[int, Field(ge=1, le=100_000)]


class TokenOut(BaseModel):
    """A token without its text, which nobody can read again; `last_used_at` to the minute."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime
    expired: bool
    last_used_at: datetime | None


class NewToken(TokenOut):
    """`token` is shown this once; it begins with `dsp_`."""

    token: str


class Tokens(BaseModel):
    """One's own tokens, the newest first, and for how many days one may be made."""

    items: list[TokenOut]
    max_days: int


@router.get("/tokens")
async def list_tokens(
    session: CurrentWebSession, database: DatabaseDep, settings: SettingsDep
) -> Tokens:
    """The caller's tokens, expired ones among them for thirty days."""
    found = await tokens.listed(database, session.user)
    return Tokens(items=[_shown(token) for token in found], max_days=settings.access_token_max_days)


@router.post("/tokens", status_code=201)
async def create_token(
    body: TokenIn,
    user: FreshPassword,
    response: Response,
    database: DatabaseDep,
    settings: SettingsDep,
    caller: CallerDep,
) -> NewToken:
    """Make a token. A token can't make tokens."""
    wish = Wish(name=body.name.strip(), scopes=frozenset(body.scopes), days=body.expires_in_days)
    token, text = await tokens.create(database, settings, user, wish, caller)
    response.headers["Cache-Control"] = "no-store"
    return NewToken(**_shown(token).model_dump(), token=text)


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(
    token_id: str, session: CurrentWebSession, database: DatabaseDep, caller: CallerDep
) -> Response:
    """End a token: the next request with it is refused."""
    await tokens.revoke(database, session.user, token_id, caller)
    return Response(status_code=204)


def _shown(token: AccessToken) -> TokenOut:
    return TokenOut(
        id=token.id,
        name=token.name,
        scopes=[Scope(scope) for scope in token.scopes],
        created_at=token.created_at,
        expires_at=token.expires_at,
        expired=token.expires_at <= utcnow(),
        last_used_at=token.last_used_at,
    )
