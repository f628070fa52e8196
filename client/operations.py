"""The operations of the portal's API that the program uses, with all that it sends. Pure.

A test compares them with openapi.json: when an operation, a parameter or a field changes there, it
fails (tests/unit/client/test_operations.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from . import models

T = TypeVar("T")
API = "/api/v1"
SCOPES = ("read", "sessions", "jobs", "files")
"""The scopes that every login asks for; `dsp login --scope` adds others."""
RESOURCES = (
    "partition", "nodes", "gpus", "gpu_type", "cpus", "memory_gb", "time_limit_minutes",
    "account", "qos",
)  # fmt: skip


class NoAnswer:
    """The answer of an operation without a body, or whose body is read as bytes."""


@dataclass(frozen=True)
class Operation(Generic[T]):
    """An operation: `scope` is the token's, None if it needs none.

    `answer` is the class of its body, `query` and `body` are the names of all that may be sent.
    """

    method: str
    path: str
    scope: str | None
    answer: type[T]
    query: tuple[str, ...] = ()
    body: tuple[str, ...] = ()


START_LOGIN = Operation(
    "POST", "/login/device", None, models.StartedDeviceLogin, body=("device", "scopes")
)
COLLECT_TOKEN = Operation(
    "POST", "/login/device/token", None, models.GrantedToken, body=("device_code",)
)
REVOKE_TOKEN = Operation("DELETE", "/tokens/current", None, NoAnswer)
GET_ACCOUNT = Operation("GET", "/me", "read", models.TokenOwner)

LIST_JOBS = Operation("GET", "/jobs", "read", models.JobListing, query=("state", "limit", "cursor"))
SUBMIT_JOB = Operation(
    "POST", "/jobs", "jobs", models.JobSummary,
    body=("template", "parameters", "script", "environment", "resources", "name"),
)  # fmt: skip
GET_JOB = Operation("GET", "/jobs/{batch_job_id}", "read", models.JobSummary)
CANCEL_JOB = Operation("POST", "/jobs/{batch_job_id}/cancel", "jobs", models.JobSummary)
READ_LOG = Operation(
    "GET", "/jobs/{batch_job_id}/log", "read", models.LogText,
    query=("offset", "limit", "stream", "task"),
)  # fmt: skip
FOLLOW_LOG = Operation(
    "GET", "/jobs/{batch_job_id}/log/follow", "read", NoAnswer, query=("offset", "stream", "task")
)
GET_JOB_SSH = Operation("GET", "/jobs/{batch_job_id}/ssh", "read", models.JobSshSetup)
GET_TEMPLATE = Operation("GET", "/templates/{name}", "read", models.TemplateSchema)
LIST_ENVIRONMENTS = Operation("GET", "/environments", "read", models.EnvironmentListing)

LIST_SESSIONS = Operation(
    "GET", "/sessions", "read", models.SessionListing, query=("state", "cursor")
)
START_SESSION = Operation(
    "POST", "/sessions", "sessions", models.SessionSummary,
    body=("environment", "name", "resources"),
)  # fmt: skip
GET_SESSION = Operation("GET", "/sessions/{session_id}", "read", models.SessionSummary)
GET_SESSION_SSH = Operation("GET", "/sessions/{session_id}/ssh", "read", models.SshSetup)
STOP_SESSION = Operation("DELETE", "/sessions/{session_id}", "sessions", NoAnswer)

START_JOB_TENSORBOARD = Operation(
    "PUT", "/jobs/{batch_job_id}/tensorboard", "jobs", models.TensorboardSummary
)
GET_JOB_TENSORBOARD = Operation(
    "GET", "/jobs/{batch_job_id}/tensorboard", "read", models.TensorboardSummary
)
START_SESSION_TENSORBOARD = Operation(
    "PUT", "/sessions/{session_id}/tensorboard", "sessions", models.TensorboardSummary
)
GET_SESSION_TENSORBOARD = Operation(
    "GET", "/sessions/{session_id}/tensorboard", "read", models.TensorboardSummary
)

LIST_ROOTS = Operation("GET", "/files/roots", "files", models.StorageRoots)
FIND_PLACE = Operation("GET", "/files/where", "files", models.RemotePlace, query=("path",))
GET_ENTRY = Operation("GET", "/files/entry", "files", models.RemoteEntry, query=("root", "path"))
LIST_FOLDER = Operation(
    "GET", "/files", "files", models.FolderContent,
    query=("root", "path", "hidden", "limit", "cursor"),
)  # fmt: skip
CREATE_FOLDER = Operation(
    "POST", "/files/folders", "files", models.RemoteEntry, body=("root", "path", "parents")
)
DOWNLOAD = Operation("GET", "/files/download", "files", NoAnswer, query=("root", "path"))
LIST_UPLOADS = Operation("GET", "/files/uploads", "files", models.PendingUploads)
BEGIN_UPLOAD = Operation(
    "POST", "/files/uploads", "files", models.PendingUpload,
    body=("root", "path", "size_bytes", "overwrite"),
)  # fmt: skip
GET_UPLOAD = Operation("GET", "/files/uploads/{upload_id}", "files", models.PendingUpload)
SEND_CHUNK = Operation(
    "PUT", "/files/uploads/{upload_id}", "files", models.NextOffset, query=("offset",)
)
FINISH_UPLOAD = Operation(
    "POST", "/files/uploads/{upload_id}/complete", "files", models.CompletedUpload,
    body=("sha256",),
)  # fmt: skip
DROP_UPLOAD = Operation("DELETE", "/files/uploads/{upload_id}", "files", NoAnswer)

OPERATIONS: tuple[Operation[object], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Operation)
)
