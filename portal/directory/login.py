"""Password checks and password changes, as the user."""

import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from portal.config.directory import LOCKED_FOR_GOOD
from portal.directory import groups
from portal.directory.connections import (
    BASE,
    NO_SUCH_OBJECT,
    SUBTREE,
    SUCCESS,
    OpenConnection,
    Result,
    Servers,
    ServerTrouble,
    changing,
)
from portal.directory.contract import DirectoryUser
from portal.directory.entries import find_one
from portal.directory.mapping import LOCKED, Entry, Mapping, first
from portal.directory.password_policy import (
    CONTROL_OID,
    REQUEST_CONTROL,
    PolicyError,
    active_directory_error,
    change_refusal,
    decode_control,
    decode_grace,
    is_closed_account,
)
from portal.errors import (
    AccountDisabled,
    AccountLocked,
    FieldError,
    InvalidInput,
    PasswordExpired,
    WrongCredentials,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ldap3 uses pyasn1's older names
    from ldap3.utils.dn import escape_rdn

log = structlog.get_logger(__name__)

_INVALID_CREDENTIALS = 49
_UNWILLING = 53
# Results of a bind that are about the account, whatever the password was. 19 is a limit of failed
# logins (389 Directory Server).
_NOT_THIS_ACCOUNT = frozenset({_INVALID_CREDENTIALS, NO_SUCH_OBJECT, 48, 34, 19, _UNWILLING})
# Results of a new password that are about the password or the account.
REFUSALS = frozenset({19, _UNWILLING, 50})


def authenticate(
    servers: Servers, link: OpenConnection, username: str, password: str, *, one_time: bool = False
) -> DirectoryUser:
    """Return the user, after a bind with the password.

    Raises WrongCredentials and its subclasses.
    """
    settings, mapping = link.settings, Mapping(link.settings)
    must_change = False
    if settings.ldap_user_dn_template is not None:
        # Until it is changed, a one-time password opens nothing here, not even the user's own
        # entry.
        dn = settings.ldap_user_dn_template.format(username=escape_rdn(username))
        _bind_user(link, dn, password)
        attributes = mapping.user_attributes
        entry = find_one(link, dn, "(objectClass=*)", BASE, attributes)
    else:
        entry = find_entry(link, username)
        if entry is None:
            # The same work as for an existing user, so that timing does not reveal which users
            # exist.
            _bind_user(link, f"cn={secrets.token_hex(8)},{settings.ldap_user_base}", "-")
            raise WrongCredentials
        with _explain_lock(mapping, entry, username):
            must_change = _bind_user(link, entry["dn"], password, may_be_expired=one_time)
        link.bind_reader()
    if entry is None:
        raise WrongCredentials
    user = user_with_groups(servers, link, entry, username)
    return replace(user, must_change=must_change)


def find(servers: Servers, link: OpenConnection, username: str) -> DirectoryUser | None:
    entry = find_entry(link, username)
    return user_with_groups(servers, link, entry, username) if entry is not None else None


def user_with_groups(
    servers: Servers, link: OpenConnection, entry: Entry, typed: str
) -> DirectoryUser:
    """Return the user with groups, as visible to the account that is bound on the link."""
    mapping = Mapping(link.settings)
    username = mapping.user(entry, typed).username
    return mapping.user(entry, typed, groups.load_groups(servers, link, username, entry["dn"]))


def change_password(link: OpenConnection, username: str, current: str, new: str) -> None:
    """Change the password as the user, by the password modify operation."""
    template, mapping = link.settings.ldap_user_dn_template, Mapping(link.settings)
    if template is not None:
        dn = template.format(username=escape_rdn(username))
        _bind_user(link, dn, current, may_be_expired=True)
    else:
        entry = find_entry(link, username)
        if entry is None:
            raise WrongCredentials
        dn = entry["dn"]
        with _explain_lock(mapping, entry, username):
            _bind_user(link, dn, current, may_be_expired=True)
    with changing(link, "Your password may or may not have been changed. Try to log in with both."):
        link.connection.extend.standard.modify_password(
            dn, current, new, controls=[REQUEST_CONTROL]
        )
    result = link.result()
    if result["result"] == SUCCESS:
        return
    if result["result"] not in REFUSALS:
        raise ServerTrouble(f"password change: {result['description']}")
    sentence = change_refusal(policy_error(result), str(result["message"]))
    raise InvalidInput(sentence, errors=[FieldError("new_password", sentence)])


def find_entry(link: OpenConnection, username: str) -> Entry | None:
    """Return the entry of that username, as visible to the account that searches."""
    link.bind_reader()
    mapping = Mapping(link.settings)
    base = link.settings.ldap_user_base or ""
    return find_one(link, base, mapping.one_user(username), SUBTREE, mapping.user_attributes)


def policy_error(result: Result) -> PolicyError | None:
    control = (result.get("controls") or {}).get(CONTROL_OID)
    value = control.get("value") if control else None
    return decode_control(value) if isinstance(value, bytes) else None


def grace_left(result: Result) -> int:
    """Return how many more logins an expired password is valid for; 0 for one that has not
    expired.
    """
    control = (result.get("controls") or {}).get(CONTROL_OID)
    value = control.get("value") if control else None
    return decode_grace(value) if isinstance(value, bytes) else 0


@contextmanager
def _explain_lock(mapping: Mapping, entry: Entry, username: str) -> Iterator[None]:
    """Refine AccountLocked with the reason from the entry, because the refusal itself has none."""
    try:
        yield
    except AccountLocked as error:
        if error.password_was_right:
            raise
        if mapping.user(entry, username).disabled:
            raise AccountDisabled from error
        if first(entry, LOCKED) == LOCKED_FOR_GOOD:
            raise AccountLocked(
                "An administrator has locked this account; ask your administrators to unlock it."
            ) from error
        raise


def _bind_user(
    link: OpenConnection, dn: str, password: str, *, may_be_expired: bool = False
) -> bool:
    """Check the password with a bind. Return whether it is correct and must be changed now.

    The password policy control distinguishes a locked account. Unless `may_be_expired`, a password
    that was reset is an error. An expired password with grace logins left counts as one that must
    be changed.
    """
    result = link.try_bind(dn, password, [REQUEST_CONTROL])
    policy = policy_error(result)
    if policy is None:
        policy = active_directory_error(str(result["message"]))
    if is_closed_account(str(result["message"])):
        raise AccountDisabled(password_was_right=True)
    if policy is PolicyError.ACCOUNT_LOCKED:
        raise AccountLocked(
            "This account is locked in the directory, usually after too many wrong passwords. "
            "Wait a while, or ask your administrators to unlock it."
        )
    if policy is PolicyError.PASSWORD_EXPIRED and result["result"] != SUCCESS:
        raise PasswordExpired("Your password has expired; ask your administrators for help.")
    right = result["result"] == SUCCESS
    if policy is PolicyError.CHANGE_AFTER_RESET and not (may_be_expired and right):
        raise PasswordExpired(
            "Your password was reset and must be changed before you can log in here: log in to "
            "the cluster by ssh, or run passwd, and choose a new one."
        )
    if result["result"] in _NOT_THIS_ACCOUNT:
        raise WrongCredentials
    if not right:
        raise ServerTrouble(f"login: {result['description']}")
    # With no grace login left a change would be refused as well, because it takes another login.
    return policy is PolicyError.CHANGE_AFTER_RESET or grace_left(result) > 0
