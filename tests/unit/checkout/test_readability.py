"""The readability rules find what they forbid, and pass what they allow."""

from __future__ import annotations

import pytest

from tests.readability import (
    MAX_MODULES,
    class_names,
    document_words,
    misplaced_tests,
    package_roots,
    page_comments,
    page_words,
    python_words,
    subjects,
)


@pytest.mark.parametrize(
    "source",
    [
        '"""What it is told."""\n',
        "x = 1  # anew\n",
        "def tells_it(): ...\n",
        "def test_nobodys_file(): ...\n",
        "class ToldOnce: ...\n",
        'x = "told"\n',
        "def find_person(): ...\n",
        "class PeoplePage: ...\n",
    ],
)
def test_python_words_finds_dialect(source: str) -> None:
    assert len(list(python_words("x.py", source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""The account nobody."""\n',
        "_NOBODY_UID = 65534\n",
        'owner = "nobody 65534"\n',
        "x = 1  # foretold\n",
        'x = "objectClass: inetOrgPerson", "ou=people,dc=example,dc=org"\n',
        "x = 1  # personal\n",
    ],
)
def test_python_words_passes_other_text(source: str) -> None:
    assert list(python_words("x.py", source)) == []


def test_page_words_finds_dialect_in_texts() -> None:
    (found,) = page_words("x.tsx", "const a = 1;\nt`Nobody is here`;\n")
    assert found.startswith("x.tsx:2: ")


def test_page_words_finds_dialect_in_identifiers() -> None:
    (found,) = page_words("x.tsx", "const a = 1;\nconst b = newPersonRoute;\n")
    assert found.startswith("x.tsx:2: ")


@pytest.mark.parametrize(
    "comment",
    [
        "/** What it is. */",
        "/**\n * Whether it is so.\n */",
        "  /** Of a user. */",
        "// How it ends",
        "x; // before\n// Those of a group",
        "{/* Who it was. */}",
    ],
)
def test_page_comments_finds_odd_openings(comment: str) -> None:
    (found,) = page_comments("x.ts", f"const a = 1;\n{comment}\nconst b = 2;\n")
    assert found.startswith("x.ts:")


def test_page_comments_names_the_line() -> None:
    (found,) = page_comments("x.ts", "const a = 1;\n\n/**\n * Which one.\n */\n")
    assert found == "x.ts:4: the comment begins with 'Which'"


@pytest.mark.parametrize(
    "comment",
    [
        "/** Return whether it is so. */",
        "/** The rest.\n * What follows a line break is no opening. */",
        "// the end of a line\n// Of a sentence, the second line",
        "/** Whatever, Often, Whole: other words. */",
        "const c = 'What is it?';",
    ],
)
def test_page_comments_passes_other_text(comment: str) -> None:
    assert list(page_comments("x.ts", f"const a = 1;\n{comment}\n")) == []


def test_python_words_names_the_line() -> None:
    (found,) = python_words("x.py", '"""One.\n\nTwo anew.\n"""\n')
    assert found.startswith("x.py:3: ")


def test_document_words_skips_code_and_quotations() -> None:
    text = 'Plain.\n`told`\n```\nsaid\n```\nThe page says "nobody".\n'
    assert list(document_words("x.md", text)) == []
    assert list(document_words("x.md", text + "Done anew.\n")) == ["x.md:7: the word 'anew'"]


def test_class_names_reports_a_name_of_two_modules() -> None:
    sources = {"a.py": "class Wide: ...\n", "b.py": "class Wide: ...\nclass _Own: ...\n"}
    assert list(class_names(sources)) == ["class Wide is defined in a.py, b.py"]


def test_package_roots_reports_too_many_modules() -> None:
    files = [f"portal/m{'x' * number}.py" for number in range(MAX_MODULES + 1)]
    assert len(list(package_roots(files))) == 1
    assert list(package_roots(files[1:])) == []


def test_subjects_reports_other_forms() -> None:
    good = "limits: retry sacctmgr after slurmdbd restarts"
    assert list(subjects(good)) == []
    for bad in ("Status tells clocks", "limits: Retry", "limits: " + "x" * 70):
        assert len(list(subjects(f"{good}\n{bad}"))) == 1


def test_misplaced_tests_finds_folder_without_source() -> None:
    sources = ["portal/api/jobs.py", "spawner/slurm/parse.py"]
    tests = [
        "tests/unit/portal/api/test_jobs.py",
        "tests/unit/spawner/slurm/test_parse.py",
        "tests/unit/checkout/test_locks.py",
        "tests/portal/api/test_jobs.py",
        "tests/portal/spawner/slurm/test_parse.py",
        "tests/portal/test_metrics.py",
    ]
    assert list(misplaced_tests(sources + tests)) == []
    (found,) = misplaced_tests([*sources, *tests, "tests/unit/portal/moved/test_jobs.py"])
    assert found.startswith("tests/unit/portal/moved: ")
