"""What makes a template's script safe: where in it values stand, and what may be named. Pure.

A value is quoted as one word of the shell, so it must stand where a word can stand. Inside quotes,
comments, here-documents or arithmetic the quoting would end up as text, or worse; those places are
found here, when a template is loaded, and not when someone fills in a `$(…)`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

MARK = "\x01"
"""Stands for a value, {{ … }}, in a script whose Jinja2 tags are taken out."""
TAG = "\x02"
"""Stands for a statement, {% … %}."""
_READ_AGAIN = re.compile(r"\beval\b|\blet\b|\btrap\b|\[\[|\(\(|\bsh\s+-\w*c\b|\bbash\s+-\w*c\b")
_HERE_DOCUMENT = re.compile(r"<<(-?)\s*(['\"\\]?)([A-Za-z_][A-Za-z0-9_]*)['\"]?")


def environment(**more: Any) -> ImmutableSandboxedEnvironment:
    """Jinja2 as every template's script is read and rendered."""
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        comment_start_string="{##",  # the shell has ${#name}
        comment_end_string="##}",
        **more,
    )


def script_problems(script: str, names: Collection[str]) -> Iterator[str]:
    """What is wrong with a template's script, whose values may be those of `names`."""
    jinja = environment()
    try:
        tree = jinja.parse(script)
    except TemplateSyntaxError as error:
        yield f"line {error.lineno}: {error.message}"
        return
    for name in sorted(meta.find_undeclared_variables(tree) - set(names)):
        yield f"{name} is not one of the parameters"
    if meta_problem := next(meta.find_referenced_templates(tree), ""):
        yield f"{meta_problem} can't be included: a script stands by itself"
    if any(ord(character) < 32 and character not in "\n\t" for character in script):
        yield "it holds control characters"
        return
    for number, line in enumerate(script.splitlines(), start=1):
        if line.startswith("#SBATCH"):
            yield f"line {number}: resources are asked for in default_resources, not by #SBATCH"
    yield from _places(_marked(jinja, script))


def _marked(jinja: ImmutableSandboxedEnvironment, script: str) -> str:
    text = ""
    for _, kind, value in jinja.lex(script):
        if kind == "data":
            text += value
        elif kind == "variable_begin":
            text += MARK
        elif kind == "block_begin":
            text += TAG
    return text


@dataclass
class _Reader:
    """A small part of a shell's reader: enough to know whether a place is a word's."""

    text: str
    at: int = 0
    line: int = 1
    state: str = ""
    documents: list[tuple[str, bool]] = field(default_factory=list)

    def problems(self) -> Iterator[str]:
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in (MARK, TAG):
                yield from self._tag(character)
            elif character == "\n":
                self.line += 1
                self._end_of_line()
                yield from self._here_documents()
            elif self.state:
                self._inside(character)
            else:
                self._plain(character)
            self.at += 1
        if self.state not in ("", "a comment"):
            yield f"{self.state} isn't closed"

    def _tag(self, character: str) -> Iterator[str]:
        what = "{{ … }}" if character == MARK else "{% … %}"
        before, after = self.text[self.at - 1 : self.at], self.text[self.at + 1 : self.at + 2]
        if self.state:
            yield f"line {self.line}: {what} stands in {self.state}"
        elif character == MARK and (before in ("$", "\\") or after in ("<", ">")):
            yield f"line {self.line}: {what} stands beside {before + after!r}"

    def _plain(self, character: str) -> None:
        before = self.text[self.at - 1] if self.at else "\n"
        if character == "\\":
            if self.text[self.at + 1 : self.at + 2] not in (MARK, TAG, "\n"):
                self.at += 1
        elif character == "'":
            self.state = "$'…'" if before == "$" else "single quotes"
        elif character == '"':
            self.state = "double quotes"
        elif character == "`":
            self.state = "backquotes"
        elif character == "#" and (before.isspace() or before in (";", "(", "&", "|", TAG)):
            self.state = "a comment"
        elif before != "<" and (found := _HERE_DOCUMENT.match(self.text, self.at)):
            self.documents.append((found[3], found[1] == "-"))
            self.at = found.end() - 1

    def _inside(self, character: str) -> None:
        closing = {"single quotes": "'", "$'…'": "'", "double quotes": '"', "backquotes": "`"}
        if character == "\\" and self.state in ("double quotes", "backquotes", "$'…'"):
            if self.text[self.at + 1 : self.at + 2] not in (MARK, TAG, "\n"):
                self.at += 1
        elif closing.get(self.state) == character:
            self.state = ""

    def _end_of_line(self) -> None:
        if self.state == "a comment":
            self.state = ""

    def _here_documents(self) -> Iterator[str]:
        """Skip the documents that begin after this line."""
        while self.documents and not self.state:
            word, tabs = self.documents.pop(0)
            while self.at + 1 < len(self.text):
                end = self.text.find("\n", self.at + 1)
                end = len(self.text) if end < 0 else end
                body = self.text[self.at + 1 : end]
                self.at = end
                if (body.lstrip("\t") if tabs else body) == word:
                    self.line += 1
                    break
                if MARK in body or TAG in body:
                    yield f"line {self.line}: a {{{{ … }}}} or {{% … %}} stands in a here-document"
                self.line += 1


def _places(text: str) -> Iterator[str]:
    yield from _Reader(text).problems()
    line = 1
    for piece in re.split(r"(?<!\\)\n", text):
        found = _READ_AGAIN.search(piece)
        if MARK in piece and found:
            yield (
                f"line {line}: {{{{ … }}}} stands beside {found[0]}, which would read its value"
                " as a program"
            )
        line += piece.count("\n") + 1
