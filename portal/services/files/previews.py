"""Previews of the beginning of files: text, tables and image types. Pure, and linear in its input,
which may be crafted.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from typing import Any

MAX_ROWS = 200
MAX_COLUMNS = 200
MAX_CELL = 1000
SNIFFED_LINES = 20
DELIMITERS = (",", "\t", ";", "|")
TABLES = (".csv", ".tsv")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True)
class Text:
    """Text and the name of its encoding; a byte order mark is part of the encoding."""

    text: str
    encoding: str


def render_preview(name: str, data: bytes, size_bytes: int) -> dict[str, Any]:
    """Return the preview's `kind` and its fields: `image` {image_type}, `csv` {table}, `text`
    {text, encoding}, `binary`, `empty`. `truncated`: the file continues after this part.
    """
    truncated = len(data) < size_bytes
    if not size_bytes:
        return {"kind": "empty", "truncated": False}
    if image := image_type(data):
        return {"kind": "image", "image_type": image, "truncated": truncated}
    text = decode_text(data, cut=truncated)
    if text is None:
        return {"kind": "binary", "truncated": truncated}
    shown = {"text": text.text, "encoding": text.encoding, "truncated": truncated}
    if name.lower().endswith(TABLES):
        complete = text.text.rpartition("\n")[0] if truncated else text.text
        found_table = parse_table(complete)
        if found_table is not None:
            found_table["truncated"] = found_table["truncated"] or truncated
            return {"kind": "csv", "table": found_table, **shown}
    return {"kind": "text", **shown}


def image_type(data: bytes) -> str | None:
    """Return the type of an image that browsers display without running any code in it, else
    None.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def decode_text(data: bytes, *, cut: bool) -> Text | None:
    """Decode text; None if it is not text. `cut`: the end may be in the middle of a character."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode(data[len(bom) :], encoding, cut=cut)
    if _CONTROL.search(data):
        return None
    return _decode(data, "utf-8", cut=cut) or Text(data.decode("latin-1"), "latin-1")


def _decode(data: bytes, encoding: str, *, cut: bool) -> Text | None:
    codec = "utf-8" if encoding == "utf-8-sig" else encoding
    try:
        text = codecs.getincrementaldecoder(codec)().decode(data, final=not cut)
    except UnicodeDecodeError:
        return None
    return Text(text, encoding)


def encode_text(text: str, encoding: str) -> bytes:
    """Encode text, as the inverse of `decode_text`. Raises UnicodeEncodeError."""
    bom = next((bom for bom, name in _BOMS if name == encoding), b"")
    codec = "utf-8" if encoding == "utf-8-sig" else encoding
    return bom + text.encode(codec)


def parse_table(text: str) -> dict[str, Any] | None:
    """Parse the first rows of delimited text; None if it cannot be parsed."""
    delimiter = detect_delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    truncated = False
    try:
        for row in reader:
            if len(rows) > MAX_ROWS:
                truncated = True
                break
            if row:
                rows.append([cell[:MAX_CELL] for cell in row[:MAX_COLUMNS]])
    except csv.Error:
        return None
    if not rows:
        return None
    header = rows[0] if is_header(rows) else None
    body = rows[1:] if header else rows[:MAX_ROWS]
    width = max(map(len, rows))
    columns = [header[at] if header and at < len(header) else f"{at + 1}" for at in range(width)]
    return {
        "delimiter": delimiter,
        "has_header": header is not None,
        "columns": columns,
        "rows": body,
        "truncated": truncated,
    }


def detect_delimiter(text: str) -> str:
    """Return the delimiter that splits the first lines most evenly into the most parts."""
    lines = [line for line in text[: 64 << 10].splitlines()[:SNIFFED_LINES] if line.strip()]

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = [_count_outside_quotes(line, delimiter) for line in lines]
        usual = max(set(counts), key=counts.count) if counts else 0
        return (counts.count(usual) if usual else 0, usual)

    best = max(DELIMITERS, key=evenness)
    return best if evenness(best)[1] else ","


def _count_outside_quotes(line: str, delimiter: str) -> int:
    return sum(part.count(delimiter) for part in line.split('"')[::2])


def is_header(rows: list[list[str]]) -> bool:
    """Return whether the first row has names of columns: all different, none empty, none a number,
    and there are more rows.
    """
    first = rows[0]
    is_named = len(set(first)) == len(first) and all(cell.strip() for cell in first)
    return len(rows) > 1 and is_named and not any(map(_is_number, first))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
