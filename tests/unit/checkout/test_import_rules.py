"""The import-linter contracts in pyproject.toml are complete."""

import ast
import re
import tomllib
from collections.abc import Iterator

from tests.paths import CHECKOUT

LINTER = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]
PURE = re.compile(r"(^|\.\s+)Pure\b(?! except| but)")


def pure_modules() -> Iterator[str]:
    """Yield the modules whose docstring says that they are pure."""
    for package in LINTER["root_packages"]:
        for file in (CHECKOUT / package).rglob("*.py"):
            docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
            if PURE.search(docstring.replace("\n", " ")):
                yield ".".join(file.relative_to(CHECKOUT).with_suffix("").parts)


def test_pure_modules_are_all_linted() -> None:
    (contract,) = [c for c in LINTER["contracts"] if c["name"].startswith("pure modules")]
    assert contract["source_modules"] == sorted(pure_modules())
