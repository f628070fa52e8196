"""Validation of new users and groups before the directory is contacted. Pure except for reading
local accounts.

Each error names the field of NewDirectoryUser, Edit or NewGroup and states what would be valid.
"""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from portal.config.directory import MAX_NUMBER
from portal.config.settings import Settings
from portal.directory.contract import MAX_PASSWORD_LENGTH, Edit, NewDirectoryUser, NewGroup
from portal.errors import FieldError
from spawner.names import USERNAME

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ldap3 uses pyasn1's older names
    from ldap3.core.exceptions import LDAPException
    from ldap3.protocol.sasl.sasl import sasl_prep

UNUSABLE = (
    "A password can't contain control characters, unknown characters, or text that mixes writing "
    "directions. Choose another one."
)
MAX_NAME = 100
MAX_DISPLAY_NAME = 200
MAX_MAIL = 320
MAX_PATH = 255
MAX_DESCRIPTION = 1000
# Overflow uids (the account `nobody`) of various systems: -1, -2 and -3 as 16-bit numbers.
_OVERFLOW_IDS = frozenset({65533, 65534, 65535})
# Names with a meaning on many systems, whether this one has them or not.
_RESERVED = frozenset(
    [
        *("root", "daemon", "bin", "sys", "adm", "nobody", "nogroup", "operator", "sudo", "wheel"),
        *("staff", "users", "admin", "administrator", "slurm", "munge", "ldap", "sshd", "mail"),
        *("postfix", "mysql", "postgres", "www-data", "portal", "portalhub", "all", "none"),
    ]
)
_SYSTEM_FOLDERS = frozenset(
    [
        *("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "lost+found", "proc"),
        *("root", "run", "sbin", "sys", "tmp", "usr", "var"),
    ]
)
_MAIL_PATTERN = re.compile(r"(?![=+@-])[!-~]+@[A-Za-z0-9.-]+")
_PATH_PATTERN = re.compile(r"/[!-~]*")
_FORMULA_PREFIXES = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class LocalAccounts:
    """Accounts and groups of the local system: on every machine they take precedence over the
    directory's.
    """

    names: frozenset[str]
    numbers: frozenset[int]


def local_accounts(file: Path = Path("/etc/passwd")) -> LocalAccounts:
    return _read_accounts(file)


def local_groups(file: Path = Path("/etc/group")) -> LocalAccounts:
    return _read_accounts(file)


def _read_accounts(file: Path) -> LocalAccounts:
    """Read names and numbers from a file in passwd's format.

    Raises OSError if it cannot be read.
    """
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    fields = [line.split(":") for line in lines]
    complete = [parts for parts in fields if len(parts) > 2 and parts[2].isdecimal()]
    return LocalAccounts(
        frozenset(parts[0] for parts in complete), frozenset(int(parts[2]) for parts in complete)
    )


def new_user(new: NewDirectoryUser, settings: Settings, local: LocalAccounts) -> list[FieldError]:
    """Return all errors that can be found without the directory."""
    problems = list(_check_name("username", new.username, local))
    problems += _check_real_name("given_name", new.given_name, MAX_NAME, may_be_empty=True)
    problems += _check_real_name("surname", new.surname, MAX_NAME)
    problems += _check_real_name(
        "display_name", new.display_name, MAX_DISPLAY_NAME, may_be_empty=True
    )
    problems += _check_mail(new.email or "")
    problems += _check_uid(new.uid, settings, local)
    problems += _check_primary_gid(new.gid, settings)
    problems += _check_home(new.home, settings)
    problems += _check_path("shell", new.shell)
    problems += password(new.password)
    return problems


def edit(change: Edit, settings: Settings) -> list[FieldError]:
    problems: list[FieldError] = []
    if change.given_name is not None:
        problems += _check_real_name("given_name", change.given_name, MAX_NAME, may_be_empty=True)
    if change.surname is not None:
        problems += _check_real_name("surname", change.surname, MAX_NAME)
    if change.display_name is not None:
        problems += _check_real_name("display_name", change.display_name, MAX_DISPLAY_NAME)
    problems += _check_mail(change.email or "")
    problems += _check_primary_gid(change.gid, settings)
    problems += _check_home(change.home, settings)
    problems += _check_path("shell", change.shell)
    return problems


def new_group(new: NewGroup, settings: Settings, local: LocalAccounts) -> list[FieldError]:
    problems = list(_check_name("name", new.name, local))
    problems += _check_text(
        "description", new.description or "", MAX_DESCRIPTION, may_be_empty=True
    )
    numbered = settings.ldap_group_member_attribute == "memberUid"
    if new.gid is not None and not numbered:
        problems.append(FieldError("gid", "Groups in this directory (groupOfNames) have no GID."))
    elif new.gid is not None:
        problems += _check_number("gid", new.gid, settings.min_uid, local)
    if not numbered and not new.members:
        problems.append(
            FieldError("members", "A group in this directory can't be empty. Add a member.")
        )
    return problems


def password(text: str | None) -> list[FieldError]:
    if text is None:
        return []
    if not 0 < len(text) <= MAX_PASSWORD_LENGTH:
        message = f"A password must have 1 to {MAX_PASSWORD_LENGTH} characters."
        return [FieldError("password", message)]
    return [] if is_password(text) else [FieldError("password", UNUSABLE)]


def is_password(text: str) -> bool:
    """Return whether the text can be sent as a password.

    SASLprep (RFC 4013) rejects control characters and text that mixes writing directions.
    """
    if not 0 < len(text) <= MAX_PASSWORD_LENGTH:
        return False
    try:
        sasl_prep(text)  # type: ignore[no-untyped-call]
    except LDAPException:
        return False
    return True


def _check_name(field: str, name: str, local: LocalAccounts) -> Iterator[FieldError]:
    if not USERNAME.fullmatch(name):
        yield FieldError(
            field,
            "Use at most 32 lowercase letters, digits and . _ -, and begin with a letter "
            "or _. UNIX and Slurm require this.",
        )
    elif name in _RESERVED or name in local.names:
        yield FieldError(field, f"The name {name} is reserved by the system. Choose another one.")


def _check_text(
    field: str, text: str, length: int, *, may_be_empty: bool = False
) -> Iterator[FieldError]:
    if not text.strip() and not may_be_empty:
        yield FieldError(field, "This is required.")
    elif len(text) > length:
        yield FieldError(field, f"This may have at most {length} characters.")
    elif not text.isprintable() or text != text.strip():
        yield FieldError(field, "This must be one line without leading or trailing spaces.")


def _check_real_name(
    field: str, text: str, length: int, *, may_be_empty: bool = False
) -> Iterator[FieldError]:
    """Check a name.

    Spreadsheet formulas are rejected because user lists are opened in spreadsheets, also by tools
    that do not defuse formulas.
    """
    yield from _check_text(field, text, length, may_be_empty=may_be_empty)
    if text.startswith(_FORMULA_PREFIXES):
        yield FieldError(field, "A name can't begin with = + - or @, as spreadsheet formulas do.")


def _check_mail(text: str) -> Iterator[FieldError]:
    if text and (len(text) > MAX_MAIL or not _MAIL_PATTERN.fullmatch(text)):
        yield FieldError("email", "This must be a mail address such as ada@example.org.")


def _check_path(field: str, path: str | None) -> Iterator[FieldError]:
    if path is None:
        return
    is_valid = _PATH_PATTERN.fullmatch(path) and ":" not in path and len(path) <= MAX_PATH
    if not is_valid or str(PurePosixPath(path)) != path or ".." in path.split("/") or path == "/":
        yield FieldError(field, "This must be an absolute path such as /home/ada, without spaces.")


def _check_home(path: str | None, settings: Settings) -> Iterator[FieldError]:
    """Check a home directory.

    Its owner may do anything in it, and deleting a user may delete it, so system folders are
    rejected.
    """
    problems = list(_check_path("home", path))
    yield from problems
    if path is None or problems:
        return
    home, usual = PurePosixPath(path), PurePosixPath(settings.ldap_home_template).parent
    above = home == usual or home in usual.parents
    if above or (home.parts[1] in _SYSTEM_FOLDERS and usual not in home.parents):
        yield FieldError("home", f"{path} is a system folder. Choose a folder of the user.")


def _check_uid(uid: int | None, settings: Settings, local: LocalAccounts) -> Iterator[FieldError]:
    if uid is not None:
        yield from _check_number("uid", uid, settings.min_uid, local)


def _check_number(
    field: str, number: int, least: int, local: LocalAccounts
) -> Iterator[FieldError]:
    if number < least:
        yield FieldError(field, f"Numbers below {least} are reserved for the system.")
    elif number > MAX_NUMBER or number in _OVERFLOW_IDS:
        yield FieldError(field, f"This number can't be used; choose one up to {MAX_NUMBER}.")
    elif number in local.numbers:
        yield FieldError(field, "This number is reserved by the system. Choose another one.")


def _check_primary_gid(gid: int | None, settings: Settings) -> Iterator[FieldError]:
    """Check a primary group number: a system group is allowed only if the settings name it."""
    if gid is not None and gid != settings.ldap_primary_gid:
        yield from _check_number(
            "gid", gid, settings.min_uid, LocalAccounts(frozenset(), frozenset())
        )
