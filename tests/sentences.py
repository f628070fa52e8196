"""The sentences that the portal's programs say to people, as templates with numbered gaps. Pure.

The pages translate them where they read them (docs/decisions/0013), by the catalogue
portal/said.zh.json. This reads them out of the sources, so that none is forgotten:
tests/unit/test_sentences.py compares the two, and `python -m tests.sentences` prints what has no
translation yet. What is a sentence here and what isn't stands in `tests/sentence_lists.py`
and `tests/sentence_spelt.py`.
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
    NOT_SAID,
    NOT_SAID_LIKE,
    OTHERS,
    PIECES,
)
from tests.sentence_spelt import PARTS, SPELT_OUT

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "portal/said.zh.json"
CATALOG = ROOT / "spawner/catalog"
DEMO = ROOT / "cluster/cluster.toml"
PROBLEMS = ROOT / "deploy/templates"

# Two words side by side: what has fewer is a key, a name or a piece of a sentence (PIECES).
_WORDS = re.compile(r"[^\W\d_]{2,}[,;:’”)]* [^\W\d_{“]")
# What a text stands in that nobody reads in a browser, by the function it is given to.
_UNREAD_CALLS = re.compile(
    r"(^|\.)log\.|^re\.|(^|\.)(Field|Query|Header|Path|text|execute|add_argument|asserting)$"
    r"|^(RuntimeError|AssertionError|TypeError|print)$"
)
_NAMED = re.compile(r"\{(?:[a-z_][a-z_0-9.]*)?(?::[^{}]*)?\}")
GAP = re.compile(r"\{\d+\}")

# A part of a text: its words, or None for what is only known when it is said.
_Parts = tuple[str | None, ...]


def numbered(parts: _Parts) -> str:
    """The parts as one template; gaps are numbered from 0."""
    numbers = itertools.count()
    return "".join(f"{{{next(numbers)}}}" if part is None else part for part in parts)


def _named_gaps(text: str) -> _Parts:
    """A text for `str.format`: its named fields are gaps."""
    words = _NAMED.split(text)
    return tuple(part for word in words for part in (word, None))[:-1]


def _branches(node: ast.expr, tests: dict[str, bool]) -> Iterator[_Parts]:
    """All that an expression may be, its conditions being as `tests` says of them."""
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


def _says_something(node: ast.expr) -> bool:
    return any(
        isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.strip()
        for each in ast.walk(node)
    )


def _conditions(node: ast.expr) -> list[str]:
    """The conditions within a text by which its words change."""
    return sorted(
        {
            ast.unparse(each.test)
            for each in ast.walk(node)
            if isinstance(each, ast.IfExp)
            and all(isinstance(branch, ast.Constant) for branch in (each.body, each.orelse))
        }
    )


def _texts(node: ast.expr) -> Iterator[str]:
    """All texts that an expression makes, as templates."""
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
        if not isinstance(node.value, ast.Constant):  # a docstring, of a thing or of a name
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
        if isinstance(node.op, ast.Add) and _says_something(node):
            self.found += _texts(node)
            self._inside(node)
        else:
            self.generic_visit(node)

    def _inside(self, node: ast.expr) -> None:
        """The texts within a text's gaps; its words and its alternatives are in it already."""
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
    """All texts of a module, as templates, docstrings and logged ones left out."""
    reader = _Reader()
    reader.visit(ast.parse(source))
    return reader.found


def is_said(text: str) -> bool:
    """Whether a text of the modules is one for people."""
    if text in PIECES or text in SPELT_OUT:
        return True
    if text in NOT_SAID | PARTS or any(pattern.search(text) for pattern in NOT_SAID_LIKE):
        return False
    return bool(_WORDS.search(GAP.sub("x", text)))


def module_files() -> list[Path]:
    """The modules whose sentences reach a browser."""
    others = {path for pattern in OTHERS for path in ROOT.glob(pattern)}
    found = [path for pattern in MODULES for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if path not in others]


@functools.cache
def all_texts() -> tuple[str, ...]:
    """All texts of those modules, those for people and the others."""
    return tuple(text for path in module_files() for text in texts_of(path.read_text()))


@functools.cache
def catalog_texts() -> tuple[str, ...]:
    """Titles and descriptions of the environments, templates and job forms that come along."""
    return tuple(
        text
        for folder in ("environments", "templates")
        for path in sorted((CATALOG / folder).glob("*.yaml"))
        for text in _catalog_words(yaml.safe_load(path.read_text()))
    )


def front_door_texts() -> list[str]:
    """Titles and details of the problem documents that nginx answers with by itself."""
    found = [json.loads(path.read_text()) for path in sorted(PROBLEMS.glob("*.problem"))]
    return [problem[name] for problem in found for name in ("title", "detail")]


def demo_texts() -> list[str]:
    """Titles and descriptions of the demo's presets, which a site's own would stand in place of."""
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
    """Every template that wants a translation, in the order of the sources, each once."""
    said = [
        spelt.strip()
        for text in all_texts()
        if is_said(text)
        for spelt in SPELT_OUT.get(text, (text,))
    ]
    others = (*EXTRA, *front_door_texts(), *demo_texts(), *catalog_texts())
    return list(dict.fromkeys([*said, *others]))


def translations() -> dict[str, str]:
    """The catalogue."""
    found: dict[str, str] = json.loads(CATALOGUE.read_text())
    return found


def main() -> None:
    known = translations()
    for text in sentences():
        if text not in known:
            sys.stdout.write(json.dumps(text, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
