"""Errors of authentication and authorization."""

from portal.errors.base import Forbidden, PortalError


class LoginRequired(PortalError):
    status = 401
    slug = "login-required"
    title = "Login required"


class InvalidToken(LoginRequired):
    def __init__(
        self, detail: str = "This access token isn't valid. It may have expired or been revoked."
    ) -> None:
        super().__init__(
            detail,
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )


class WrongCredentials(PortalError):
    status = 401
    slug = "wrong-credentials"
    title = "Wrong username or password"


class AccountLocked(WrongCredentials):
    """A locked account.

    `password_was_right`: the directory reveals this state only after the correct password.
    """

    title = "This account is locked"
    password_was_right = False


class AccountDisabled(AccountLocked):
    title = "This account is disabled"

    def __init__(self, *, password_was_right: bool = False) -> None:
        super().__init__("This account is disabled. Ask your administrators.")
        self.password_was_right = password_was_right


class PasswordExpired(WrongCredentials):
    title = "The password has expired"


class WrongCode(WrongCredentials):
    slug = "wrong-code"
    title = "Wrong code"


class PasswordRequired(PortalError):
    status = 403
    slug = "password-required"
    title = "Enter your password again"


class SecondFactorRequired(PortalError):
    status = 403
    slug = "second-factor-enrolment-required"
    title = "Set up a second factor first"


class InsufficientScope(Forbidden):
    slug = "insufficient-scope"
    title = "Access token lacks permission"

    def __init__(self, scope: str) -> None:
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        super().__init__(
            f"This access token doesn't have the scope {scope}.",
            headers={"WWW-Authenticate": challenge},
        )


class DeviceLoginProblem(PortalError):
    """The answer to a device that polls for its token; `error` is the code of RFC 8628, 3.5."""

    status = 400

    def __init__(self) -> None:
        super().__init__(extension={"error": self.slug.replace("-", "_")})


class AuthorizationPending(DeviceLoginProblem):
    slug = "authorization-pending"
    title = "The login isn't confirmed yet"


class SlowDown(DeviceLoginProblem):
    slug = "slow-down"
    title = "The login was polled too often"


class AccessDenied(DeviceLoginProblem):
    slug = "access-denied"
    title = "The login was refused in the browser"


class DeviceCodeExpired(DeviceLoginProblem):
    slug = "expired-token"
    title = "The login has expired or was already used"


class TooManyAttempts(PortalError):
    status = 429
    slug = "too-many-attempts"
    title = "Too many attempts"

    def __init__(self, retry_after_s: int) -> None:
        minutes = max(1, -(-retry_after_s // 60))
        wait = "a minute" if minutes == 1 else f"{minutes} minutes"
        super().__init__(
            f"Too many failed logins. Try again in {wait}.",
            headers={"Retry-After": str(retry_after_s)},
        )
