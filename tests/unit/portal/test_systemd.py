"""Notifications to systemd."""

import socket
from pathlib import Path

import pytest

from portal import systemd


@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_a_state_reaches_systemds_socket(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notify"
    monkeypatch.setenv("NOTIFY_SOCKET", str(path) if kind == "file" else f"@{path}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(path) if kind == "file" else f"\0{path}")
        systemd.notify("READY=1")
        assert receiver.recv(100) == b"READY=1"


def test_without_systemd_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    systemd.notify("READY=1")


def test_a_failure_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "missing"))
    systemd.notify("READY=1")
    assert "could not be notified of READY=1: [Errno 2]" in caplog.text
