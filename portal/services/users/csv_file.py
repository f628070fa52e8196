"""CSV import of users: parsing and validation of the whole file before any is created. Pure.

The first line names the columns. All errors are reported at once, by line and field; the existing
names and numbers of the directory are passed in.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from portal.directory.contract import NewDirectoryUser
from portal.errors import FieldError, invalid_input
from portal.services.users.new_users import NewUser

COLUMNS = (
    *("username", "given_name", "surname", "email", "groups"),
    *("login_group", "slurm_account"),
    *("uid", "gid", "home", "shell", "display_name"),
)
REQUIRED = ("username", "surname")
MAX_LINES = 10_000
MAX_CELL = 4096
NONE = "-"
"""In a cell of login_group or slurm_account: none, instead of the default of the settings."""
_SEPARATORS = re.compile(r"[;,|]")
_NO_NUMBER = "This must be a whole number."


@dataclass(frozen=True)
class ImportProblem:
    """An error in a line; `field` is the column, or "" for the line itself."""

    field: str
    message: str


@dataclass(frozen=True)
class CsvLine:
    """One line of the file with its line number. `user` is None if the line cannot be parsed."""

    number: int
    username: str
    user: NewUser | None
    findings: tuple[ImportProblem, ...] = ()


@dataclass(frozen=True)
class Defaults:
    """The meaning of empty cells of login_group and slurm_account."""

    login_group: str | None = None
    slurm_account: str | None = None


@dataclass(frozen=True)
class ExistingAccounts:
    """The user names, uids, and groups by name that the directory already has.

    `accounts` are Slurm's accounts, None while unknown.
    """

    usernames: frozenset[str] = frozenset()
    uids: frozenset[int] = frozenset()
    groups: Mapping[str, int | None] = field(default_factory=dict)
    accounts: frozenset[str] | None = None


Check = Callable[[NewDirectoryUser], Iterable[FieldError]]
"""Returns the errors in a new user by themselves."""


def decode_file(content: bytes) -> str:
    """Decode the file. Raises InvalidInput for anything but UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _file_error(NOT_UTF8) from error


NOT_UTF8 = (
    "This file isn't UTF-8 text. Save it again as “CSV UTF-8” (in a spreadsheet: Save as) "
    "to keep accented characters."
)


def read(text: str, defaults: Defaults = Defaults()) -> list[CsvLine]:
    """Parse all non-empty lines. Raises InvalidInput if this is not such a file."""
    text = text.removeprefix("\ufeff")
    if "\ufffd" in text or "\0" in text:
        raise _file_error(NOT_UTF8)
    rows = _iter_rows(text)
    _, header = next(rows, (0, []))
    columns = _parse_header(header)
    lines = [_parse_line(number, columns, cells, defaults) for number, cells in rows]
    if not lines:
        raise _file_error("This file has no users: there is no line below the header.")
    return lines


def _file_error(message: str) -> Exception:
    return invalid_input([FieldError("csv", message)])


def _iter_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and cells of each non-empty line."""
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before, seen = 0, 0
    try:
        for cells in reader:
            number, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            seen += 1
            if seen > MAX_LINES + 1:
                raise _file_error(f"This file has more than {MAX_LINES} users. Split it.")
            yield number, [cell.strip() for cell in cells]
    except csv.Error as error:
        message = f"Line {before + 1} can't be read: a quotation mark is missing or misplaced."
        raise _file_error(message) from error


def _parse_header(header: list[str]) -> list[str]:
    columns = [name.lower() for name in header]
    problems = [f"a column {name} is missing" for name in REQUIRED if name not in columns]
    problems += [
        f"there is no column {name[:40] or '(empty)'}" for name in columns if name not in COLUMNS
    ]
    problems += [
        f"the column {name} is listed twice" for name in COLUMNS if columns.count(name) > 1
    ]
    if problems:
        known = ", ".join(COLUMNS)
        raise _file_error(
            f"The first line must name the columns: {'; '.join(problems)}. Known: {known}."
        )
    return columns


def _parse_line(number: int, columns: list[str], cells: list[str], defaults: Defaults) -> CsvLine:
    if len(cells) > len(columns):
        message = f"This line has {len(cells)} cells, and there are {len(columns)} columns."
        return CsvLine(number, cells[0][:64], None, (ImportProblem("", message),))
    values = dict(zip(columns, cells, strict=False))
    problems = [
        ImportProblem(name, _NO_NUMBER) for name in ("uid", "gid") if not _is_number(values, name)
    ]
    problems += [
        ImportProblem(name, f"This may have at most {MAX_CELL} characters.")
        for name, value in values.items()
        if len(value) > MAX_CELL
    ]
    username = values.get("username", "")
    if problems:
        return CsvLine(number, username[:64], None, tuple(problems))
    user = NewUser(
        _to_entry(values),
        login_group=resolve_cell(values.get("login_group"), defaults.login_group),
        slurm_account=resolve_cell(values.get("slurm_account"), defaults.slurm_account),
    )
    return CsvLine(number, username[:64], user)


def resolve_cell(cell: str | None, default: str | None) -> str | None:
    """Resolve a cell of login_group or slurm_account."""
    return None if cell == NONE else cell or default


def _is_number(values: Mapping[str, str], name: str) -> bool:
    text = values.get(name, "")
    return not text or (text.isascii() and text.isdecimal() and len(text) <= 10)


def _to_entry(values: Mapping[str, str]) -> NewDirectoryUser:
    groups = (name.strip() for name in _SEPARATORS.split(values.get("groups", "")))
    return NewDirectoryUser(
        username=values.get("username", ""),
        given_name=values.get("given_name", ""),
        surname=values.get("surname", ""),
        display_name=values.get("display_name", ""),
        email=values.get("email") or None,
        uid=int(values["uid"]) if values.get("uid") else None,
        gid=int(values["gid"]) if values.get("gid") else None,
        home=values.get("home") or None,
        shell=values.get("shell") or None,
        groups=frozenset(name for name in groups if name),
    )


def check(
    lines: list[CsvLine], problems: Check, known: ExistingAccounts, primary_gid: int | None
) -> list[CsvLine]:
    """Return the lines with all errors added.

    Lines are checked by themselves, against each other and against the directory. Users that exist
    there are not checked further, as they are left unchanged.
    """
    first_name, first_uid = dict[str, int](), dict[int, int]()
    checked = []
    for line in lines:
        findings = [*line.findings]
        if line.username in first_name:
            message = f"Line {first_name[line.username]} has the same username."
            findings.append(ImportProblem("username", message))
        elif line.username:
            first_name[line.username] = line.number
        entry = line.user.entry if line.user else None
        if line.user is not None and entry is not None and not exists(line, known):
            findings += [ImportProblem(error.field, error.message) for error in problems(entry)]
            if entry.uid is not None and entry.uid in first_uid:
                message = f"Line {first_uid[entry.uid]} has the same UID."
                findings.append(ImportProblem("uid", message))
            elif entry.uid is not None:
                first_uid[entry.uid] = line.number
            findings += _check_against_directory(entry, known, primary_gid)
            findings += _check_access(line.user, known)
        checked.append(CsvLine(line.number, line.username, line.user, tuple(findings)))
    return checked


def exists(line: CsvLine, known: ExistingAccounts) -> bool:
    """Return whether the directory has a user of this name."""
    return line.username in known.usernames


def _check_against_directory(
    entry: NewDirectoryUser, known: ExistingAccounts, primary_gid: int | None
) -> Iterator[ImportProblem]:
    own_group = entry.gid is None and primary_gid is None
    if own_group and entry.username in known.groups:
        message = (
            f"A group named {entry.username} already exists, and each user gets a group of "
            "the same name."
        )
        yield ImportProblem("username", message)
    numbers = set(known.groups.values())
    if entry.uid is not None and entry.uid in known.uids:
        yield ImportProblem("uid", f"The UID {entry.uid} is already in use.")
    elif entry.uid is not None and own_group and entry.uid in numbers:
        yield ImportProblem("uid", f"The GID {entry.uid} is already in use.")
    if entry.gid is not None and entry.gid != primary_gid and entry.gid not in numbers:
        yield ImportProblem("gid", f"There is no group with the GID {entry.gid}.")
    for name in sorted(entry.groups - known.groups.keys()):
        yield ImportProblem("groups", f"There is no group {name[:64]}.")


def _check_access(user: NewUser, known: ExistingAccounts) -> Iterator[ImportProblem]:
    group, account = user.login_group, user.slurm_account
    if group is not None and group not in known.groups:
        yield ImportProblem("login_group", f"There is no group {group[:64]}.")
    if account is not None and known.accounts is not None and account not in known.accounts:
        yield ImportProblem("slurm_account", f"Slurm has no account {account[:64]}.")
