"""Programs of a build: stopped with everything below them, and named when they fail."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from deploy.images.programs import BuildError, Programs
from tests.needs import needs_root
from tests.polling import wait_until


@needs_root("it creates namespaces")
def test_stopping_ends_what_runs_and_all_below_it(tmp_path: Path) -> None:
    """A grandchild that ignores signals, in a session of its own, ends with its namespace."""
    programs = Programs()
    mark = f"portal-test-{os.getpid()}"
    program = "trap '' TERM INT HUP; setsid sh -c 'exec -a \"$0\" sleep 300' \"$0\" & wait"
    failed: list[BaseException] = []

    def run() -> None:
        try:
            programs.run(
                ["bash", "-c", program.replace("sh -c", "bash -c"), mark], log, {}, tmp_path
            )
        except BuildError as error:
            failed.append(error)

    log = tmp_path / "log"
    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: sleeping(mark))
    programs.stop()
    thread.join(30)
    assert str(failed[0]) == "interrupted"
    wait_until(lambda: not sleeping(mark))
    with pytest.raises(BuildError, match="interrupted"):
        programs.run(["true"], log, {}, tmp_path)


@needs_root("it creates namespaces")
def test_a_failing_program_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    words = ["sh", "-c", "echo no such package >&2; exit 3"]
    with pytest.raises(BuildError, match=r"(?s)sh failed \(3\).*no such package"):
        Programs().run(words, tmp_path / "log", {"PATH": "/usr/bin:/bin"}, tmp_path)


def sleeping(mark: str) -> bool:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if command.split(b"\0")[0] == mark.encode():
            return True
    return False
