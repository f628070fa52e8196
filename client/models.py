"""The parts of the portal's answers that the program reads, and their decoder. Pure.

A field that the program does not read is not here, so the portal may add fields. A test compares
every class with openapi.json (tests/unit/client/test_operations.py).
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import PortalUnreachable

T = TypeVar("T")
RUNNING = "running"
ENDED = "ended"
JOB_STATES = (
    "submitting", "queued", "starting", RUNNING, "suspended", "stopping", ENDED,
)  # fmt: skip
COMPLETED = "completed"
OUTCOMES = (COMPLETED, "failed", "cancelled", "timeout", "out_of_memory", "node_failed")
TENSORBOARD_STATES = ("stopped", "queued", "starting", RUNNING, "failed")
ENTRY_KINDS = ("file", "folder", "link", "other")


@dataclass(frozen=True)
class StartedDeviceLogin:
    """A login that waits for its user in the browser."""

    device_code: str
    user_code: str
    verification_uri: str
    expires_in: int
    interval: int


@dataclass(frozen=True)
class GrantedToken:
    """The token of a confirmed login."""

    access_token: str
    expires_at: str
    username: str
    token_name: str


@dataclass(frozen=True)
class TokenOwner:
    """The token's owner."""

    username: str
    display_name: str


@dataclass(frozen=True)
class RequestedResources:
    """What a job or session requests from Slurm."""

    partition: str | None
    nodes: int
    gpus: int
    cpus: int
    memory_gb: float | None
    time_limit_minutes: int | None


@dataclass(frozen=True)
class JobSummary:
    """A job, in a list or alone."""

    id: str
    job_id: int | None
    name: str
    state: str
    outcome: str | None
    exit_code: int | None
    reason: str | None
    suggestion: str | None
    node: str | None
    submitted_at: str
    started_at: str | None
    ended_at: str | None
    resources: RequestedResources


@dataclass(frozen=True)
class JobListing:
    """A page of jobs."""

    items: list[JobSummary]
    next_cursor: str | None = None


@dataclass(frozen=True)
class LogText:
    """A piece of a log, from one offset up to the next."""

    text: str
    offset: int
    next_offset: int
    size: int
    end: bool


@dataclass(frozen=True)
class SessionSummary:
    """A session, in a list or alone."""

    id: str
    name: str
    state: str
    outcome: str | None
    reason: str | None
    suggestion: str | None
    environment: str
    node: str | None
    ready_at: str | None
    submitted_at: str
    expires_at: str | None
    url: str | None
    resources: RequestedResources


@dataclass(frozen=True)
class SessionListing:
    """A page of sessions."""

    items: list[SessionSummary]
    next_cursor: str | None = None


@dataclass(frozen=True)
class SshSetup:
    """Whether a running session can be reached by SSH; `problem` is the reason if not."""

    problem: str | None


@dataclass(frozen=True)
class JobSshSetup:
    """Whether a running job can be reached by SSH, and at which address."""

    problem: str | None
    url: str


@dataclass(frozen=True)
class EnvironmentSummary:
    """An environment for sessions and jobs."""

    name: str
    title: str
    available: bool
    kernel: bool


@dataclass(frozen=True)
class EnvironmentListing:
    """All environments."""

    items: list[EnvironmentSummary]


@dataclass(frozen=True)
class TemplateSchema:
    """A template with its parameters, an object in JSON Schema."""

    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class TensorboardSummary:
    """A TensorBoard; `url` is the portal's page that opens it."""

    id: str
    state: str
    reason: str | None
    url: str | None


@dataclass(frozen=True)
class RemotePlace:
    """A path below a root of the user's files."""

    root: str
    path: str


@dataclass(frozen=True)
class StorageRoot:
    """A storage location; `path` is its full path on the cluster."""

    name: str
    path: str


@dataclass(frozen=True)
class StorageRoots:
    """All storage locations."""

    items: list[StorageRoot]


@dataclass(frozen=True)
class RemoteEntry:
    """A file or folder on the cluster; `version` changes with its content."""

    name: str
    path: str
    kind: str
    target_kind: str | None
    size_bytes: int | None
    version: str


@dataclass(frozen=True)
class FolderContent:
    """A page of a folder's entries."""

    items: list[RemoteEntry]
    next_cursor: str | None


@dataclass(frozen=True)
class PendingUpload:
    """An upload, which continues at `offset`; null if its folder cannot be reached."""

    id: str
    root: str | None
    path: str
    size_bytes: int
    offset: int | None
    overwrite: bool
    chunk_bytes: int


@dataclass(frozen=True)
class PendingUploads:
    """The user's unfinished uploads."""

    items: list[PendingUpload]


@dataclass(frozen=True)
class NextOffset:
    """The offset of an upload's next chunk."""

    offset: int


@dataclass(frozen=True)
class CompletedUpload:
    """The end of an upload; `done` false: ask again."""

    done: bool
    sha256: str | None


def decode(model: type[T], value: object) -> T:
    """Return the answer as an instance of its class, ignoring fields that the class lacks.

    Raises PortalUnreachable if a field is missing or has another type: the portal is of a version
    that this program does not know, or something else answered.
    """
    result = _decode(model, value, model.__name__)
    assert isinstance(result, model)  # noqa: S101 - for the type checker
    return result


def _decode(hint: Any, value: object, where: str) -> Any:
    if hint is Any:
        return value
    if is_dataclass(hint):
        return _decode_object(hint, value, where)
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return _decode_union(get_args(hint), value, where)
    if origin is list and isinstance(value, list):
        (item,) = get_args(hint)
        return [_decode(item, each, f"{where}[{at}]") for at, each in enumerate(value)]
    if type(value) is (origin or hint):
        return value
    if hint is float and type(value) is int:
        return float(value)
    raise _mismatch(where)


def _decode_union(hints: tuple[Any, ...], value: object, where: str) -> Any:
    if value is None and type(None) in hints:
        return None
    (hint,) = (hint for hint in hints if hint is not type(None))
    return _decode(hint, value, where)


def _decode_object(model: Any, value: object, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise _mismatch(where)
    hints = get_type_hints(model)
    decoded = {}
    for field in fields(model):
        if field.name in value:
            place = f"{where}.{field.name}"
            decoded[field.name] = _decode(hints[field.name], value[field.name], place)
        elif field.default is MISSING:
            raise _mismatch(f"{where}.{field.name}")
    return model(**decoded)


def _mismatch(where: str) -> PortalUnreachable:
    return PortalUnreachable(
        f"The portal's answer is not understood ({where}).",
        "Check the address, and install the version of dsp that belongs to the portal.",
        kind="unknown-answer",
    )
