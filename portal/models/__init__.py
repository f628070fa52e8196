"""The tables, typed. What a row means is decided in services/ and reconcile.py, never here.

Ids are UUIDs kept as text, times are aware UTC, and nothing here needs one database's own SQL.
"""

from portal.models.base import (
    GROUP_NAME_LENGTH,
    AccountState,
    AnnouncementLevel,
    Base,
    HomeState,
    HomeTask,
    ImportState,
    JobKind,
    JobsPolicy,
    JobState,
    LimitScope,
    Role,
    TensorboardState,
    Wanted,
    new_id,
)
from portal.models.jobs import BatchJob, Job, Session, Share, Tensorboard, TensorboardJob
from portal.models.limits import Association, Limit
from portal.models.people import (
    AccessToken,
    GroupLeader,
    GroupMembership,
    HalfLogin,
    HomeRun,
    LoginFailure,
    RecoveryCode,
    SecondFactor,
    User,
    WebSession,
)
from portal.models.records import Announcement, AuditEvent, ImageImport, Mark, Refusals

__all__ = [
    "GROUP_NAME_LENGTH",
    "AccessToken",
    "AccountState",
    "Announcement",
    "AnnouncementLevel",
    "Association",
    "AuditEvent",
    "Base",
    "BatchJob",
    "GroupLeader",
    "GroupMembership",
    "HalfLogin",
    "HomeRun",
    "HomeState",
    "HomeTask",
    "ImageImport",
    "ImportState",
    "Job",
    "JobKind",
    "JobState",
    "JobsPolicy",
    "Limit",
    "LimitScope",
    "LoginFailure",
    "Mark",
    "RecoveryCode",
    "Refusals",
    "Role",
    "SecondFactor",
    "Session",
    "Share",
    "Tensorboard",
    "TensorboardJob",
    "TensorboardState",
    "User",
    "Wanted",
    "WebSession",
    "new_id",
]
