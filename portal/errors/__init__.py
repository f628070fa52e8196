"""One tree of errors, one shape on the wire (RFC 9457), and the words users read.

    PortalError
      LoginRequired            401 login-required
        InvalidToken           401 login-required, of an access token
      WrongCredentials         401 wrong-credentials
        AccountLocked          401 wrong-credentials, another sentence
          AccountDisabled      likewise
        PasswordExpired        401 wrong-credentials, another sentence
        WrongCode              401 wrong-code, of a second factor
      PasswordRequired         403 password-required
      EnrolmentRequired        403 second-factor-enrolment-required
      Forbidden                403 forbidden
        InsufficientScope      403 insufficient-scope, of an access token
      OriginRefused            403 origin-refused
      NotFound                 404 not-found
      MethodNotAllowed         405 method-not-allowed
      Conflict                 409 conflict
        LastAdmin              409 last-admin
        HomeProblem            409 home-unavailable
        LimitReached           409 limit-reached
        DirectoryReadOnly      409 directory-read-only
        DirectoryChanged       409 directory-changed
          ChangedMeanwhile     409 changed-meanwhile, with who it was
      Gone                     410 gone
      TooLarge                 413 too-large
      InvalidInput             422 invalid-input
        SlurmRejected          422 slurm-rejected
      NotRunning               424 not-running
      TooManyAttempts          429 too-many-attempts
      TooManyQuestions         429 too-many-questions
      Internal                 500 internal
      Unavailable              503
        DirectoryUnavailable   503 directory-unavailable
        DirectoryUnfinished    503 directory-unfinished
        SlurmUnreachable       503 slurm-unreachable
        LauncherProblem        503 launcher-unavailable
        HubUnavailable         503 hub-unavailable

What can be the matter with somebody's files stands in `portal.errors.files`. This knows no database
and no Slurm; services translate the spawner's errors into these.
"""

from portal.errors.answers import (
    MEDIA_TYPE,
    Problem,
    from_http,
    install_error_handlers,
    problem_response,
)
from portal.errors.base import (
    Conflict,
    FieldError,
    Forbidden,
    Gone,
    Internal,
    InvalidInput,
    MethodNotAllowed,
    NotFound,
    OriginRefused,
    PortalError,
    TooLarge,
    Unavailable,
    invalid_input,
)
from portal.errors.cluster import (
    HubUnavailable,
    LauncherProblem,
    NotRunning,
    SlurmRejected,
    SlurmUnreachable,
    TooManyQuestions,
)
from portal.errors.login import (
    AccountDisabled,
    AccountLocked,
    EnrolmentRequired,
    InsufficientScope,
    InvalidToken,
    LoginRequired,
    PasswordExpired,
    PasswordRequired,
    TooManyAttempts,
    WrongCode,
    WrongCredentials,
)
from portal.errors.people import (
    ChangedMeanwhile,
    DirectoryChanged,
    DirectoryReadOnly,
    DirectoryUnavailable,
    DirectoryUnfinished,
    HomeProblem,
    LastAdmin,
    LimitReached,
)
from portal.errors.words import (
    MAX_FIELD_ERRORS,
    field_errors,
)

__all__ = [
    "MAX_FIELD_ERRORS",
    "MEDIA_TYPE",
    "AccountDisabled",
    "AccountLocked",
    "ChangedMeanwhile",
    "Conflict",
    "DirectoryChanged",
    "DirectoryReadOnly",
    "DirectoryUnavailable",
    "DirectoryUnfinished",
    "EnrolmentRequired",
    "FieldError",
    "Forbidden",
    "Gone",
    "HomeProblem",
    "HubUnavailable",
    "InsufficientScope",
    "Internal",
    "InvalidInput",
    "InvalidToken",
    "LastAdmin",
    "LauncherProblem",
    "LimitReached",
    "LoginRequired",
    "MethodNotAllowed",
    "NotFound",
    "NotRunning",
    "OriginRefused",
    "PasswordExpired",
    "PasswordRequired",
    "PortalError",
    "Problem",
    "SlurmRejected",
    "SlurmUnreachable",
    "TooLarge",
    "TooManyAttempts",
    "TooManyQuestions",
    "Unavailable",
    "WrongCode",
    "WrongCredentials",
    "field_errors",
    "from_http",
    "install_error_handlers",
    "invalid_input",
    "problem_response",
]
