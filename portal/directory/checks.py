"""What may be a new person or group, before the directory is asked. Pure but for local accounts.

Each finding names the field of NewPerson, Edit or NewGroup and says what would be right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from portal.directory.contract import MAX_PASSWORD_LENGTH, Edit, NewGroup, NewPerson
from portal.errors import FieldError
from portal.settings import USERNAME_PATTERN, Settings
from portal.settings_directory import MAX_NUMBER

MAX_NAME = 100
MAX_DISPLAY_NAME = 200
MAX_MAIL = 320
MAX_PATH = 255
MAX_DESCRIPTION = 1000
# "nobody" to some system or other, and -1 and -2 in sixteen bits
_NOBODYS = frozenset({65533, 65534, 65535})
# Names that mean something on many systems, whether this one has them or not.
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
_MAIL = re.compile(r"[!-~]+@[A-Za-z0-9.-]+")
_PATH = re.compile(r"/[!-~]*")


@dataclass(frozen=True)
class Local:
    """Accounts and groups of the system itself: on every machine they win over the directory's."""

    names: frozenset[str]
    numbers: frozenset[int]


def local_accounts(file: Path = Path("/etc/passwd")) -> Local:
    return _local(file)


def local_groups(file: Path = Path("/etc/group")) -> Local:
    return _local(file)


def _local(file: Path) -> Local:
    """Names and numbers in a file of passwd's form; raises OSError when there is none."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    fields = [line.split(":") for line in lines]
    whole = [parts for parts in fields if len(parts) > 2 and parts[2].isdecimal()]
    return Local(
        frozenset(parts[0] for parts in whole), frozenset(int(parts[2]) for parts in whole)
    )


def new_person(new: NewPerson, settings: Settings, local: Local) -> list[FieldError]:
    """Everything that is wrong with it by itself."""
    found = list(_name("username", new.username, local))
    found += _text("given_name", new.given_name, MAX_NAME, may_be_empty=True)
    found += _text("surname", new.surname, MAX_NAME)
    found += _text("display_name", new.display_name, MAX_DISPLAY_NAME, may_be_empty=True)
    found += _mail(new.email or "")
    found += _uid(new.uid, settings, local)
    found += _primary_gid(new.gid, settings)
    found += _home(new.home, settings)
    found += _path("shell", new.shell)
    found += password(new.password)
    return found


def edit(change: Edit, settings: Settings) -> list[FieldError]:
    found: list[FieldError] = []
    if change.given_name is not None:
        found += _text("given_name", change.given_name, MAX_NAME, may_be_empty=True)
    if change.surname is not None:
        found += _text("surname", change.surname, MAX_NAME)
    if change.display_name is not None:
        found += _text("display_name", change.display_name, MAX_DISPLAY_NAME)
    found += _mail(change.email or "")
    found += _primary_gid(change.gid, settings)
    found += _home(change.home, settings)
    found += _path("shell", change.shell)
    return found


def new_group(new: NewGroup, settings: Settings, local: Local) -> list[FieldError]:
    found = list(_name("name", new.name, local))
    found += _text("description", new.description or "", MAX_DESCRIPTION, may_be_empty=True)
    numbered = settings.ldap_group_member_attribute == "memberUid"
    if new.gid is not None and not numbered:
        found.append(FieldError("gid", "Groups of this directory (groupOfNames) have no number."))
    elif new.gid is not None:
        found += _number("gid", new.gid, settings.min_uid, local)
    if not numbered and not new.members:
        found.append(FieldError("members", "A group of this directory can't be empty: name one."))
    return found


def password(text: str | None) -> list[FieldError]:
    if text is None:
        return []
    if not 0 < len(text) <= MAX_PASSWORD_LENGTH or "\0" in text:
        message = f"A password has between 1 and {MAX_PASSWORD_LENGTH} characters."
        return [FieldError("password", message)]
    return []


def _name(field: str, name: str, local: Local) -> Iterator[FieldError]:
    if not re.fullmatch(USERNAME_PATTERN, name):
        yield FieldError(
            field,
            "UNIX and Slurm take names of up to 32 lowercase letters, digits and . _ - that begin "
            "with a letter or _.",
        )
    elif name in _RESERVED or name in local.names:
        yield FieldError(field, f"{name} is a name of the system itself; choose another one.")


def _text(
    field: str, text: str, length: int, *, may_be_empty: bool = False
) -> Iterator[FieldError]:
    if not text.strip() and not may_be_empty:
        yield FieldError(field, "This is required.")
    elif len(text) > length:
        yield FieldError(field, f"This may have at most {length} characters.")
    elif not text.isprintable() or text != text.strip():
        yield FieldError(field, "This must be one line, without spaces around it.")


def _mail(text: str) -> Iterator[FieldError]:
    if text and (len(text) > MAX_MAIL or not _MAIL.fullmatch(text)):
        yield FieldError("email", "This must be a mail address such as ada@example.org.")


def _path(field: str, path: str | None) -> Iterator[FieldError]:
    if path is None:
        return
    whole = _PATH.fullmatch(path) and ":" not in path and len(path) <= MAX_PATH
    if not whole or str(PurePosixPath(path)) != path or ".." in path.split("/") or path == "/":
        yield FieldError(field, "This must be a whole path such as /home/ada, without spaces.")


def _home(path: str | None, settings: Settings) -> Iterator[FieldError]:
    """A home directory's owner may do all with it, and deleting a person may delete it."""
    wrong = list(_path("home", path))
    yield from wrong
    if path is None or wrong:
        return
    home, usual = PurePosixPath(path), PurePosixPath(settings.ldap_home_template).parent
    above = home == usual or home in usual.parents
    if above or (home.parts[1] in _SYSTEM_FOLDERS and usual not in home.parents):
        yield FieldError("home", f"{path} is a folder of the system's; choose one of the person's.")


def _uid(uid: int | None, settings: Settings, local: Local) -> Iterator[FieldError]:
    if uid is not None:
        yield from _number("uid", uid, settings.min_uid, local)


def _number(field: str, number: int, least: int, local: Local) -> Iterator[FieldError]:
    if number < least:
        yield FieldError(field, f"Numbers below {least} are the system's own.")
    elif number > MAX_NUMBER or number in _NOBODYS:
        yield FieldError(field, f"This number can't be used; choose one up to {MAX_NUMBER}.")
    elif number in local.numbers:
        yield FieldError(field, "This number is one of the system itself; choose another one.")


def _primary_gid(gid: int | None, settings: Settings) -> Iterator[FieldError]:
    """A system group may be everybody's primary one only where the settings say so."""
    if gid is not None and gid != settings.ldap_primary_gid:
        yield from _number("gid", gid, settings.min_uid, Local(frozenset(), frozenset()))
