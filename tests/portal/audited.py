"""The audit events of each route that changes something, and a check after every such request.

After each response that reports success, the browser of these tests checks that exactly one event
has that request's id. A route that is missing here fails a test.
"""

import re
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from sqlalchemy import select

from portal.app import bare_app
from portal.models import AuditEvent
from portal.services.audit import audit

SAFE = {"GET", "HEAD", "OPTIONS"}
V1 = "/api/v1"
A = audit.Action

# events of which a successful request leaves exactly one
RECORDED: dict[tuple[str, str], set[audit.Action]] = {
    ("POST", f"{V1}/login"): {A.LOGIN, A.LOGIN_HALF},
    ("POST", f"{V1}/login/second-factor"): {A.LOGIN},
    ("POST", f"{V1}/reauth"): {A.PASSWORD_CONFIRMED},
    ("DELETE", f"{V1}/me/logins"): {A.LOGIN_ENDED},
    ("DELETE", f"{V1}/me/logins/{{login_id}}"): {A.LOGIN_ENDED},
    ("POST", f"{V1}/me/password"): {A.PASSWORD_CHANGED},
    ("POST", f"{V1}/tokens"): {A.TOKEN_CREATED},
    ("POST", f"{V1}/login/device/token"): {A.TOKEN_CREATED},
    ("POST", f"{V1}/login/device/approve"): {A.DEVICE_APPROVED},
    ("POST", f"{V1}/login/device/deny"): {A.DEVICE_DENIED},
    ("DELETE", f"{V1}/tokens/current"): {A.TOKEN_REVOKED},
    ("DELETE", f"{V1}/tokens/{{token_id}}"): {A.TOKEN_REVOKED},
    ("POST", f"{V1}/second-factor/confirm"): {A.SECOND_FACTOR_ON},
    ("POST", f"{V1}/second-factor/recovery-codes"): {A.RECOVERY_CODES_NEW},
    ("POST", f"{V1}/second-factor/turn-off"): {A.SECOND_FACTOR_OFF},
    ("POST", f"{V1}/admin/users/{{username}}/second-factor/reset"): {A.SECOND_FACTOR_RESET},
    ("DELETE", f"{V1}/sessions/{{session_id}}"): {A.SESSION_STOP, A.SESSION_REMOVE},
    ("POST", f"{V1}/sessions/{{session_id}}/extend"): {A.SESSION_EXTEND},
    ("PUT", f"{V1}/sessions/{{session_id}}/apps/{{name}}"): {A.APP_START},
    ("DELETE", f"{V1}/sessions/{{session_id}}/apps/{{name}}"): {A.APP_STOP},
    ("POST", f"{V1}/sessions/{{session_id}}/apps/{{name}}/restart"): {A.APP_RESTART},
    ("POST", f"{V1}/environments/{{name}}/packages/reset"): {A.FILE_DELETE},
    ("POST", f"{V1}/environments/{{name}}/packages/remove"): {A.FILE_DELETE},
    ("DELETE", f"{V1}/admin/sessions/{{session_id}}"): {A.SESSION_STOP_BY_ADMIN, A.SESSION_STOP},
    ("POST", f"{V1}/jobs/{{batch_job_id}}/cancel"): {A.JOB_CANCEL},
    ("DELETE", f"{V1}/jobs/{{batch_job_id}}"): {A.JOB_REMOVE},
    ("DELETE", f"{V1}/sessions/{{session_id}}/tensorboard"): {A.TENSORBOARD_STOP},
    ("DELETE", f"{V1}/jobs/{{batch_job_id}}/tensorboard"): {A.TENSORBOARD_STOP},
    ("POST", f"{V1}/admin/catalog/images"): {A.IMAGE_IMPORT},
    ("POST", f"{V1}/admin/catalog/images/imports/{{import_id}}/cancel"): {A.IMAGE_CANCEL},
    ("DELETE", f"{V1}/admin/catalog/images/{{file}}"): {A.IMAGE_DELETE},
    ("POST", f"{V1}/admin/users"): {A.USER_CREATE},
    ("PATCH", f"{V1}/admin/users/{{username}}"): {A.USER_EDIT},
    ("POST", f"{V1}/admin/users/{{username}}/lock"): {A.USER_LOCK},
    ("POST", f"{V1}/admin/users/{{username}}/unlock"): {A.USER_UNLOCK},
    ("POST", f"{V1}/admin/users/{{username}}/password"): {A.USER_PASSWORD},
    ("POST", f"{V1}/admin/users/{{username}}/home"): {A.HOME_REQUEST},
    ("POST", f"{V1}/admin/users/{{username}}/disable"): {A.USER_DISABLE},
    ("POST", f"{V1}/admin/users/{{username}}/enable"): {A.USER_ENABLE},
    ("DELETE", f"{V1}/admin/users/{{username}}"): {A.USER_DELETE},
    ("PUT", f"{V1}/admin/users/{{username}}/number"): {A.USER_NUMBER},
    ("PUT", f"{V1}/admin/users/{{username}}/role"): {A.ROLE_GRANT},
    ("POST", f"{V1}/admin/groups"): {A.GROUP_CREATE},
    ("DELETE", f"{V1}/admin/groups/{{group}}"): {A.GROUP_DELETE},
    ("POST", f"{V1}/admin/announcements"): {A.ANNOUNCEMENT_ADD},
    ("DELETE", f"{V1}/admin/announcements/{{announcement_id}}"): {A.ANNOUNCEMENT_DELETE},
    ("POST", f"{V1}/admin/drift/{{drift_id}}/mend"): {A.DRIFT_MEND},
    ("POST", f"{V1}/admin/drift/{{drift_id}}/accept"): {A.DRIFT_ACCEPT},
}

# the same, but none when there was nothing to change: repeating the request is valid there
RECORDED_IF_CHANGED: dict[tuple[str, str], set[audit.Action]] = {
    ("POST", f"{V1}/logout"): {A.LOGOUT},
    ("POST", f"{V1}/files/delete"): {A.FILE_DELETE},  # possibly an empty set of files
    ("POST", f"{V1}/jobs/cancel-many"): {A.JOB_CANCEL_MANY},
    ("POST", f"{V1}/jobs/remove-many"): {A.JOB_REMOVE_MANY},
    ("POST", f"{V1}/jobs"): {A.JOB_SUBMIT},  # with the key of a job that was already submitted
    ("POST", f"{V1}/sessions"): {A.SESSION_START},
    ("POST", f"{V1}/setups/{{setup_id}}/start"): {A.SESSION_START},
    **{
        ("PUT", f"{V1}/{kind}/shares/{recipient}"): {A.SHARE_ADD}
        for kind in ("jobs/{batch_job_id}", "sessions/{session_id}")
        for recipient in ("{username}", "groups/{group:path}")
    },
    **{
        ("DELETE", f"{V1}/{kind}/shares/{recipient}"): {A.SHARE_REMOVE}
        for kind in ("jobs/{batch_job_id}", "sessions/{session_id}")
        for recipient in ("{username}", "groups/{group:path}")
    },
    ("PUT", f"{V1}/sessions/{{session_id}}/tensorboard"): {A.TENSORBOARD_START},
    ("PUT", f"{V1}/jobs/{{batch_job_id}}/tensorboard"): {A.TENSORBOARD_START},
    ("PATCH", f"{V1}/admin/announcements/{{announcement_id}}"): {A.ANNOUNCEMENT_EDIT},
    ("PUT", f"{V1}/admin/users/{{username}}/groups/{{name}}"): {A.GROUP_ADD},
    ("PUT", f"{V1}/admin/users/{{username}}/accounts/{{account}}"): {A.LIMIT_SET},
    ("DELETE", f"{V1}/admin/users/{{username}}/groups/{{name}}"): {A.GROUP_REMOVE},
    ("PUT", f"{V1}/admin/groups/{{group}}/members/{{username}}"): {A.GROUP_ADD},
    ("DELETE", f"{V1}/admin/groups/{{group}}/members/{{username}}"): {A.GROUP_REMOVE},
    ("DELETE", f"{V1}/admin/users/{{username}}/role"): {A.ROLE_REVOKE},
    ("PUT", f"{V1}/admin/groups/{{group}}/managers/{{username}}"): {A.MANAGER_ADD},
    ("DELETE", f"{V1}/admin/groups/{{group}}/managers/{{username}}"): {A.MANAGER_REMOVE},
    ("PUT", f"{V1}/admin/limits/default"): {A.LIMIT_SET},
    ("DELETE", f"{V1}/admin/limits/default"): {A.LIMIT_REMOVE},
    ("PUT", f"{V1}/admin/limits/{{scope}}/{{name}}"): {A.LIMIT_SET},
    ("DELETE", f"{V1}/admin/limits/{{scope}}/{{name}}"): {A.LIMIT_REMOVE},
    ("PUT", f"{V1}/groups/{{group}}/limits/{{username}}"): {A.LIMIT_SET, A.LIMIT_REMOVE},
}

# routes that leave no event, each with the reason
NODES = "the program of a recorded session; what it reports is in the session's row"
OWN_PREFERENCES = "one's own appearance and notifications; it grants and forbids nothing"
OWN_SETUPS = "a form that was filled in, kept for oneself; starting with it is recorded"
OWN_FILES = "one's own files in one's own home, as in a terminal; deleting is recorded"
NOT_RECORDED: dict[tuple[str, str], str] = {
    ("POST", f"{V1}/login/device"): "waits for its user, whose decision is recorded",
    ("POST", f"{V1}/login/device/find"): "shows what waits, and changes nothing",
    ("POST", f"{V1}/login/password"): "two acts: the change of the password, and the login",
    ("POST", f"{V1}/second-factor/enrolment"): "a secret that counts once it is confirmed",
    ("POST", f"{V1}/templates/{{name}}/render"): "shows a script, and changes nothing",
    ("POST", f"{V1}/estimates"): "a question, and changes nothing",
    ("POST", f"{V1}/resources"): "completes a form, and changes nothing",
    ("POST", f"{V1}/estimates/choices"): "asks Slurm, and changes nothing",
    ("POST", f"{V1}/scripts/import"): "parses a script, and changes nothing",
    ("POST", f"{V1}/admin/users/import"): "goes on after the answer: an event at its end",
    ("POST", f"{V1}/admin/users/imports/{{import_id}}/passwords"): (
        "hands over what the import made, once"
    ),
    ("PATCH", f"{V1}/me/preferences"): OWN_PREFERENCES,
    ("POST", f"{V1}/setups"): OWN_SETUPS,
    ("PATCH", f"{V1}/setups/{{setup_id}}"): OWN_SETUPS,
    ("DELETE", f"{V1}/setups/{{setup_id}}"): OWN_SETUPS,
    ("POST", f"{V1}/me/mail/test"): "an e-mail to oneself, without content",
    ("POST", f"{V1}/files/folders"): OWN_FILES,
    ("POST", f"{V1}/files/move"): OWN_FILES,
    ("POST", f"{V1}/files/trash/restore"): OWN_FILES,
    ("POST", f"{V1}/files/trash/empty"): OWN_FILES,
    ("POST", f"{V1}/environments/{{name}}/packages/restore"): OWN_FILES,
    ("PUT", f"{V1}/files/text"): OWN_FILES,
    ("POST", f"{V1}/files/uploads"): OWN_FILES,
    ("PUT", f"{V1}/files/uploads/{{upload_id}}"): OWN_FILES,
    ("POST", f"{V1}/files/uploads/{{upload_id}}/complete"): OWN_FILES,
    ("DELETE", f"{V1}/files/uploads/{{upload_id}}"): OWN_FILES,
    ("PUT", "/internal/servers/{username}/{name}"): "the hub, about a session that was started",
    ("DELETE", "/internal/servers/{username}/{name}"): "the hub, about a session that was stopped",
    ("POST", "/node/sessions/{session_id}/hello"): NODES,
    ("POST", "/node/sessions/{session_id}/certificate"): NODES,
    ("POST", "/node/sessions/{session_id}/report"): NODES,
    ("POST", "/node/sessions/{session_id}/use"): "usage of a session, reported every half minute",
    ("POST", "/node/jobs/{batch_job_id}/hello"): NODES,
    ("POST", "/node/jobs/{batch_job_id}/certificate"): NODES,
    ("POST", "/node/jobs/{batch_job_id}/report"): NODES,
    ("POST", "/node/tensorboards/{board_id}/hello"): NODES,
    ("POST", "/node/tensorboards/{board_id}/certificate"): NODES,
    ("POST", "/node/tensorboards/{board_id}/report"): NODES,
    ("POST", "/node/sessions/{session_id}/extend"): "records as its owner; asked without a browser",
    ("POST", "/node/sessions/{session_id}/jobs/{batch_job_id}/cancel"): (
        "records as its owner; asked without a browser"
    ),
    ("PUT", "/node/sessions/{session_id}/tensorboard"): (
        "records as its owner; asked without a browser"
    ),
    ("PUT", "/node/sessions/{session_id}/apps/{name}"): (
        "records as its owner; asked without a browser"
    ),
    (
        "POST",
        "/tensorboard/{board_id}/{ticket}/{path:path}",
    ): "its own pages ask for data",
    (
        "POST",
        "/api/v1/tensorboards/{tensorboard_id}/open",
    ): "looking changes nothing",
    **{
        (method, path): what
        for method in ("POST", "PUT", "PATCH", "DELETE")
        for path, what in (
            ("/user/{owner}/{server}/{path:path}", "responds that a session isn't running"),
            ("/hub/{path:path}", "leads to the host that has it"),
        )
    },
}

# an additional event within another operation
BESIDE = {A.RECOVERY_CODE_USED.value}


def changing_routes() -> list[tuple[str, str]]:
    """Return (method, path) of every route that may change something."""
    return [
        (method, str(route.path))
        for route in iter_route_contexts(bare_app().routes)
        if isinstance(route.original_route, APIRoute)
        for method in sorted(set(route.methods or ()) - SAFE)
    ]


@cache
def _patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    return [
        (method, path, re.compile(re.sub(r"\{\w+(:path)?\}", _hole, path)))
        for method, path in changing_routes()
    ]


def _hole(match: re.Match[str]) -> str:
    return ".+" if match[1] else "[^/]+"


def route_of(method: str, path: str) -> tuple[str, str] | None:
    """Return the route that handles such a request."""
    plain = path.partition("?")[0]
    for known, template, pattern in _patterns():
        if known == method and pattern.fullmatch(plain):
            return known, template
    return None


ALSO = {("POST", f"{V1}/admin/users"): {A.LIMIT_SET.value}}
"""Additional events of a request: a new user's Slurm account and limits."""


async def check_recorded(app: FastAPI, method: str, path: str, request_id: str) -> None:
    """Check after a successful change that its event exists exactly once."""
    route = route_of(method, path)
    if route is None or route in NOT_RECORDED or method in SAFE:
        return
    found = await _actions(app, request_id)
    wanted = RECORDED.get(route) or RECORDED_IF_CHANGED[route]
    if not found and route in RECORDED_IF_CHANGED:
        return
    found = [action for action in found if action not in ALSO.get(route, ())]
    assert len(found) == 1, (route, found)
    assert found[0] in {action.value for action in wanted}, (route, found)


async def _actions(app: FastAPI, request_id: str) -> list[Any]:
    mine = select(AuditEvent.action).where(AuditEvent.request_id == request_id)
    async with app.state.context.db.session() as db:
        return list((await db.scalars(mine.where(AuditEvent.action.not_in(BESIDE)))).all())
