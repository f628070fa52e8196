"""Every sentence of the portal has a Chinese translation, and the extraction lists are correct."""

import re
from collections.abc import Collection

import pytest

from tests import sentence_lists as lists
from tests import sentence_spelt as spelt
from tests.sentences import (
    GAP,
    all_texts,
    catalog_texts,
    is_displayed,
    module_files,
    sentences,
    texts_of,
    translations,
)

# Chinese characters and their punctuation
CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
# the kind of a placeholder in a translation
KIND = re.compile(r":(number|term)\}")
# identical in both languages: names of programs and frameworks, and numbers
NAMES = re.compile(r"[A-Za-z0-9 .]+")


def test_every_sentence_has_its_chinese() -> None:
    """`python -m tests.sentences` prints those without a translation."""
    known = translations()
    missing = [text for text in sentences() if text not in known]
    assert missing == [], "translate these in portal/i18n/zh.json"


def test_catalog_has_no_unused_texts() -> None:
    stale = translations().keys() - set(sentences())
    assert sorted(stale) == [], "take these out of portal/i18n/zh.json"


def test_a_translation_has_the_gaps_of_its_sentence() -> None:
    differing = {
        english: chinese
        for english, chinese in translations().items()
        if sorted(GAP.findall(english)) != sorted(GAP.findall(KIND.sub("}", chinese)))
    }
    assert differing == {}


def test_a_translation_is_chinese() -> None:
    english = {
        text: words
        for text, words in translations().items()
        if not CHINESE.search(words) and not (text.startswith(words) and NAMES.fullmatch(text))
    }
    assert english == {}


def test_gaps_are_apart_and_have_words_beside_them() -> None:
    """A pattern without words matches everything and must be spelled out (`SPELT_OUT`)."""
    vague = [
        text
        for text in translations()
        if re.search(r"\}\{", text) or not re.search(r"[A-Za-z]", GAP.sub("", text))
    ]
    assert vague == []


def test_texts_starting_with_a_gap_are_specific() -> None:
    """Slurm's administrators write reasons of their own, and a reason that matches “{0} was
    {1}.” would be taken for a sentence of the portal. Numbers do not count as such words."""
    vague = [
        text
        for text, words in translations().items()
        if (gap := re.match(r"\{(\d+)\}", text))
        and f"{{{gap[1]}:number}}" not in words
        and len(re.sub(r"\s", "", GAP.sub("", text))) < 12
    ]
    assert vague == [], "spell these out (SPELT_OUT), or begin them with a word"


@pytest.mark.parametrize(
    "named",
    [lists.NOT_DISPLAYED, lists.PIECES, spelt.PARTS, spelt.SPELT_OUT],
    ids=["NOT_DISPLAYED", "PIECES", "PARTS", "SPELT_OUT"],
)
def test_the_lists_name_only_what_is_in_the_sources(named: Collection[str]) -> None:
    assert sorted(set(named) - set(all_texts())) == []


def test_patterns_and_places_find_something() -> None:
    texts, files = all_texts(), [str(path) for path in module_files()]
    idle = [
        pattern.pattern
        for pattern in lists.NOT_DISPLAYED_LIKE
        if not any(pattern.search(text) for text in texts)
    ]
    assert idle == []
    assert len(files) == len(set(files))
    assert len(files) > 100
    assert len(catalog_texts()) > 100


def test_texts_are_read_as_templates() -> None:
    source = '''
"""A docstring of some words."""
LIMIT = "At most {most} of {kind:>3} can be had."
"""A name's own docstring."""
def waiting(n, name):
    log.warning("not displayed")
    return f"{n} job{'' if n == 1 else 's'} of {name!r} wait{'s' if n == 1 else ''}."
def joined(n):
    return "There are " + f"{n} things" + (f", for {n} minutes" if n else "")
'''
    assert texts_of(source) == [
        "At most {0} of {1} can be had.",
        "{0} job of {1} waits.",
        "{0} jobs of {1} wait.",
        "There are {0} things{1}",
        ", for {0} minutes",
        "",
    ]


def test_displayed_texts_differ_from_internal_ones() -> None:
    assert is_displayed("Something went wrong")
    assert is_displayed("memory")
    assert not is_displayed("invalid-input")
    assert not is_displayed("attachment; filename=x")
    assert not is_displayed("submit {0}")
