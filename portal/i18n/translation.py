"""Translation of the portal's own sentences outside of the pages, for example in e-mails.

Sentences are created, stored and sent to several users in English, and translated where they are
read (docs/decisions/0013): in the pages by frontend/src/i18n/translate.ts, here by the same rules
and the same catalog, zh.json. A sentence without a translation stays English. Pure except for
reading the catalog, once.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]
TAGS: dict[Language, str] = {"en": "en", "zh": "zh-CN"}
"""Language tags for headers and pages (BCP 47)."""

_CATALOGUE = Path(__file__).with_name("zh.json")
_GAP = re.compile(r"\{(\d+)\}")
_FILLED = re.compile(r"(?P<left> ?)\{(?P<number>\d+)(?::[a-z]+)?\}(?P<right> ?)")
_KIND = re.compile(r"\{(\d+):(number|term)\}")
_LATIN = re.compile(r"[\w()]", re.ASCII)
_NUMBER = re.compile(r"\d[\d.,:]*", re.ASCII)
_QUOTED = re.compile(r"[“\"']$")
_FIRST_WORD = re.compile(r"[^\s{}]+(?=\s)")
_BETWEEN = re.compile(r"(?<=[.!?…])[ ](?=[A-Z“])|(?<=[.!?…][”’)])[ ](?=[A-Z“])")
_LISTS = ((", ", "、"), (" and ", "和"), (" or ", "或"))
_MAX_LENGTH, _MAX_SENTENCES = 2000, 12
# Limits of recursion and of attempts per text, because the text may come from any user.
_MAX_DEPTH, _MAX_TRIES = 8, 500
_STOPS = ("。", "！", "？")
_ENDS = (*_STOPS, "：", "；", "，", "、", "”", "）")


@dataclass(frozen=True)
class _Template:
    words: tuple[str, ...]
    numbers: tuple[str, ...]
    translation: str
    kinds: Mapping[str, str]
    """The kinds of gaps, as marked in the translation: {0:number}, and {0:term} for the portal's
    own text, which is translated even if it is a single word.
    """

    @property
    def fixed(self) -> int:
        return sum(map(len, self.words))

    @functools.cached_property
    def short(self) -> bool:
        """Return whether the template has only one word besides its gaps, as in "{0} hours"."""
        filled = [word for word in self.words if word.strip()]
        return len(filled) == 1 and not re.search(r"\S\s+\S", "".join(self.words))

    def pieces(self, text: str) -> list[str] | None:
        """Return the contents of the gaps, each as short as possible; None if the text does not
        match.
        """
        first, *others, last = self.words
        if not (text.startswith(first) and text.endswith(last)):
            return None
        end, start, contents = len(text) - len(last), len(first), []
        for word in others:
            at = text.find(word, start + 1)
            if at < 0:
                return None
            contents.append(text[start:at])
            start = at + len(word)
        if start >= end:
            return None
        contents.append(text[start:end])
        return contents if self._accepts(contents) else None

    def _accepts(self, pieces: list[str]) -> bool:
        if self.short and any(" " in piece for piece in pieces):
            return False
        return all(
            _NUMBER.fullmatch(piece)
            for number, piece in zip(self.numbers, pieces, strict=True)
            if self.kinds.get(number) == "number"
        )


class Translator:
    """Translates with one catalog, which maps an English template to one in another language. Gaps
    are {0}, {1} …
    """

    def __init__(self, catalogue: Mapping[str, str]) -> None:
        self._exact: dict[str, str] = {}
        self._by_word: dict[str, list[_Template]] = {}
        for english, translation in catalogue.items():
            words, numbers = _GAP.split(english)[::2], _GAP.findall(english)
            if not numbers:
                self._exact[english] = translation
                continue
            kinds = dict(_KIND.findall(translation))
            template = _Template(tuple(words), tuple(numbers), translation, kinds)
            self._by_word.setdefault(_first_word(english), []).append(template)
        for some in self._by_word.values():
            some.sort(key=lambda template: -template.fixed)

    def translate(self, text: str) -> str:
        """Return the translated sentence; the sentence itself if there is no translation."""
        return _Translation(self).translated(text) or text

    def exact(self, text: str) -> str | None:
        """Return the translation of a text without gaps."""
        return self._exact.get(text)

    def matches(self, text: str) -> Iterator[tuple[_Template, list[str]]]:
        """Iterate over the templates that match a text, the closest first."""
        word = _first_word(text)
        for some in (self._by_word.get(word, []) if word else [], self._by_word.get("", [])):
            for template in some:
                pieces = template.pieces(text)
                if pieces is not None:
                    yield template, pieces


class _Translation:
    """The translation of one text."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._depth, self._tries = 0, 0

    def translated(self, text: str) -> str | None:
        if len(text) > _MAX_LENGTH:
            return None
        return (
            self._translate_whole(text)
            or self._translate_sentences(text)
            or self._translate_exact(text, across=True)
        )

    def _translate_whole(self, text: str) -> str | None:
        return (
            self._translate_list(text, "; ", "；")
            or self._translate_exact(text)
            or self._translate_bare(text)
        )

    def _translate_exact(self, text: str, *, across: bool = False) -> str | None:
        """Return the translation by the closest matching template; `across`: its gaps may contain
        ends of sentences.
        """
        self._tries += 1
        if self._tries > _MAX_TRIES:
            return None
        exact = self._translator.exact(text)
        if exact is not None:
            return exact
        for template, pieces in self._translator.matches(text):
            if across or not any(_BETWEEN.search(piece) for piece in pieces):
                return self._fill(template, pieces)
        return None

    def _fill(self, template: _Template, pieces: list[str]) -> str:
        """Fill the translated template.

        Pieces are translated too, except users' own words, which are in quotation marks.
        """
        own = dict(zip(template.numbers, zip(template.words, pieces, strict=False), strict=False))

        def piece(gap: re.Match[str]) -> str:
            before, text = own[gap["number"]]
            kind = "own" if _QUOTED.search(before) else template.kinds.get(gap["number"], "words")
            text = self._translate_gap(text, kind)
            left = gap.string[: gap.start()][-1:]
            right = gap.string[gap.end() :][:1]
            return (
                f"{_separator(left, text[:1], gap['left'])}{text}"
                f"{_separator(text[-1:], right, gap['right'])}"
            )

        return _FILLED.sub(piece, template.translation)

    def _translate_gap(self, text: str, kind: str) -> str:
        """Translate the content of a gap.

        A single word is the user's own, except in gaps for the portal's terms.
        """
        if kind in ("own", "number") or (kind == "words" and " " not in text):
            return text
        if self._depth == _MAX_DEPTH:
            return text
        self._depth += 1
        translation = self.translated(text) or self._translate_any_list(text, kind)
        self._depth -= 1
        return translation or text

    def _translate_list(self, text: str, between: str, sign: str, kind: str = "term") -> str | None:
        if between not in text:
            return None
        translated = [
            self._translate_exact(piece) if kind == "term" or " " in piece else None
            for piece in text.split(between)
        ]
        known = [piece for piece in translated if piece is not None]
        if len(known) < len(translated):
            return None
        joined = known[0]
        for piece in known[1:]:
            joined += f"{_separator(joined[-1:], sign)}{sign}{_separator(sign, piece[:1])}{piece}"
        return joined

    def _translate_any_list(self, text: str, kind: str) -> str | None:
        tries = (self._translate_list(text, between, sign, kind) for between, sign in _LISTS)
        return next((translation for translation in tries if translation), None)

    def _translate_bare(self, text: str) -> str | None:
        """Translate a text that was made a sentence by a capital letter and a full stop."""
        if not text.endswith("."):
            return None
        big = text[:-1]
        for variant in (big, big[:1].lower() + big[1:]):
            translation = self._translate_list(variant, "; ", "；") or self._translate_exact(
                variant
            )
            if translation:
                return translation if translation.endswith(_STOPS) else f"{translation}。"
        return None

    def _translate_sentences(self, text: str) -> str | None:
        """Translate sentence by sentence, several of them together if the catalog has them as
        one.
        """
        sentences = _BETWEEN.split(text)
        if not 1 < len(sentences) <= _MAX_SENTENCES:
            return None
        parts, start, known = [], 0, False
        while start < len(sentences):
            ends = range(len(sentences), start, -1)
            tries = ((self._translate_whole(" ".join(sentences[start:end])), end) for end in ends)
            translation, end = next((attempt for attempt in tries if attempt[0]), (None, start + 1))
            known = known or translation is not None
            parts.append(translation or sentences[start])
            start = end
        return _join(parts) if known else None


def _first_word(text: str) -> str:
    match = _FIRST_WORD.match(text)
    return match[0] if match else ""


def _separator(before: str, after: str, written: str = "") -> str:
    """Return the separator of two characters: a space between Chinese and Latin, nothing between
    two Chinese ones.
    """
    ideographs = sum("\u3400" <= sign <= "\u9fff" for sign in (before, after))
    if ideographs == 2:
        return ""
    latin = any(_LATIN.fullmatch(sign) for sign in (before, after))
    return " " if ideographs == 1 and latin else written


def _join(parts: list[str]) -> str:
    joined = ""
    for part in parts:
        joined += part if not joined or joined.endswith(_ENDS) else f" {part}"
    return joined


@functools.cache
def chinese() -> Translator:
    """Return the translator with zh.json."""
    return Translator(json.loads(_CATALOGUE.read_text()))


def translate(text: str, language: Language) -> str:
    """Translate one of the portal's sentences to this language."""
    return text if language == "en" else chinese().translate(text)
