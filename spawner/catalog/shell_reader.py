"""Safety rules for a template's script: where values may stand, and which names it may use.

Pure.

A value is quoted as one shell word, so it must stand where a word can stand. Inside quotes,
comments, here-documents or arithmetic the quoting would become part of the text, or worse; such
places are detected here, when a template is loaded, rather than when a user enters a `$(…)`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, meta
from jinja2 import TemplateError as JinjaError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from spawner.catalog.launch_files import quote

MARK = "\x01"
"""Placeholder for a value, {{ … }}, in a script with its Jinja2 tags removed."""
TAG = "\x02"
"""Placeholder for a statement, {% … %}."""
_WORD = r"(?<![\w./=-])(?:{})(?![\w./=-])"
_SHELL = r"(?<![\w.-])(?:ba|da|z|k|mk|a|c|tc|fi)?sh(?![\w.-])"
_OPTIONS = r"(?:\s+(?:[-+]\w*[oO]\s+\w+|--(?:rcfile|init-file)\s+\S+|[-+]\S+))*?"
_VALUE = r"[^;&|\n]*\s\x01"  # in the same command, at the beginning of a word
_READ_AGAIN = re.compile(
    "|".join(
        (
            _WORD.format("eval|let|trap|ssh"),
            r"\[\[(?=\s)|\(\(",
            rf"{_SHELL}{_OPTIONS}\s+-\w*c\w*",
            rf"{_SHELL}[^\n]*(?=<<<)|<<<[^\n]*{_SHELL}",
            rf"\|[^|\n]*{_SHELL}(?:\s+[-+]\S+)*\s*(?=$|[;&|)])",
            r"(?:^|(?<=[\s;&|(]))(?:source|\.)\s+(?:/dev/|/proc/|<\()",
            _WORD.format("declare|local|typeset|export|readonly") + r"(?=[^;&|\n]*\s[-+]\w*i)",
            _WORD.format("declare|local|typeset|export|readonly") + rf"(?={_VALUE})",
            _WORD.format("read|unset|mapfile|readarray|getopts") + r"(?=[^;&|<\n]*\s\S*\x01)",
            r"(?<![\w./=-])printf\s+-v(?=\s*\S*\x01)",
            r"(?:(?<![\w./=-])test|(?<!\S)\[)(?=\s[^;&|\n]*-[vR]\s+\S*\x01)",
        )
    )
)
"""Matches what evaluates a word again, as a program, as arithmetic or as a variable's name."""
_OPENINGS = {"${": "}", "$[": "]", "((": ")", "[[": "]]"}
_HERE_DOCUMENT = re.compile(r"<<(-?)\s*(['\"\\]?)([A-Za-z_][A-Za-z0-9_]*)['\"]?")


def environment(**more: Any) -> ImmutableSandboxedEnvironment:
    """Return the Jinja2 environment in which every template's script is parsed and rendered."""
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
    """Yield the problems of a template's script, which may use the variables `names`."""
    jinja = environment()
    try:
        tree = jinja.parse(script)
        used = meta.find_undeclared_variables(tree)  # also raises an error for unknown filters
        marked = _mark_tags(jinja, script)
    except TemplateSyntaxError as error:
        yield f"line {error.lineno}: {error.message}"
        return
    except RecursionError:
        yield "its expressions are nested too deeply"
        return
    for name in sorted(used - set(names)):
        yield f"{name} is not one of the parameters"
    for included in list(meta.find_referenced_templates(tree))[:1]:
        yield f"{included or 'a file'} can't be included: a script stands by itself"
    if any(ord(character) < 32 and character not in "\n\t" for character in script):
        yield "it holds control characters"
        return
    for number, line in enumerate(script.splitlines(), start=1):
        if line.startswith("#SBATCH"):
            yield f"line {number}: resources are asked for in default_resources, not by #SBATCH"
    yield from _find_misplaced(marked)


class ShellWord(str):
    """Text that already is a shell word: jobscript.py creates them for a task's values."""

    __slots__ = ()


class Unrenderable(Exception):
    """A script cannot be rendered with its values; the text is the reason."""


def render(script: str, values: Mapping[str, Any]) -> str:
    """Return the script with each value quoted in place. Raises Unrenderable."""
    try:
        return environment(finalize=words).from_string(script).render(values)
    except (
        JinjaError,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,  # includes RecursionError
        TypeError,
        ValueError,
    ) as error:  # everything that an expression of the template can raise
        raise Unrenderable(str(error) or type(error).__name__) from error


def words(value: object) -> str:
    """Return the text for a value in a script: one shell word, or one per element of a list."""
    if isinstance(value, ShellWord):
        return value
    if isinstance(value, (list, tuple)):
        return " ".join(words(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return quote("")
    if isinstance(value, (str, int, float)):
        return quote(str(value))
    raise TypeError(f"{type(value).__name__} can't be put into a script")


def _mark_tags(jinja: ImmutableSandboxedEnvironment, script: str) -> str:
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
    """Minimal shell parser, sufficient to determine whether a position is that of a word."""

    text: str
    at: int = 0
    line: int = 1
    state: str = ""
    documents: list[tuple[str, bool]] = field(default_factory=list)
    within: list[tuple[str, str]] = field(default_factory=list)
    """Open constructs that evaluate their words again: opening and closing text of each."""
    flat: list[str] = field(default_factory=list)
    """The text's characters, without comments and without quoted command separators."""

    def problems(self) -> Iterator[str]:
        self.flat = [" " if character == TAG else character for character in self.text]
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in (MARK, TAG):
                yield from self._check_tag(character)
            elif character == "\n":
                self.line += 1
                self._end_of_line()
                yield from self._skip_here_documents()
            elif self.state:
                self._read_quoted(character)
            else:
                self._read_plain(character)
            self.at += 1
        if self.state not in ("", "a comment"):
            yield f"{self.state} isn't closed"

    def _check_tag(self, character: str) -> Iterator[str]:
        what = "{{ … }}" if character == MARK else "{% … %}"
        before, after = self.text[self.at - 1 : self.at], self.text[self.at + 1 : self.at + 2]
        if self.state:
            yield f"line {self.line}: {what} stands in {self.state}"
        elif character == MARK and (before in ("$", "\\") or after in ("<", ">")):
            yield f"line {self.line}: {what} stands beside {before + after!r}"
        elif character == MARK and self.within:
            yield _reevaluation_message(self.line, self.within[-1][0])

    def _read_plain(self, character: str) -> None:
        before = self.text[self.at - 1] if self.at else "\n"
        if not self._read_bracket(character, before):
            self._read_quote(character, before)

    def _read_bracket(self, character: str, before: str) -> bool:
        """Handle a bracket of a construct that evaluates its words again; return whether it was."""
        opening = self.text[self.at : self.at + 2]
        if self.within and self.text.startswith(self.within[-1][1], self.at):
            self.at += len(self.within.pop()[1]) - 1
        elif opening in _OPENINGS and (opening != "[[" or self._is_test(before)):
            closing = _OPENINGS[opening]
            self.within += [(opening, closing)] * (2 if opening == "((" else 1)
            self.at += 1
        elif character == "[" and (before.isalnum() or before == "_"):
            self.within.append((before + "[", "]"))
        elif self.within and character in "([" and self.within[-1][0] != "[[":
            self.within.append((self.within[-1][0], ")" if character == "(" else "]"))
        else:
            return False
        return True

    def _is_test(self, before: str) -> bool:
        after = self.text[self.at + 2 : self.at + 3]
        return (before.isspace() or before in (*";(&|!{", TAG)) and (
            after.isspace() or after == MARK
        )

    def _read_quote(self, character: str, before: str) -> None:
        if character == "\\":
            if self.text[self.at + 1 : self.at + 2] == "\n":
                self.flat[self.at : self.at + 2] = "  "
            elif self.text[self.at + 1 : self.at + 2] not in (MARK, TAG):
                self.at += 1
        elif character == "'":
            self.state = "$'…'" if before == "$" else "single quotes"
        elif character == '"':
            self.state = "double quotes"
        elif character == "`":
            self.state = "backquotes"
        elif (
            character == "#"
            and not self.within
            and (before.isspace() or before in (";", "(", "&", "|", TAG))
        ):
            self.state = "a comment"
            self.flat[self.at] = " "
        elif (
            not self.within
            and before != "<"
            and (found := _HERE_DOCUMENT.match(self.text, self.at))
        ):
            self.documents.append((found[3], found[1] == "-"))
            self.at = found.end() - 1

    def _read_quoted(self, character: str) -> None:
        closing = {"single quotes": "'", "$'…'": "'", "double quotes": '"', "backquotes": "`"}
        if self.state == "a comment" or character in ";&|":
            self.flat[self.at] = " "
        if character == "\\" and self.state in ("double quotes", "backquotes", "$'…'"):
            if self.text[self.at + 1 : self.at + 2] not in (MARK, TAG, "\n"):
                self.at += 1
        elif closing.get(self.state) == character:
            self.state = ""

    def _end_of_line(self) -> None:
        if self.state == "a comment":
            self.state = ""
        elif self.state:
            self.flat[self.at] = " "

    def _skip_here_documents(self) -> Iterator[str]:
        """Skip the here-documents that begin after this line."""
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


def _find_misplaced(text: str) -> Iterator[str]:
    reader = _Reader(text)
    problems = list(reader.problems())
    start = 0
    for piece in "".join(reader.flat).split("\n"):
        found = _READ_AGAIN.search(piece)
        if MARK in piece and found:
            line = text.count("\n", 0, start) + 1
            problems.append(_reevaluation_message(line, found[0].replace(MARK, "{{ … }}").strip()))
        start += len(piece) + 1
    yield from dict.fromkeys(problems)


def _reevaluation_message(line: int, beside: str) -> str:
    return (
        f"line {line}: {{{{ … }}}} stands beside {beside}, which would read its value as a program"
    )
