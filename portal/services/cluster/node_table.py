"""The operator's table of nodes and their addresses, as YAML or CSV. Pure.

```yaml
node01: {in_band: 10.0.0.11, infiniband: 10.1.0.11, management: 10.2.0.11}
```

or a CSV file with the header `name,in_band,infiniband,management`; all columns but the name are
optional. An invalid line is reported by its number and skipped; the others are used.
"""

import csv
import io
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

import yaml

from spawner.catalog.environment import check_depth
from spawner.names import remove_invisible

MAX_NAME = 253
"""Maximum length of a host name (RFC 1035)."""
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9-]{1,63})*\.?")
_IP_LIKE = re.compile(r"[\d.]+|[^.]*:.*")
_EMPTY = frozenset({"", "-", "~", "null"})


@dataclass(frozen=True)
class TableAddresses:
    """Addresses of a node; None if not in the table."""

    in_band: str | None = None
    infiniband: str | None = None
    management: str | None = None


KINDS = tuple(column.name for column in fields(TableAddresses))
COLUMNS = ("name", *KINDS)


@dataclass(frozen=True)
class TableProblem:
    """A mistake in a line, counted from 1; None if it concerns the whole file."""

    line: int | None
    text: str

    def __str__(self) -> str:
        return self.text if self.line is None else f"line {self.line}: {self.text}"


@dataclass(frozen=True)
class ParsedTable:
    """Contents of a file. `complete` is False if it could not be parsed as a table at all."""

    nodes: Mapping[str, TableAddresses] = field(default_factory=dict)
    problems: tuple[TableProblem, ...] = ()
    complete: bool = True


@dataclass(frozen=True)
class _Row:
    line: int
    name: str
    values: Mapping[str, str]


def parse_csv(text: str) -> ParsedTable:
    """Parse a header with the columns' names, then a line per node. Pure."""
    first = text.partition("\n")[0]
    lines = csv.reader(io.StringIO(text), strict=True, delimiter=";" if ";" in first else ",")
    problems: list[TableProblem] = []
    rows: list[_Row] = []
    try:
        header = [cell.strip() for cell in next(lines, [])]
        if "name" not in header or len(set(header)) < len(header):
            return unread(f"its first line must name the columns: {', '.join(COLUMNS)}", 1)
        problems += [
            _report_unknown_column(1, name, COLUMNS) for name in header if name not in COLUMNS
        ]
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                text = f"it has {len(cells)} columns, and the first line {len(header)}"
                problems.append(TableProblem(lines.line_num, text))
                continue
            row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
            values = {kind: row[kind] for kind in KINDS if kind in row}
            rows.append(_Row(lines.line_num, row["name"], values))
    except csv.Error as error:
        return unread(f"it isn't valid CSV ({error})", lines.line_num)
    return _build_table(rows, problems)


def parse_yaml(text: str) -> ParsedTable:
    """Parse a mapping from nodes to their addresses. Pure."""
    try:
        check_depth(text)
        top = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "it can't be read"
        # The parser reports a missing end as an error in a line after the last one.
        line = min(mark.line, text.count("\n")) + 1 if mark else None
        return unread(f"this isn't valid YAML: {why}", line)
    if top is None:
        return ParsedTable()
    if not isinstance(top, yaml.MappingNode):
        return unread("it must map each node name to its addresses", 1)
    problems: list[TableProblem] = []
    rows = [
        row
        for key, value in top.value
        if (row := _parse_yaml_row(key, value, problems)) is not None
    ]
    return _build_table(rows, problems)


def _parse_yaml_row(key: yaml.Node, value: yaml.Node, problems: list[TableProblem]) -> _Row | None:
    line = key.start_mark.line + 1
    if not isinstance(key, yaml.ScalarNode):
        problems.append(TableProblem(line, "a node name must be text"))
        return None
    if not isinstance(value, yaml.MappingNode):
        text = f"{_shorten(key.value)} needs its addresses as `in_band: 10.0.0.11`"
        problems.append(TableProblem(line, text))
        return None
    values: dict[str, str] = {}
    for kind, address in value.value:
        line_number = kind.start_mark.line + 1
        if not isinstance(kind, yaml.ScalarNode) or kind.value not in KINDS:
            problems.append(
                _report_unknown_column(
                    line_number, kind.value if kind.id == "scalar" else "this", KINDS
                )
            )
        elif not isinstance(address, yaml.ScalarNode):
            problems.append(TableProblem(line_number, f"{kind.value} must be a single address"))
        elif kind.value in values:
            problems.append(TableProblem(line_number, f"{kind.value} is listed twice"))
        else:
            values[kind.value] = address.value.strip()
    return _Row(line, key.value.strip(), values)


def _build_table(rows: Iterable[_Row], problems: list[TableProblem]) -> ParsedTable:
    nodes: dict[str, TableAddresses] = {}
    owners: dict[str, str] = {}
    for row in rows:
        if not _is_host(row.name):
            problems.append(
                TableProblem(row.line, f"“{_shorten(row.name)}” isn't a valid node name")
            )
        elif row.name in nodes:
            problems.append(
                TableProblem(row.line, f"{row.name} is listed twice; the first entry is used")
            )
        else:
            good, invalid = _split_valid(row)
            problems += invalid
            problems += _find_duplicates(row, good, owners)
            nodes[row.name] = TableAddresses(**good)
    return ParsedTable(nodes, tuple(sorted(problems, key=lambda problem: problem.line or 0)))


def _split_valid(row: _Row) -> tuple[dict[str, str], list[TableProblem]]:
    """Split the row into valid addresses, and problems for the invalid ones."""
    given = {kind: text for kind, text in row.values.items() if text.lower() not in _EMPTY}
    good = {kind: text for kind, text in given.items() if is_address(text)}
    problems = [
        TableProblem(
            row.line, f"{row.name}: {kind}: “{_shorten(text)}” is neither an address nor a name"
        )
        for kind, text in given.items()
        if kind not in good
    ]
    return good, problems


def _find_duplicates(
    row: _Row, good: Mapping[str, str], owners: dict[str, str]
) -> Iterator[TableProblem]:
    """Report an address that two nodes have, which is probably a mistake; it is shown
    nevertheless.
    """
    for kind, address in good.items():
        owner = owners.setdefault(address, row.name)
        if owner != row.name:
            yield TableProblem(
                row.line, f"{row.name}: {kind}: {address} is already the address of {owner}"
            )


def is_address(text: str) -> bool:
    """Return whether the text is an IPv4 or IPv6 address, or a host name."""
    if _IP_LIKE.fullmatch(text):
        try:
            ipaddress.ip_address(text)
        except ValueError:
            return False
        return True
    return _is_host(text)


def _is_host(text: str) -> bool:
    return len(text) <= MAX_NAME and _HOST.fullmatch(text) is not None


def _report_unknown_column(line: int, name: str, known: Sequence[str]) -> TableProblem:
    text = f"“{_shorten(name)}” isn't a known column; known columns: {', '.join(known)}"
    return TableProblem(line, text)


def unread(text: str, line: int | None = None) -> ParsedTable:
    """Return the table for a file that cannot be parsed."""
    return ParsedTable(problems=(TableProblem(line, text),), complete=False)


def _shorten(text: str) -> str:
    """Shorten arbitrary text, and make it printable, for a message."""
    printable = remove_invisible(text)
    return printable if len(printable) <= 40 else f"{printable[:39]}…"
