"""The session's node program, as far as it works without Jupyter."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from portal.api.gate import FRESH_S
from spawner.node import node_setup, session
from spawner.node.jupyter.imports import placeholders
from spawner.node.node_setup import NodeSetupError
from spawner.node.portal_client import OutOfReach

CONFIG: dict[str, Any] = {
    "kernelspecs": {"python3": {"argv": ["a", "b"]}, "r": {"argv": ["c"]}},
    "lab": {"overrides": {"x": 1}, "page_config": {"disabledExtensions": {"y": True}}},
}


def test_files_of_the_session(tmp_path: Path) -> None:
    logdir = tmp_path / "portal" / "runs" / "s1"
    session.write_files(tmp_path / "node", CONFIG | {"logdir": str(logdir)})
    node = tmp_path / "node"
    assert json.loads((node / "kernels/python3/kernel.json").read_text()) == {"argv": ["a", "b"]}
    assert json.loads((node / "kernels/r/kernel.json").read_text()) == {"argv": ["c"]}
    assert json.loads((node / "lab/overrides.json").read_text()) == {"x": 1}
    assert "y" in (node / "lab/page_config.json").read_text()
    assert "%tensorboard" in (node / "kernel_startup.py").read_text()
    assert logdir.is_dir()


def test_a_logdir_that_can_not_be_made_ends_nothing(tmp_path: Path) -> None:
    session.write_files(tmp_path, CONFIG | {"logdir": "/proc/nothing/here"})
    assert (tmp_path / "kernels/python3/kernel.json").is_file()


def test_only_the_hubs_own_names_enter_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environ: dict[str, str] = {"PATH": "/bin", "LD_PRELOAD": ""}
    monkeypatch.setattr(os, "environ", environ)
    answer = {
        "env": {
            "JUPYTERHUB_API_TOKEN": "t",
            "JUPYTERHUB_SERVICE_URL": "http://elsewhere:1/",
            "LD_PRELOAD": "/tmp/evil.so",
            "PATH": "/tmp",
            "JPY_API_TOKEN": "t",
        },
        "base_url": "/user/alice/s1/",
    }
    session.apply_hub_variables(answer, ("10.77.0.11", 40123))
    assert environ == {
        "PATH": "/bin",
        "LD_PRELOAD": "",
        "JUPYTERHUB_API_TOKEN": "t",
        "JUPYTERHUB_SERVICE_URL": "http://10.77.0.11:40123/user/alice/s1/",
    }
    session.apply_hub_variables(answer, ("fd00::1", 40123, 0, 0))
    assert environ["JUPYTERHUB_SERVICE_URL"].startswith("http://[fd00::1]:40123/")


def test_a_home_that_can_not_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"HOME": str(tmp_path / "none")}
    monkeypatch.setattr(os, "environ", environ)
    with pytest.raises(NodeSetupError, match="home directory"):
        session.set_variables(tmp_path, {"logdir": "/x"})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/tmp/x"), "no space left (/tmp/x)"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "no space left"),
        (ModuleNotFoundError("No module named 'jupyterlab'"), "contact your administrators"),
        (KeyError("secret"), "lacks 'secret'"),
        (OutOfReach("the portal doesn't answer"), "The portal doesn't answer."),
        (NodeSetupError("the node has no address"), "The node has no address."),
        (session.ServerError("JupyterLab exited with status 1"), "the session's log"),
    ],
)
def test_words_for_what_went_wrong(error: Exception, words: str) -> None:
    text = session.explain(error)
    assert words in text
    assert text[0].isupper()
    assert text.endswith(".")


@pytest.mark.parametrize("error", [None, session.ServerError("JupyterLab exited")])
def test_port_is_held_until_the_gates_answer_has_expired(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """nginx may use the gate's answer for that long after the portal knows of the end."""
    listener = socket.create_server(("127.0.0.1", 0))
    events: list[Any] = []

    def run(*_: Any) -> None:
        if error is not None:
            raise error

    def sleep(seconds: float) -> None:
        events.append((seconds > FRESH_S, listener.fileno() != -1))

    portal: Any = SimpleNamespace(
        portal_url="http://127.0.0.1:1", report=lambda event, _: events.append(event)
    )
    monkeypatch.setattr(session, "_run", run)
    monkeypatch.setattr(node_setup, "bind", lambda *_: listener)
    monkeypatch.setattr(session, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    assert session._run_and_report(portal, {}, session.StartTimeline()) == (error is not None)
    assert events == ["failed" if error else "exiting", (True, True)]
    assert listener.fileno() == -1


@pytest.mark.parametrize(("code", "fails"), [(0, False), (None, False), (1, True), ("no", True)])
def test_an_exit_of_jupyters(code: int | str | None, fails: bool) -> None:
    def leave() -> None:
        with session._server_errors():
            raise SystemExit(code)

    if fails:
        with pytest.raises(session.ServerError):
            leave()
    else:
        leave()


def test_a_missing_config_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert session.main([str(tmp_path / "none")]) == 1


def test_placeholders_come_and_go() -> None:
    real = ModuleType("already_there")
    sys.modules["already_there"] = real
    try:
        with placeholders({"stand_in": {"x": 1}, "stand_in.part": {}, "already_there": {"x": 2}}):
            assert sys.modules["stand_in"].x == 1
            assert sys.modules["already_there"] is real
        assert "stand_in" not in sys.modules
        assert "stand_in.part" not in sys.modules
        assert sys.modules["already_there"] is real
    finally:
        del sys.modules["already_there"]
