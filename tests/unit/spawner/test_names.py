"""Patterns of names: one definition, and equal ones in the programs that import nothing else."""

from __future__ import annotations

import pytest

from cluster.config import description
from deploy import home_directory
from spawner import names, request_id
from spawner.jupyterhub import authenticator, internal_client
from spawner.launcher import program


def test_programs_that_stand_alone_have_the_same_patterns() -> None:
    assert (
        home_directory.USERNAME == names.USERNAME == authenticator.USERNAME == description.USERNAME
    )
    assert program.UUID == names.UUID
    assert program.REQUEST == request_id.SHAPE == internal_client.REQUEST_ID


@pytest.mark.parametrize("name", ["a", "a1", "big-run", "a" * 30])
def test_session_names(name: str) -> None:
    assert names.SESSION.fullmatch(name)


def test_remove_invisible_leaves_what_is_seen() -> None:
    hidden = "\0\x1b\x7f\x85\xad\u061c\u200b\u200e\u202e\u2028\u2066\u2069\ufeff\U000e0041"
    assert names.remove_invisible(f"exe{hidden}.txt é 数据\n") == "exe.txt é 数据"
    assert names.remove_invisible("a\tb\n\u202ec", kept="\n\t") == "a\tb\nc"


@pytest.mark.parametrize("name", ["", "1", "-a", "a-", "a--b", "A", "a_b", "a" * 31, "a\n"])
def test_no_session_names(name: str) -> None:
    assert not names.SESSION.fullmatch(name)
