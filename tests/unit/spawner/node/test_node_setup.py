"""A node program's working directory and port, which only the user can access and take."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path

import pytest

from spawner.node import node_setup
from spawner.node.node_setup import NodeSetupError

ANYWHERE = "0.0.0.0"  # noqa: S104
PORTAL = "http://127.0.0.1:8001"


def config_file(folder: Path, text: str = '{"uuid": "1"}', mode: int = 0o600) -> Path:
    path = folder / "config.json"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_private_config_is_read(tmp_path: Path) -> None:
    assert node_setup.read_config(config_file(tmp_path)) == {"uuid": "1"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666])
def test_a_config_that_others_reach(tmp_path: Path, mode: int) -> None:
    with pytest.raises(NodeSetupError, match="by other users"):
        node_setup.read_config(config_file(tmp_path, mode=mode))


def test_config_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config_file(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(NodeSetupError, match="another user"):
        node_setup.read_config(path)


def test_a_config_by_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(config_file(tmp_path))
    with pytest.raises(NodeSetupError, match="can't be read"):
        node_setup.read_config(link)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"x"', "{" * 100])
def test_a_damaged_config(tmp_path: Path, text: str) -> None:
    with pytest.raises(NodeSetupError, match="damaged"):
        node_setup.read_config(config_file(tmp_path, text))


def test_a_missing_config(tmp_path: Path) -> None:
    with pytest.raises(NodeSetupError, match="can't be read"):
        node_setup.read_config(tmp_path / "none")


def test_the_folder_is_the_prefix_and_a_part_of_the_id() -> None:
    config = {"runtime_dir_prefix": "/tmp/portal-", "uuid": "01234567-89ab-cdef-0123-456789abcdef"}
    path = node_setup.node_dir_path(config)
    assert path == Path("/tmp/portal-01234567-89ab")
    socket_name = "/kernel-01234567-89ab-cdef-0123-456789abcdef-ipc-5"
    assert len(os.fsencode(path) + socket_name.encode()) <= 107


def test_a_folder_is_private(tmp_path: Path) -> None:
    path = Path("/tmp") / f"place-{os.getpid()}"
    node_setup.create_node_dir(path)
    try:
        assert path.stat().st_mode & 0o777 == 0o700
        (path / "left").write_text("by an earlier run")
        node_setup.create_node_dir(path)
        assert list(path.iterdir()) == []
        path.chmod(0o755)
        with pytest.raises(NodeSetupError, match="by other users"):
            node_setup.create_node_dir(path)
    finally:
        path.rmdir()


def test_a_folder_that_is_a_link(tmp_path: Path) -> None:
    path = Path("/tmp") / f"place-link-{os.getpid()}"
    path.symlink_to(tmp_path)
    try:
        with pytest.raises(NodeSetupError, match="not a folder"):
            node_setup.create_node_dir(path)
    finally:
        path.unlink()


def test_a_folder_with_too_long_a_name() -> None:
    with pytest.raises(NodeSetupError, match="too long"):
        node_setup.create_node_dir(Path("/tmp/" + "x" * 60))


def test_a_node_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(NodeSetupError, match="No space left"):
        node_setup.create_node_dir(Path("/tmp/portal-test"))


def test_bound_but_not_listening() -> None:
    with node_setup.bind(PORTAL, None) as listener:
        address = listener.getsockname()
        assert address[0] == "127.0.0.1"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=2)
        with socket.socket() as neighbour:
            neighbour.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                neighbour.bind(address)
        listener.listen()
        socket.create_connection(address, timeout=2).close()


def test_names_are_asked_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"node01": ["10.77.0.11"], "host": ["127.0.1.1", "10.0.0.5"], "head": ["10.77.0.1"]}
    monkeypatch.setattr(node_setup, "_resolve", lambda name: known.get(name or "", []))
    monkeypatch.setattr(node_setup, "_find_facing_address", lambda url: "10.77.0.11")
    monkeypatch.setattr(socket, "gethostname", lambda: "host")
    found = list(node_setup._list_addresses("http://head:8002", "node01"))
    assert found == ["10.77.0.11", "10.0.0.5", "10.77.0.11", ANYWHERE]
    assert next(iter(node_setup._list_addresses("http://head:8002", None))) == "10.0.0.5"


def test_no_loopback_unless_the_portal_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_setup, "_resolve", lambda name: ["127.0.1.1"])
    monkeypatch.setattr(node_setup, "_find_facing_address", lambda url: "10.77.0.11")
    assert list(node_setup._list_addresses("http://head:8002", "node01")) == [
        "10.77.0.11",
        ANYWHERE,
    ]
    monkeypatch.setattr(node_setup, "_find_facing_address", lambda url: "127.0.0.1")
    assert list(node_setup._list_addresses(PORTAL, "node01")) == ["127.0.0.1"]


def test_an_address_that_is_not_ours_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_setup, "_list_addresses", lambda *_: iter(["192.0.2.1", "127.0.0.1"]))
    with node_setup.bind(PORTAL, "node01") as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_the_config_may_hold_what_json_can(tmp_path: Path) -> None:
    value = {"name": "é\n\u0000", "more": [1, None]}
    assert node_setup.read_config(config_file(tmp_path, json.dumps(value))) == value
