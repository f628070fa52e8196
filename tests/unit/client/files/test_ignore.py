"""Patterns of files that are not uploaded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.files.ignore import IgnoreRules, parse_line


@pytest.mark.parametrize(
    ("line", "path", "excluded"),
    [
        ("*.csv", "data.csv", True),
        ("*.csv", "deep/down/data.csv", True),
        ("*.csv", "data.csv.gz", False),
        ("/data", "data", True),
        ("/data", "deep/data", False),
        ("deep/*.csv", "deep/a.csv", True),
        ("deep/*.csv", "deep/down/a.csv", False),
        ("deep/**/a.csv", "deep/x/y/a.csv", True),
        ("deep/**/a.csv", "deep/a.csv", True),
        ("**", "anything/at/all", True),
        ("file?.txt", "file1.txt", True),
        ("file[0-9].txt", "file7.txt", True),
        ("file[!0-9].txt", "file7.txt", False),
        ("[", "[", True),
        ("\\#odd", "#odd", True),
        ("# comment", "# comment", False),
        ("", "x", False),
        ("a.b", "aXb", False),
    ],
)
def test_excludes(line: str, path: str, excluded: bool) -> None:
    assert IgnoreRules([line]).excludes(path, is_folder=False) is excluded


def test_a_trailing_slash_is_for_folders_only() -> None:
    rules = IgnoreRules(["build/"])
    assert rules.excludes("build", is_folder=True)
    assert not rules.excludes("build", is_folder=False)


def test_the_last_match_decides() -> None:
    rules = IgnoreRules(["*.csv", "!keep.csv"])
    assert rules.excludes("other.csv", is_folder=False)
    assert not rules.excludes("keep.csv", is_folder=False)


@pytest.mark.parametrize("path", [".git", "__pycache__", "deep/.venv", "wandb"])
def test_defaults_exclude_folders_that_no_job_needs(path: str) -> None:
    assert IgnoreRules().excludes(path, is_folder=True)


@pytest.mark.parametrize("path", [".env", "key.pem", "deep/id_rsa", "a.pyc"])
def test_defaults_exclude_secrets_and_caches(path: str) -> None:
    assert IgnoreRules().excludes(path, is_folder=False)


def test_a_default_can_be_taken_back() -> None:
    assert not IgnoreRules(["!runs/"]).excludes("runs", is_folder=True)


@given(st.text(max_size=30), st.text(max_size=30))
def test_every_line_is_a_pattern_or_none(line: str, path: str) -> None:
    assert IgnoreRules([line]).excludes(path, is_folder=False) in {True, False}
    assert parse_line("") is None
