"""Errors about users, their homes and limits, and the directory."""

from portal.errors.base import Conflict, FieldError, Unavailable


class LastAdmin(Conflict):
    slug = "last-admin"
    title = "The last administrator can't be removed"


class HomeProblem(Conflict):
    slug = "home-unavailable"
    title = "Your home directory can't be used"


class LimitReached(Conflict):
    """A limit on the number of something is reached. `what` names it: sessions or jobs."""

    slug = "limit-reached"
    title = "Limit reached"

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(detail, errors=[FieldError(what, detail)])


class DirectoryReadOnly(Conflict):
    slug = "directory-read-only"
    title = "Not supported by this directory"


class DirectoryChanged(Conflict):
    """The directory's entry changed while the portal was changing it."""

    slug = "directory-changed"
    title = "This was changed by another user"


class EditConflict(Conflict):
    """Another administrator has changed the same item since it was loaded."""

    slug = "edit-conflict"
    title = "This was changed by another user"


class DirectoryUnavailable(Unavailable):
    """No directory server answered correctly; `cause` is for logs and `portal check`."""

    slug = "directory-unavailable"
    title = "The login service doesn't answer"

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(
            "The directory that checks passwords doesn't answer. Your "
            "password is not the problem. Try again in a few minutes.",
            headers={"Retry-After": "30"},
        )


class DirectoryUnfinished(Unavailable):
    """The directory stopped answering in the middle of a change; `detail` describes the state."""

    slug = "directory-unfinished"
    title = "The change may be incomplete"
