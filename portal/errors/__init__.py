"""The portal's error tree, with one JSON shape on the wire (RFC 9457) and the messages users read.

    PortalError
      LoginRequired            401 login-required
        InvalidToken           401 login-required, for an access token
      WrongCredentials         401 wrong-credentials
        AccountLocked          401 wrong-credentials, with another message
          AccountDisabled      likewise
        PasswordExpired        401 wrong-credentials, with another message
        WrongCode              401 wrong-code, for a second factor
      DeviceLoginProblem       400 for a device that polls for its token
        AuthorizationPending   400 authorization-pending
        SlowDown               400 slow-down
        AccessDenied           400 access-denied
        DeviceCodeExpired      400 expired-token
      PasswordRequired         403 password-required
      SecondFactorRequired     403 second-factor-enrolment-required
      Forbidden                403 forbidden
        InsufficientScope      403 insufficient-scope, for an access token
      OriginRefused            403 origin-refused
      NotFound                 404 not-found
      MethodNotAllowed         405 method-not-allowed
      Conflict                 409 conflict
        LastAdmin              409 last-admin
        HomeProblem            409 home-unavailable
        LimitReached           409 limit-reached
        DirectoryReadOnly      409 directory-read-only
        DirectoryChanged       409 directory-changed
        EditConflict           409 edit-conflict, with the author of the other change
      Gone                     410 gone
      TooLarge                 413 too-large
      InvalidInput             422 invalid-input
        SlurmRejected          422 slurm-rejected
        Unreadable             400 invalid-input
      NotRunning               424 not-running
      TooManyAttempts          429 too-many-attempts
      TooManyQuestions         429 too-many-questions
      TooManyRequests          429 too-many-requests, open at the same time
      Internal                 500 internal
      Unavailable              503
        DatabaseBusy           503 database-busy
        DatabaseFull           503 database-full
        DirectoryUnavailable   503 directory-unavailable
        DirectoryUnfinished    503 directory-unfinished
        SlurmUnreachable       503 slurm-unreachable
        LauncherProblem        503 launcher-unavailable

The errors about a user's files are in `portal.errors.files`. This package knows neither the
database nor Slurm; services translate the spawner's errors into these.
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
    DatabaseBusy,
    DatabaseFull,
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
    TooManyRequests,
    Unavailable,
    Unreadable,
    invalid_input,
)
from portal.errors.cluster import (
    LauncherProblem,
    NotRunning,
    SlurmRejected,
    SlurmUnreachable,
    TooManyQuestions,
)
from portal.errors.login import (
    AccessDenied,
    AccountDisabled,
    AccountLocked,
    AuthorizationPending,
    DeviceCodeExpired,
    DeviceLoginProblem,
    InsufficientScope,
    InvalidToken,
    LoginRequired,
    PasswordExpired,
    PasswordRequired,
    SecondFactorRequired,
    SlowDown,
    TooManyAttempts,
    WrongCode,
    WrongCredentials,
)
from portal.errors.users import (
    DirectoryChanged,
    DirectoryReadOnly,
    DirectoryUnavailable,
    DirectoryUnfinished,
    EditConflict,
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
    "AccessDenied",
    "AccountDisabled",
    "AccountLocked",
    "AuthorizationPending",
    "Conflict",
    "DatabaseBusy",
    "DatabaseFull",
    "DeviceCodeExpired",
    "DeviceLoginProblem",
    "DirectoryChanged",
    "DirectoryReadOnly",
    "DirectoryUnavailable",
    "DirectoryUnfinished",
    "EditConflict",
    "FieldError",
    "Forbidden",
    "Gone",
    "HomeProblem",
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
    "SecondFactorRequired",
    "SlowDown",
    "SlurmRejected",
    "SlurmUnreachable",
    "TooLarge",
    "TooManyAttempts",
    "TooManyQuestions",
    "TooManyRequests",
    "Unavailable",
    "Unreadable",
    "WrongCode",
    "WrongCredentials",
    "field_errors",
    "from_http",
    "install_error_handlers",
    "invalid_input",
    "problem_response",
]
