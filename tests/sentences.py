"""The portal's sentences for users, as templates with numbered placeholders. Pure.

The pages translate them where they display them (docs/decisions/0013), with the catalog
portal/i18n/zh.json. This module extracts them from the sources, so that none is missing:
tests/unit/portal/i18n/test_sentences.py compares the two, and `python -m tests.sentences` prints
those without a translation. `tests/sentence_lists.py` and `tests/sentence_spelt.py` define which
texts are sentences.
"""

import ast
import functools
import itertools
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.sentence_lists import (
    CATALOG_PLACES,
    EXTRA,
    MODULES,
    NOT_DISPLAYED,
    NOT_DISPLAYED_LIKE,
    OTHERS,
    PIECES,
)
from tests.sentence_spelt import PARTS, SPELT_OUT

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "portal/i18n/zh.json"
CATALOG = ROOT / "spawner/catalog"
DEMO = ROOT / "cluster/cluster.toml"
PROBLEMS = ROOT / "deploy/templates"

# Two adjacent words: anything less is a key, a name or a part of a sentence (PIECES).
_WORDS = re.compile(r"[^\W\d_]{2,}[,;:’”)]* [^\W\d_{“]")
# Functions with arguments that are never displayed in a browser.
_UNREAD_CALLS = re.compile(
    r"(^|\.)log\.|^log_failure$|^re\.|(^|\.)(Field|Query|Header|Path|text|execute|add_argument|asserting)$"
    r"|^(RuntimeError|AssertionError|TypeError|print)$"
)
_NAMED = re.compile(r"\{(?:[a-z_][a-z_0-9.]*)?(?::[^{}]*)?\}")
GAP = re.compile(r"\{\d+\}")

# A text's parts: words, or None for a value known only at run time.
_Parts = tuple[str | None, ...]


def numbered(parts: _Parts) -> str:
    """Join the parts into one template; placeholders are numbered from 0."""
    numbers = itertools.count()
    return "".join(f"{{{next(numbers)}}}" if part is None else part for part in parts)


def _named_gaps(text: str) -> _Parts:
    """Split a text for `str.format`: its named fields are placeholders."""
    words = _NAMED.split(text)
    return tuple(part for word in words for part in (word, None))[:-1]


def _branches(node: ast.expr, tests: dict[str, bool]) -> Iterator[_Parts]:
    """Yield all values of an expression, with the results of its conditions given by `tests`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield (node.value,)
    elif isinstance(node, ast.IfExp) and ast.unparse(node.test) in tests:
        yield from _branches(
            node.body if tests[ast.unparse(node.test)] else node.orelse,
            tests,
        )
    elif isinstance(node, ast.FormattedValue):
        yield from _branches(node.value, tests)
    elif isinstance(node, ast.JoinedStr):
        yield from _together(list(node.values), tests)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _together([node.left, node.right], tests)
    else:
        yield (None,)


def _together(nodes: list[ast.expr], tests: dict[str, bool]) -> Iterator[_Parts]:
    for choice in itertools.product(*(list(_branches(node, tests)) for node in nodes)):
        yield tuple(itertools.chain.from_iterable(choice))


def _contains_text(node: ast.expr) -> bool:
    return any(
        isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.strip()
        for each in ast.walk(node)
    )


def _conditions(node: ast.expr) -> list[str]:
    """Return the conditions within a text on which its words depend."""
    return sorted(
        {
            ast.unparse(each.test)
            for each in ast.walk(node)
            if isinstance(each, ast.IfExp)
            and all(isinstance(branch, ast.Constant) for branch in (each.body, each.orelse))
        }
    )


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield all texts that an expression produces, as templates."""
    conditions = _conditions(node) if not isinstance(node, ast.Constant) else []
    for values in itertools.product((True, False), repeat=len(conditions)):
        for parts in _branches(node, dict(zip(conditions, values, strict=True))):
            if isinstance(node, ast.Constant):
                yield numbered(_named_gaps(str(node.value)))
            else:
                yield numbered(parts)


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring, of an object or of a name
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        if not _UNREAD_CALLS.search(ast.unparse(node.func)):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.found += _texts(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.found += _texts(node)
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self._inside(value.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Add) and _contains_text(node):
            self.found += _texts(node)
            self._inside(node)
        else:
            self.generic_visit(node)

    def _inside(self, node: ast.expr) -> None:
        """Visit texts within a text's placeholders; its words and its alternatives are included
        already."""
        if isinstance(node, ast.Constant | ast.JoinedStr):
            if isinstance(node, ast.JoinedStr):
                for value in node.values:
                    if isinstance(value, ast.FormattedValue):
                        self._inside(value.value)
        elif isinstance(node, ast.IfExp) and _conditions(node):
            return
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            self._inside(node.left)
            self._inside(node.right)
        else:
            self.visit(node)


def texts_of(source: str) -> list[str]:
    """Return all texts of a module as templates, without docstrings and logged ones."""
    reader = _Reader()
    reader.visit(ast.parse(source))
    return reader.found


def is_displayed(text: str) -> bool:
    """Return whether a text of the modules is displayed to users."""
    if text in PIECES or text in SPELT_OUT:
        return True
    if text in NOT_DISPLAYED | PARTS or any(pattern.search(text) for pattern in NOT_DISPLAYED_LIKE):
        return False
    return bool(_WORDS.search(GAP.sub("x", text)))


def module_files() -> list[Path]:
    """Return the modules with sentences that reach a browser."""
    others = {path for pattern in OTHERS for path in ROOT.glob(pattern)}
    found = [path for pattern in MODULES for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if path not in others]


@functools.cache
def all_texts() -> tuple[str, ...]:
    """Return all texts of those modules, displayed or not."""
    return tuple(text for path in module_files() for text in texts_of(path.read_text()))


@functools.cache
def catalog_texts() -> tuple[str, ...]:
    """Return titles and descriptions of the shipped environments, templates, job forms and apps."""
    return tuple(
        text
        for folder in ("environments", "templates", "apps")
        for path in sorted((CATALOG / folder).glob("*.yaml"))
        for text in _catalog_words(yaml.safe_load(path.read_text()))
    )


def nginx_texts() -> list[str]:
    """Return titles and details of nginx's own problem documents."""
    found = [json.loads(path.read_text()) for path in sorted(PROBLEMS.glob("*.problem"))]
    return [problem[name] for problem in found for name in ("title", "detail")]


def demo_texts() -> list[str]:
    """Return titles and descriptions of the demo's presets, which a site replaces by its own."""
    presets = tomllib.loads(DEMO.read_text())["preset"]
    return [preset[name] for preset in presets for name in ("title", "description")]


def _catalog_words(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _catalog_words(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _catalog_words(inner, name)
    elif isinstance(value, str) and name in CATALOG_PLACES:
        yield " ".join(value.split())


def sentences() -> list[str]:
    """Return every template that needs a translation, in the order of the sources, without
    duplicates."""
    found_sentences = [
        spelt.strip()
        for text in all_texts()
        if is_displayed(text)
        for spelt in SPELT_OUT.get(text, (text,))
    ]
    others = (*EXTRA, *nginx_texts(), *demo_texts(), *catalog_texts())
    return list(dict.fromkeys([*found_sentences, *others]))


def translations() -> dict[str, str]:
    """Return the catalog."""
    found: dict[str, str] = json.loads(CATALOGUE.read_text())
    return found


def main() -> None:
    known = translations()
    for text in sentences():
        if text not in known:
            sys.stdout.write(json.dumps(text, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
