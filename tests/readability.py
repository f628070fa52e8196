"""Readability rules of the source tree: `python -m tests.readability`, part of `make lint`.

- Words of DIALECT occur nowhere in the Python code of the product and the tests, in the pages'
  sources, and in the documents. docs/vocabulary.md has the terms to use instead.
- A comment in the pages' sources begins with a verb or a noun phrase, not with a word of OPENINGS.
- A public class name exists once, but for the names in SHARED_NAMES.
- A package root holds at most MAX_MODULES modules.
- A test in tests/unit or tests/portal is in the folder that has the path of its source: the tests
  of portal/services/jobs are in tests/unit/portal/services/jobs and tests/portal/services/jobs.
- Commit subjects since FIRST_COMMIT read `area: imperative summary` and have at most MAX_SUBJECT
  characters. A clone without that commit (a shallow one) skips this rule and says so.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.paths import CHECKOUT

PRODUCT = ("portal", "spawner", "client", "cluster", "deploy", "bench")
# programs that run in containers and jobs, and are read by their users
PROGRAMS = re.compile(r"spawner/catalog/(images|jobs|kernel)/")
PAGES = re.compile(r"frontend/(src|lab/src)/.*\.tsx?$")
# the rule itself, and its examples
RULE_FILES = frozenset({"tests/readability.py", "tests/unit/checkout/test_readability.py"})
GENERATED = frozenset({"frontend/src/api/schema.d.ts"})
DIALECT = re.compile(
    r"(?<![A-Za-z])(told|tells|said|whom|whoever|(no|some|any)bodys?|wish|wishes|anew|meanwhile"
    r"|nought|persons?|people)(?![A-Za-z])",
    re.IGNORECASE,
)
# Names of accounts, columns and fields that the rule does not cover, LDAP's names, and former names
# that old events, rows and addresses still have.
ALLOWED = re.compile(
    r"`nobody`|account nobody|\"nobody( \d+)?\"|\b_?NOBODY(_UID)?\b|\btold_at\b"
    r"|inetOrgPerson|objectClass: person|\bou(=|: )[Pp]eople\b|%people\b"
    r"|\"(person|people)\.|search\.person|scope = 'person'|^\"person\"$|`person`|\{ person: "
    r"|/admin/(new/)?(person|people)"
)
OPENINGS = "What|Whether|Who|Whose|Whom|Which|How|Why|Where|That|Those|Of"
ODD_OPENING = re.compile(
    rf"/\*[*\s]*(?P<block>{OPENINGS})\b|^(?!\s*//).*\n\s*// (?P<line>{OPENINGS})\b", re.MULTILINE
)
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|\*[^*\n]+\*", re.DOTALL)
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
SHARED_NAMES = frozenset({"Progress", "Report", "Unreachable", "User"})
ROOTS = re.compile(r"(portal|spawner|client|cluster|spawner/[a-z_]+)/[a-z_]+\.py")
MAX_MODULES = 15
TEST = re.compile(r"tests/(?P<level>unit|portal)/(?P<folder>.+)/test_\w+\.py")
OF_THE_CHECKOUT = "checkout"
FIRST_COMMIT = "6e4e5c5"
SUBJECT = re.compile(r"[a-z0-9][a-z0-9/_.,-]*: [a-z]")
MAX_SUBJECT = 72


def main() -> int:
    # without links, whose targets are checked at their own place
    tracked = _git("ls-files").splitlines()
    files = [name for name in tracked if not (CHECKOUT / name).is_symlink()]
    sources = [name for name in files if name.endswith(".py") and name.startswith(PRODUCT)]
    tests = [name for name in files if name.endswith(".py") and name.startswith("tests/")]
    worded = [name for name in (*sources, *tests) if name not in RULE_FILES]
    pages = [name for name in files if PAGES.match(name) and name not in GENERATED]
    texts = [name for name in files if name.endswith(".md") and name.startswith(DOCUMENTS)]
    texts = [name for name in texts if not name.endswith((".zh.md", "vocabulary.md"))]
    problems = [
        *(problem for name in worded for problem in python_words(name, _read(name))),
        *(problem for name in pages for problem in page_words(name, _read(name))),
        *(problem for name in pages for problem in page_comments(name, _read(name))),
        *(problem for name in texts for problem in document_words(name, _read(name))),
        *class_names({name: _read(name) for name in sources if not PROGRAMS.match(name)}),
        *package_roots(files),
        *misplaced_tests(files),
        *_subjects(),
    ]
    print(*problems, sep="\n" if problems else "")
    return bool(problems)


def python_words(name: str, source: str) -> Iterator[str]:
    """Yield the dialect words in identifiers, comments and strings."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            text = ALLOWED.sub("", token.string)
            text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).replace("_", " ")
        elif token.type in {tokenize.COMMENT, tokenize.STRING}:
            text = ALLOWED.sub("", token.string)
        else:
            continue
        for found in DIALECT.finditer(text):
            line = token.start[0] + text.count("\n", 0, found.start())
            yield f"{name}:{line}: the word {found[0]!r}"


def page_words(name: str, source: str) -> Iterator[str]:
    """Yield the dialect words in a TypeScript source."""
    source = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", ALLOWED.sub("", source))
    for found in DIALECT.finditer(source):
        yield f"{name}:{source.count(chr(10), 0, found.start()) + 1}: the word {found[0]!r}"


def page_comments(name: str, source: str) -> Iterator[str]:
    """Yield the comments of a TypeScript source that begin with a word of OPENINGS."""
    for found in ODD_OPENING.finditer(source):
        line = source.count("\n", 0, found.end()) + 1
        yield f"{name}:{line}: the comment begins with {found['block'] or found['line']!r}"


def document_words(name: str, text: str) -> Iterator[str]:
    """Yield the dialect words outside of code and quotations."""
    plain = QUOTED.sub(lambda found: "\n" * found[0].count("\n"), text)
    for found in DIALECT.finditer(plain):
        yield f"{name}:{plain.count(chr(10), 0, found.start()) + 1}: the word {found[0]!r}"


def class_names(sources: dict[str, str]) -> Iterator[str]:
    """Yield the public class names that several modules define."""
    places: dict[str, list[str]] = {}
    for name, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    for title, names in places.items():
        if len(names) > 1 and title not in SHARED_NAMES:
            yield f"class {title} is defined in {', '.join(names)}"


def package_roots(files: list[str]) -> Iterator[str]:
    """Yield the packages with too many modules beside `__init__.py`."""
    roots = Counter(str(Path(name).parent) for name in files if ROOTS.fullmatch(name))
    for root, number in roots.items():
        if number > MAX_MODULES:
            yield f"{root} holds {number} modules; {MAX_MODULES} are allowed: make a subpackage"


def misplaced_tests(files: list[str]) -> Iterator[str]:
    """Yield the folders of tests that no folder of sources corresponds to.

    tests/portal is about the package portal; parts of other packages that it starts are in folders
    of their own. tests/unit/checkout is about the files of the checkout itself.
    """
    sources = {str(parent) for name in files for parent in Path(name).parents}
    found = {(match["level"], match["folder"]) for match in map(TEST.fullmatch, files) if match}
    for level, folder in sorted(found):
        packages = [folder, *([f"portal/{folder}"] if level == "portal" else [])]
        if not sources.intersection(packages) and folder != OF_THE_CHECKOUT:
            yield f"tests/{level}/{folder}: there is no folder {' or '.join(packages)}"


def _subjects() -> Iterator[str]:
    known = subprocess.run(
        ["git", "merge-base", "--is-ancestor", FIRST_COMMIT, "HEAD"],
        cwd=CHECKOUT,
        capture_output=True,
        check=False,
    )
    if known.returncode != 0:
        print(f"commit subjects: skipped, {FIRST_COMMIT} is not in this clone's history")
        return
    yield from subjects(_git("log", "--format=%s", "--no-merges", f"{FIRST_COMMIT}..HEAD"))


def subjects(log: str) -> Iterator[str]:
    """Yield the subjects, one per line of `log`, that break the rule."""
    for subject in log.splitlines():
        if not SUBJECT.match(subject) or len(subject) > MAX_SUBJECT:
            yield f"commit subject: {subject!r} is not `area: imperative summary` (72 characters)"


def _read(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
