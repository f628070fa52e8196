"""Outputs of one execution of a cell, built from the kernel's messages and bounded.

Pure.

The rules are those of the notebook format and of JupyterLab: consecutive text of one stream is one
output, and a carriage return overwrites the line.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT_CHARACTERS = 1_000_000
"""Longest text of one stream output; the middle of a longer one is left out."""
OUTPUT_BYTES = 8_000_000
"""Size of all outputs of a cell; of larger ones the middle is left out."""
LINE_CHARACTERS = 16_384
"""A longer line is stored in parts, of which a carriage return overwrites only the last."""
BLOCK_CHARACTERS = 1024
"""Lines are stored together up to this size, because each string takes about 60 bytes more."""
SHORT_CHARACTERS = 1000
"""Longest text that stays of a stream when the session has too many outputs."""
_CONTROL = re.compile("([\r\b])")
_RICH = frozenset({"display_data", "execute_result"})
_COMPARED = ("output_type", "name", "text", "data", "ename", "evalue")


def left_out(number: int, unit: str) -> str:
    """Return the note that replaces a left-out part."""
    return f"[{number} {unit} left out: the session keeps the beginning and the end of long output]"


@dataclass
class StreamText:
    """Text of a stream as a terminal shows it, with its middle left out beyond the limit."""

    limit: int = TEXT_CHARACTERS
    _beginning: list[str] = field(default_factory=list)
    _recent: deque[str] = field(default_factory=deque)
    _beginning_size: int = 0
    _recent_size: int = 0
    _dropped: int = 0
    _line: str = ""
    _cursor: int = 0

    def write(self, text: str) -> None:
        """Append text; `\\r` and `\\b` move the position in the current line."""
        *lines, last = text.split("\n")
        for line in lines:
            self._write_in_line(line)
            self._store(self._line + "\n")
            self._line, self._cursor = "", 0
        self._write_in_line(last)

    def _write_in_line(self, text: str) -> None:
        for part in _CONTROL.split(text):
            if part == "\r":
                self._cursor = 0
            elif part == "\b":
                self._cursor = max(0, self._cursor - 1)
            elif part:
                end = self._cursor + len(part)
                self._line = self._line[: self._cursor] + part + self._line[end:]
                self._cursor = end
                self._cut_line()

    def _cut_line(self) -> None:
        """Store the parts of a long line but the last."""
        cut = (len(self._line) - 1) // LINE_CHARACTERS * LINE_CHARACTERS
        for begin in range(0, cut, LINE_CHARACTERS):
            self._store(self._line[begin : begin + LINE_CHARACTERS])
        self._line, self._cursor = self._line[cut:], max(0, self._cursor - cut)

    def _store(self, text: str) -> None:
        if not self._recent and self._beginning_size + len(text) <= self.limit // 2:
            self._append(self._beginning, text)
            self._beginning_size += len(text)
            return
        self._append(self._recent, text)
        self._recent_size += len(text)
        while self._recent_size > self.limit // 2 and len(self._recent) > 1:
            size = len(self._recent.popleft())
            self._recent_size -= size
            self._dropped += size

    def _append(self, blocks: list[str] | deque[str], text: str) -> None:
        size = min(BLOCK_CHARACTERS, self.limit // 16)
        if blocks and len(blocks[-1]) + len(text) <= size:
            blocks[-1] += text
        else:
            blocks.append(text)

    @property
    def size(self) -> int:
        """Number of characters that are kept."""
        return self._beginning_size + self._recent_size + len(self._line)

    @property
    def truncated(self) -> bool:
        """Whether a part is left out."""
        return self._dropped > 0

    @property
    def text(self) -> str:
        """The text, with a note where a part is left out."""
        note = f"{left_out(self._dropped, 'characters')}\n" if self._dropped else ""
        return "".join((*self._beginning, note, *self._recent, self._line))


@dataclass
class CellOutput:
    """One output; `changed` is the version in which it changed last."""

    value: dict[str, Any]
    changed: int
    size: int = 0
    stream: StreamText | None = None
    display_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it in the notebook format."""
        return {**self.value, "text": self.stream.text} if self.stream else self.value


@dataclass
class CellOutputs:
    """Outputs of a cell; versions are numbers of the caller that only grow.

    `reset_at` is the version since which earlier outputs may have moved or been removed.
    """

    limit: int = OUTPUT_BYTES
    outputs: list[CellOutput] = field(default_factory=list)
    reset_at: int = 0
    size: int = 0
    _clear_before_next: bool = False
    _beginning: int | None = None
    _dropped: int = 0
    _shortened: bool = False

    @property
    def truncated(self) -> bool:
        """Whether a part is left out."""
        streams = (output.stream for output in self.outputs)
        return self._shortened or self._dropped > 0 or any(one and one.truncated for one in streams)

    def add_message(self, kind: str, content: Mapping[str, Any], version: int) -> bool:
        """Add a message of the kernel; return whether it changed or will change the outputs."""
        if kind == "clear_output":
            if content.get("wait"):
                self._clear_before_next = True
            else:
                self.clear(version)
            return True
        if kind not in {"stream", "error", *_RICH}:
            return False
        if self._clear_before_next:
            self.clear(version)
        if kind == "stream":
            name, text = str(content.get("name", "stdout")), str(content.get("text", ""))
            self._add_text(name, text, version)
        else:
            self._add(self._to_output(kind, content, version))
        self._drop_middle(version)
        return True

    def clear(self, version: int) -> None:
        """Remove all outputs."""
        self.outputs, self.size, self.reset_at = [], 0, version
        self._clear_before_next, self._beginning, self._dropped = False, None, 0
        self._shortened = False

    def shorten(self, version: int) -> None:
        """Keep, once, only the first and the last text, each without its middle."""
        if self._shortened:
            return
        texts = [output for output in self.outputs if output.value["output_type"] == "stream"]
        first, last = texts[:1], texts[1:][-1:]
        number = len(self.outputs) + self._dropped - len(first) - len(last)
        kept = [_short_stream(output.to_json()) for output in first + last]
        if number:
            note = {"output_type": "stream", "name": "stderr"}
            kept.insert(len(first), {**note, "text": left_out(number, "outputs") + "\n"})
        self.clear(version)
        for value in kept:
            self._add(CellOutput(value, version, len(value["text"])))
        self._shortened = True

    def update_display(self, display_id: str, content: Mapping[str, Any], version: int) -> bool:
        """Replace the outputs with this id; return whether there is one."""
        found = False
        for output in self.outputs:
            if output.display_id == display_id:
                value = {"data": content.get("data", {}), "metadata": content.get("metadata", {})}
                output.value = {**output.value, **value}
                self.size -= output.size
                output.size = _size_of(output.value)
                self.size += output.size
                output.changed, found = version, True
        if found:
            self._drop_middle(version)
        return found

    def to_json(self) -> list[dict[str, Any]]:
        """Return all outputs in the notebook format."""
        return [output.to_json() for output in self.outputs]

    def changed_since(self, version: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the position and content of the outputs that changed after this version."""
        numbered = enumerate(self.outputs)
        return [(at, output.to_json()) for at, output in numbered if output.changed > version]

    def _add_text(self, name: str, text: str, version: int) -> None:
        last = self.outputs[-1] if self.outputs else None
        stream = last.stream if last is not None and last.value.get("name") == name else None
        if last is None or stream is None:
            stream = StreamText(min(TEXT_CHARACTERS, self.limit))
            last = CellOutput({"output_type": "stream", "name": name}, version, stream=stream)
            self.outputs.append(last)
        stream.write(text)
        self.size += stream.size - last.size
        last.size, last.changed = stream.size, version

    def _to_output(self, kind: str, content: Mapping[str, Any], version: int) -> CellOutput:
        if kind == "error":
            fields: dict[str, Any] = {"ename": "", "evalue": "", "traceback": []}
        else:
            fields = {"data": {}, "metadata": {}}
            if kind == "execute_result":
                fields["execution_count"] = None
        picked = {name: content.get(name, default) for name, default in fields.items()}
        transient = content.get("transient")
        display_id = transient.get("display_id") if isinstance(transient, Mapping) else None
        output = CellOutput({"output_type": kind, **picked}, version, display_id=display_id)
        output.size = _size_of(output.value)
        return output

    def _add(self, output: CellOutput) -> None:
        self.outputs.append(output)
        self.size += output.size

    def _drop_middle(self, version: int) -> None:
        """Leave out the oldest outputs after those of the beginning, until the rest fits."""
        if self._beginning is None and self.size > self.limit // 2:
            self._beginning = len(self.outputs) - 1
        while self.size > self.limit and self._beginning is not None:
            at = self._beginning + (1 if self._dropped else 0)
            if at >= len(self.outputs):
                return
            self.size -= self.outputs.pop(at).size
            self._dropped += 1
            note = {"output_type": "stream", "name": "stderr"}
            text = left_out(self._dropped, "outputs") + "\n"
            if self._dropped == 1:
                self.outputs.insert(self._beginning, CellOutput(note, version))
            self.outputs[self._beginning].value = {**note, "text": text}
            self.outputs[self._beginning].changed = self.reset_at = version


def is_same_output(saved: Any, own: Mapping[str, Any]) -> bool:
    """Return whether an output of a saved notebook is this one."""
    if not isinstance(saved, Mapping):
        return False
    return all(_normalize(saved.get(name)) == _normalize(own.get(name)) for name in _COMPARED)


def _normalize(value: Any) -> Any:
    """Return text, which the notebook format allows as a list of lines, without its last spaces."""
    if isinstance(value, Mapping):
        return {name: _normalize(part) for name, part in value.items()}
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "".join(value)
    return value.rstrip() if isinstance(value, str) else value


def _short_stream(stream: dict[str, Any]) -> dict[str, Any]:
    """Return a stream output with the middle of its text left out."""
    text, half = stream["text"], SHORT_CHARACTERS // 2
    if len(text) <= SHORT_CHARACTERS:
        return stream
    note = left_out(len(text) - 2 * half, "characters")
    return {**stream, "text": f"{text[:half]}\n{note}\n{text[-half:]}"}


def _size_of(value: Mapping[str, Any]) -> int:
    """Return about the size of an output as JSON."""
    fields = (value.get(name, "") for name in ("ename", "evalue", "metadata"))
    parts = [*value.get("data", {}).values(), *value.get("traceback", ()), *fields]
    texts = (part if isinstance(part, str) else json.dumps(part) for part in parts)
    return 200 + sum(map(len, texts))
