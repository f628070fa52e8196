"""Clusters of several checkouts on one machine choose addresses one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import machine
from cluster.addresses import Addresses, Listener, Taken, dumps
from cluster.machine import choosing, forget_choice, locked, taken, write
from cluster.paths import Paths


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other cluster of this machine is known."""
    monkeypatch.setattr(machine, "CHOICES", tmp_path / "choices")


def cluster_in(root: Path) -> Paths:
    paths = Paths(root / "demo")
    paths.state.mkdir(parents=True)
    return paths


def chosen(paths: Paths, port: int) -> Listener:
    with choosing(paths):
        made = Addresses("loopback", f"127.{port % 200}.0.0/24", {"public": port})
        write(paths.addresses, dumps(made), owner=paths.state.owner())
    return Listener("127.0.0.1", port)


def uses(found: Taken, port: int) -> bool:
    return Listener("127.0.0.1", port) in found.listeners


def test_a_choice_counts_for_other_checkouts_before_anything_listens(tmp_path: Path) -> None:
    here, there = cluster_in(tmp_path / "a"), cluster_in(tmp_path / "b")
    chosen(here, 17)
    assert uses(taken(there), 17)
    assert not uses(taken(here), 17)  # its own it may have again
    chosen(here, 18)
    assert (uses(taken(there), 17), uses(taken(there), 18)) == (False, True)
    forget_choice(here)
    forget_choice(here)
    assert not uses(taken(there), 18)


def test_what_a_removed_folder_chose_is_free(tmp_path: Path) -> None:
    here, there = cluster_in(tmp_path / "a"), cluster_in(tmp_path / "b")
    chosen(here, 17)
    here.addresses.unlink()
    assert not uses(taken(there), 17)


def test_a_choice_that_failed_is_told_to_nobody(tmp_path: Path) -> None:
    here, there = cluster_in(tmp_path / "a"), cluster_in(tmp_path / "b")
    with pytest.raises(RuntimeError), choosing(here):
        raise RuntimeError("nothing is free")
    chosen(there, 17)  # and nobody is kept waiting
    assert uses(taken(here), 17)
    with locked(machine.CHOICES / "lock"):
        assert [path.name for path in machine.CHOICES.iterdir() if path.is_symlink()] == [
            there.token
        ]
