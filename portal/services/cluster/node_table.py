"""The operator's table of nodes and their addresses, as YAML or CSV. Pure.

```yaml
node01: {in_band: 10.0.0.11, infiniband: 10.1.0.11, management: 10.2.0.11}
```

or a CSV file with the header `name,in_band,infiniband,management`; each but the name may be absent.
A line with a mistake is told by its number and left out, the others count.
"""

import csv
import io
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

import yaml

from spawner.catalog import check_depth

MOST_NAME = 253
"""The longest name of a host (RFC 1035)."""
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9-]{1,63})*\.?")
_NUMBERS = re.compile(r"[\d.]+|[^.]*:.*")
_NOTHING = frozenset({"", "-", "~", "null"})


@dataclass(frozen=True)
class Addresses:
    """Where a node can be reached; None: the table doesn't say."""

    in_band: str | None = None
    infiniband: str | None = None
    management: str | None = None


KINDS = tuple(column.name for column in fields(Addresses))
COLUMNS = ("name", *KINDS)


@dataclass(frozen=True)
class Problem:
    """What is wrong in a line, counted from 1; None: with the file."""

    line: int | None
    text: str

    def __str__(self) -> str:
        return self.text if self.line is None else f"line {self.line}: {self.text}"


@dataclass(frozen=True)
class Table:
    """What a file says. `complete` is False where it could not be read as a table at all."""

    nodes: Mapping[str, Addresses] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    complete: bool = True


@dataclass(frozen=True)
class _Row:
    line: int
    name: str
    values: Mapping[str, str]


def parse_csv(text: str) -> Table:
    """A header that names the columns, then a line for each node. Pure."""
    first = text.partition("\n")[0]
    lines = csv.reader(io.StringIO(text), strict=True, delimiter=";" if ";" in first else ",")
    problems: list[Problem] = []
    rows: list[_Row] = []
    try:
        header = [cell.strip() for cell in next(lines, [])]
        if "name" not in header or len(set(header)) < len(header):
            return unread(f"its first line must name the columns: {', '.join(COLUMNS)}", 1)
        problems += [_unknown(1, name, COLUMNS) for name in header if name not in COLUMNS]
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                text = f"it has {len(cells)} columns, and the first line {len(header)}"
                problems.append(Problem(lines.line_num, text))
                continue
            row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
            values = {kind: row[kind] for kind in KINDS if kind in row}
            rows.append(_Row(lines.line_num, row["name"], values))
    except csv.Error as error:
        return unread(f"it is no CSV ({error})", lines.line_num)
    return _table(rows, problems)


def parse_yaml(text: str) -> Table:
    """A mapping from nodes to their addresses. Pure."""
    try:
        check_depth(text)
        top = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "it can't be read"
        # What is missing at the end is told of a line behind the last one.
        line = min(mark.line, text.count("\n")) + 1 if mark else None
        return unread(f"this is no YAML: {why}", line)
    if top is None:
        return Table()
    if not isinstance(top, yaml.MappingNode):
        return unread("it must say for each node's name which addresses it has", 1)
    problems: list[Problem] = []
    rows = [row for key, value in top.value if (row := _yaml_row(key, value, problems)) is not None]
    return _table(rows, problems)


def _yaml_row(key: yaml.Node, value: yaml.Node, problems: list[Problem]) -> _Row | None:
    line = key.start_mark.line + 1
    if not isinstance(key, yaml.ScalarNode):
        problems.append(Problem(line, "a node's name is text"))
        return None
    if not isinstance(value, yaml.MappingNode):
        text = f"{_short(key.value)} needs its addresses as `in_band: 10.0.0.11`"
        problems.append(Problem(line, text))
        return None
    values: dict[str, str] = {}
    for kind, address in value.value:
        at = kind.start_mark.line + 1
        if not isinstance(kind, yaml.ScalarNode) or kind.value not in KINDS:
            problems.append(_unknown(at, kind.value if kind.id == "scalar" else "this", KINDS))
        elif not isinstance(address, yaml.ScalarNode):
            problems.append(Problem(at, f"{kind.value} is one address"))
        elif kind.value in values:
            problems.append(Problem(at, f"{kind.value} is there twice"))
        else:
            values[kind.value] = address.value.strip()
    return _Row(line, key.value.strip(), values)


def _table(rows: Iterable[_Row], problems: list[Problem]) -> Table:
    nodes: dict[str, Addresses] = {}
    owners: dict[str, str] = {}
    for row in rows:
        if not _is_host(row.name):
            problems.append(Problem(row.line, f"“{_short(row.name)}” is no name of a node"))
        elif row.name in nodes:
            problems.append(Problem(row.line, f"{row.name} is there twice; the first one counts"))
        else:
            good, wrong = _checked(row)
            problems += wrong
            problems += _taken(row, good, owners)
            nodes[row.name] = Addresses(**good)
    return Table(nodes, tuple(sorted(problems, key=lambda one: one.line or 0)))


def _checked(row: _Row) -> tuple[dict[str, str], list[Problem]]:
    """The addresses that can be ones, and what is wrong with the others."""
    said = {kind: text for kind, text in row.values.items() if text.lower() not in _NOTHING}
    good = {kind: text for kind, text in said.items() if is_address(text)}
    wrong = [
        Problem(row.line, f"{row.name}: {kind}: “{_short(text)}” is neither an address nor a name")
        for kind, text in said.items()
        if kind not in good
    ]
    return good, wrong


def _taken(row: _Row, good: Mapping[str, str], owners: dict[str, str]) -> Iterator[Problem]:
    """One address for two nodes is somebody's slip: told, and shown as it stands."""
    for kind, address in good.items():
        owner = owners.setdefault(address, row.name)
        if owner != row.name:
            yield Problem(row.line, f"{row.name}: {kind}: {address} is {owner}'s address already")


def is_address(text: str) -> bool:
    """An IPv4 or IPv6 address, or a host's name."""
    if _NUMBERS.fullmatch(text):
        try:
            ipaddress.ip_address(text)
        except ValueError:
            return False
        return True
    return _is_host(text)


def _is_host(text: str) -> bool:
    return len(text) <= MOST_NAME and _HOST.fullmatch(text) is not None


def _unknown(line: int, name: str, known: Sequence[str]) -> Problem:
    text = f"“{_short(name)}” isn't known here; what is: {', '.join(known)}"
    return Problem(line, text)


def unread(text: str, line: int | None = None) -> Table:
    """A file of which nothing can be made."""
    return Table(problems=(Problem(line, text),), complete=False)


def _short(text: str) -> str:
    """Anyone's text, for a message."""
    printable = "".join(c for c in text if c.isprintable())
    return printable if len(printable) <= 40 else f"{printable[:39]}…"
