"""A file of people to create: read and checked whole, before anybody is. Pure.

The first line names the columns. Everything that is wrong is told at once, by line and field; what
the directory holds already is handed in.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from portal.directory.contract import NewPerson
from portal.errors import FieldError, invalid_input

COLUMNS = (
    *("username", "given_name", "surname", "email", "groups"),
    *("uid", "gid", "home", "shell", "display_name"),
)
REQUIRED = ("username", "surname")
MAX_LINES = 10_000
MAX_CELL = 4096
_SEPARATORS = re.compile(r"[;,|]")
_NO_NUMBER = "This must be a whole number."


@dataclass(frozen=True)
class Finding:
    """What is wrong in one line; `field` is the column, "" where it is the line itself."""

    field: str
    message: str


@dataclass(frozen=True)
class Line:
    """One line of the file, by its number there. `person` None: it can't be read as one."""

    number: int
    username: str
    person: NewPerson | None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Known:
    """What the directory holds already: usernames, people's numbers, groups by name."""

    usernames: frozenset[str] = frozenset()
    uids: frozenset[int] = frozenset()
    groups: Mapping[str, int | None] = field(default_factory=dict)


Check = Callable[[NewPerson], Iterable[FieldError]]
"""Everything that is wrong with a new person by themselves."""


def decoded(content: bytes) -> str:
    """The text of a file. Raises InvalidInput for anything but UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(NOT_UTF8) from error


NOT_UTF8 = (
    "This file isn't UTF-8 text. Save it again as “CSV UTF-8” (in a spreadsheet: Save as), so that "
    "names with accents stay what they are."
)


def read(text: str) -> list[Line]:
    """Every line that isn't empty. Raises InvalidInput for what is no such file at all."""
    text = text.removeprefix("\ufeff")
    if "\ufffd" in text or "\0" in text:
        raise _refusal(NOT_UTF8)
    rows = _rows(text)
    _, header = next(rows, (0, []))
    columns = _columns(header)
    lines = [_line(number, columns, cells) for number, cells in rows]
    if not lines:
        raise _refusal("This file names nobody: there is no line below the columns.")
    return lines


def _refusal(message: str) -> Exception:
    return invalid_input([FieldError("csv", message)])


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, cells), without empty lines."""
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
                raise _refusal(f"This file has more than {MAX_LINES} people; divide it.")
            yield number, [cell.strip() for cell in cells]
    except csv.Error as error:
        message = f"Line {before + 1} can't be read: a quotation mark isn't closed or stands wrong."
        raise _refusal(message) from error


def _columns(header: list[str]) -> list[str]:
    columns = [name.lower() for name in header]
    problems = [f"a column {name} is missing" for name in REQUIRED if name not in columns]
    problems += [
        f"there is no column {name[:40] or '(empty)'}" for name in columns if name not in COLUMNS
    ]
    problems += [f"the column {name} is there twice" for name in COLUMNS if columns.count(name) > 1]
    if problems:
        known = ", ".join(COLUMNS)
        raise _refusal(
            f"The first line must name the columns: {'; '.join(problems)}. Known: {known}."
        )
    return columns


def _line(number: int, columns: list[str], cells: list[str]) -> Line:
    if len(cells) > len(columns):
        message = f"This line has {len(cells)} cells, and there are {len(columns)} columns."
        return Line(number, cells[0][:64], None, (Finding("", message),))
    values = dict(zip(columns, cells, strict=False))
    found = [Finding(name, _NO_NUMBER) for name in ("uid", "gid") if not _is_number(values, name)]
    found += [
        Finding(name, f"This may have at most {MAX_CELL} characters.")
        for name, value in values.items()
        if len(value) > MAX_CELL
    ]
    username = values.get("username", "")
    if found:
        return Line(number, username[:64], None, tuple(found))
    return Line(number, username[:64], _person(values))


def _is_number(values: Mapping[str, str], name: str) -> bool:
    text = values.get(name, "")
    return not text or (text.isascii() and text.isdecimal() and len(text) <= 10)


def _person(values: Mapping[str, str]) -> NewPerson:
    groups = (name.strip() for name in _SEPARATORS.split(values.get("groups", "")))
    return NewPerson(
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


def check(lines: list[Line], problems: Check, known: Known, primary_gid: int | None) -> list[Line]:
    """The same lines with all that is wrong with them: by themselves, against each other, and
    against the directory. Who exists there isn't looked at further: they are left as they are."""
    first_name, first_uid = dict[str, int](), dict[int, int]()
    checked = []
    for line in lines:
        found = [*line.findings]
        if line.username in first_name:
            message = f"Line {first_name[line.username]} has the same username."
            found.append(Finding("username", message))
        elif line.username:
            first_name[line.username] = line.number
        person = line.person
        if person is not None and not exists(line, known):
            found += [Finding(error.field, error.message) for error in problems(person)]
            if person.uid is not None and person.uid in first_uid:
                message = f"Line {first_uid[person.uid]} has the same number."
                found.append(Finding("uid", message))
            elif person.uid is not None:
                first_uid[person.uid] = line.number
            found += _against(person, known, primary_gid)
        checked.append(Line(line.number, line.username, line.person, tuple(found)))
    return checked


def exists(line: Line, known: Known) -> bool:
    """Whether the directory has somebody of this name."""
    return line.username in known.usernames


def _against(person: NewPerson, known: Known, primary_gid: int | None) -> Iterator[Finding]:
    own_group = person.gid is None and primary_gid is None
    if own_group and person.username in known.groups:
        message = f"There is a group called {person.username}, and everybody gets one of their own."
        yield Finding("username", message)
    numbers = set(known.groups.values())
    if person.uid is not None and person.uid in known.uids:
        yield Finding("uid", f"Somebody has the number {person.uid} already.")
    elif person.uid is not None and own_group and person.uid in numbers:
        yield Finding("uid", f"A group has the number {person.uid} already.")
    if person.gid is not None and person.gid != primary_gid and person.gid not in numbers:
        yield Finding("gid", f"No group has the number {person.gid}.")
    for name in sorted(person.groups - known.groups.keys()):
        yield Finding("groups", f"There is no group {name[:64]}.")
