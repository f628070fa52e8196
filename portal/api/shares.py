"""Routes for sharing the TensorBoard of a session or job.

Only for the owner, which `jobs.get` and `sessions.get` ensure: for other users it does not exist.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel

from portal.context import AppContext
from portal.models import BatchJob, Session, User
from portal.services.jobs import jobs
from portal.services.sessions import sessions
from portal.services.tensorboards import shares
from portal.services.tensorboards.shares import SharedWith, ShareTarget
from portal.web.dependencies import ClientIp, ContextDep, CurrentUser, jobs_user, sessions_user

router = APIRouter(tags=["tensorboards"])
Username = Annotated[str, Path(max_length=100)]
Group = Annotated[str, Path(max_length=400)]


class SharesOut(BaseModel):
    """The users and directory groups with which a TensorBoard is shared."""

    shared_with: list[str]
    shared_groups: list[str]

    @classmethod
    def of(cls, shared: SharedWith) -> "SharesOut":
        return cls(shared_with=shared.users, shared_groups=shared.groups)


def _create_router(
    kind: Literal["session", "job"],
    get: Callable[[AppContext, User, str], Awaitable[Session | BatchJob]],
    guard: Callable[..., Awaitable[User]],
) -> APIRouter:
    """Return the routes for sharing the TensorBoards of sessions or of jobs; `get` returns the
    caller's own, `guard` authorizes changes.
    """
    id_name = "session_id" if kind == "session" else "batch_job_id"
    router = APIRouter(prefix=f"/{kind}s/{{{id_name}}}/shares")
    ParentId = Annotated[str, Path(alias=id_name)]  # noqa: N806 - a type
    Owner = Annotated[User, Depends(guard)]  # noqa: N806

    @router.get("", name=f"{kind}_shares")
    async def list_shares(parent_id: ParentId, user: CurrentUser, context: ContextDep) -> SharesOut:
        """Return the users and groups with access to this TensorBoard."""
        parent = await get(context, user, parent_id)
        return SharesOut.of(await shares.load_shares(context, parent))

    @router.put("/{username}", name=f"share_{kind}")
    async def share(
        parent_id: ParentId, username: Username, user: Owner, context: ContextDep, ip: ClientIp
    ) -> SharesOut:
        """Share the TensorBoard, and nothing else of the session or job, with a user."""
        parent = await get(context, user, parent_id)
        target = ShareTarget(username)
        return SharesOut.of(await shares.add(context, parent, target, by=user, ip=ip))

    @router.delete("/{username}", name=f"unshare_{kind}")
    async def unshare(
        parent_id: ParentId, username: Username, user: Owner, context: ContextDep, ip: ClientIp
    ) -> SharesOut:
        """Stop sharing with a user: their next request is refused."""
        parent = await get(context, user, parent_id)
        target = ShareTarget(username)
        return SharesOut.of(await shares.remove(context, parent, target, by=user, ip=ip))

    @router.put("/groups/{group:path}", name=f"share_{kind}_with_group")
    async def share_with_group(
        parent_id: ParentId, group: Group, user: Owner, context: ContextDep, ip: ClientIp
    ) -> SharesOut:
        """Share the TensorBoard with the members of one of the caller's own groups."""
        parent = await get(context, user, parent_id)
        target = ShareTarget(group=group)
        return SharesOut.of(await shares.add(context, parent, target, by=user, ip=ip))

    @router.delete("/groups/{group:path}", name=f"unshare_{kind}_with_group")
    async def unshare_with_group(
        parent_id: ParentId, group: Group, user: Owner, context: ContextDep, ip: ClientIp
    ) -> SharesOut:
        """Stop sharing with a group."""
        parent = await get(context, user, parent_id)
        target = ShareTarget(group=group)
        return SharesOut.of(await shares.remove(context, parent, target, by=user, ip=ip))

    return router


router.include_router(_create_router("session", sessions.get, sessions_user))
router.include_router(_create_router("job", jobs.get, jobs_user))
