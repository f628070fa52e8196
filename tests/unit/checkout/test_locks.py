"""The locks match pyproject.toml.

The resolver's current choice does not matter: a lock must contain the declared packages at allowed
versions, and no package that is not needed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
MAIN = PROJECT["project"]["dependencies"]
LOCKS = {
    "requirements.lock": MAIN,
    "requirements-dev.lock": [*MAIN, *PROJECT["project"]["optional-dependencies"]["dev"]],
    **{
        f"requirements-{group}.lock": declared
        for group, declared in PROJECT["dependency-groups"].items()
    },
}
# make lock omits these; every other locked package must have a recorded dependent
LEFT_OUT = {"rfc3987-syntax", "lark"}


@dataclass
class Locked:
    version: str
    needed_by: set[str] = field(default_factory=set)

    @property
    def is_declared(self) -> bool:
        return any("pyproject.toml" in name for name in self.needed_by)


def read(text: str) -> dict[str, Locked]:
    found: dict[str, Locked] = {}
    name = ""
    for line in text.splitlines():
        if pinned := re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)", line):
            name = canonicalize_name(pinned[1])
            found.setdefault(name, Locked(pinned[2]))
        elif via := re.match(r"    #(?: via)? +(\S.*)$", line):
            found[name].needed_by.add(via[1])
    return found


def names(requirements: Iterable[str]) -> dict[str, Requirement]:
    parsed = (Requirement(text) for text in requirements)
    return {canonicalize_name(one.name): one for one in parsed}


@pytest.mark.parametrize("file", LOCKS)
def test_a_lock_holds_what_is_declared(file: str) -> None:
    locked = read((CHECKOUT / file).read_text(encoding="utf-8"))
    declared = names(LOCKS[file])
    assert {name for name, one in locked.items() if one.is_declared} == set(declared)
    for name, requirement in declared.items():
        assert requirement.specifier.contains(locked[name].version), requirement


@pytest.mark.parametrize("file", LOCKS)
def test_a_lock_holds_nothing_that_nothing_needs(file: str) -> None:
    locked = read((CHECKOUT / file).read_text(encoding="utf-8"))
    for name, one in locked.items():
        needed_by = {canonicalize_name(other) for other in one.needed_by}
        assert one.is_declared or needed_by & (set(locked) | LEFT_OUT), name


def test_no_declared_bound_asks_for_a_pre_release() -> None:
    for file, declared in LOCKS.items():
        for requirement in names(declared).values():
            assert not requirement.specifier.prereleases, (file, str(requirement))
