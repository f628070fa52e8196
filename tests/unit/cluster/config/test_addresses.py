"""Clusters of several checkouts on one machine choose their addresses one after another."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.__main__ import load_handle
from cluster.config.addresses import Addresses, Listener, UsedAddresses, dumps
from cluster.config.paths import CHECKOUT, Paths
from cluster.errors import ClusterError
from cluster.host import machine
from cluster.host.machine import choosing, forget_choice, list_used_addresses, locked, write
from tests.needs import needs_program


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the other clusters of this machine."""
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


def uses(found: UsedAddresses, port: int) -> bool:
    return Listener("127.0.0.1", port) in found.listeners


@needs_program("ip")
def test_a_choice_counts_for_other_checkouts_before_anything_listens(tmp_path: Path) -> None:
    here, there = cluster_in(tmp_path / "a"), cluster_in(tmp_path / "b")
    chosen(here, 17)
    assert uses(list_used_addresses(there), 17)
    assert not uses(list_used_addresses(here), 17)  # a cluster may choose its own addresses again
    chosen(here, 18)
    assert (uses(list_used_addresses(there), 17), uses(list_used_addresses(there), 18)) == (
        False,
        True,
    )
    forget_choice(here)
    forget_choice(here)
    assert not uses(list_used_addresses(there), 18)


@needs_program("ip")
def test_what_a_removed_folder_chose_is_free(tmp_path: Path) -> None:
    here, there = cluster_in(tmp_path / "a"), cluster_in(tmp_path / "b")
    chosen(here, 17)
    here.addresses.unlink()
    assert not uses(list_used_addresses(there), 17)


@needs_program("ip")
def test_failed_choice_is_not_published(tmp_path: Path) -> None:
    here, there = cluster_in(tmp_path / "a"), cluster_in(tmp_path / "b")
    with pytest.raises(RuntimeError), choosing(here):
        raise RuntimeError("nothing is free")
    chosen(there, 17)  # and no later choice is blocked
    assert uses(list_used_addresses(here), 17)
    with locked(machine.CHOICES / "lock"):
        assert [path.name for path in machine.CHOICES.iterdir() if path.is_symlink()] == [
            there.token
        ]


def test_cluster_of_an_older_version_suggests_make_down(tmp_path: Path) -> None:
    paths = cluster_in(tmp_path)
    paths.description.parent.mkdir(parents=True, exist_ok=True)
    paths.description.write_text((CHECKOUT / "cluster/cluster.toml").read_text())
    ports = {"public": 8000, "portal": 8001, "hub": 8081}
    made = Addresses("loopback", "127.9.0.0/24", ports)
    write(paths.addresses, dumps(made), owner=paths.state.owner())
    with pytest.raises(ClusterError, match=r"no port for notebooks, tensorboards\. .*make down"):
        load_handle(paths)
