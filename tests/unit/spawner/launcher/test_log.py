"""A launcher's log lines, which the portal treats as untrusted input."""

import asyncio
import contextvars
import json
import logging
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner import request_id
from spawner.launcher.log import MAX_LINE, LogRelay
from spawner.launcher.pool import LauncherPool
from tests.unit.spawner.launcher.launcher_home import (
    REFUSES,
    UUID,
    Place,
    Process,
    command,
    system_python,
)

pytest_plugins = ["tests.unit.spawner.launcher.launcher_fixtures"]
NAME = "0123456789abcdef0123456789abcdef"


def make_line(operation: str = "submit", **changes: object) -> bytes:
    fields = {"launcher": operation, "seconds": 0.2, "error": "", "request": NAME, **changes}
    return json.dumps(fields).encode() + b"\n"


def relay(requests: int = 1) -> LogRelay:
    made = LogRelay("alice")
    for _ in range(requests):
        made.expect()
    return made


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, ...]]:
    return [
        tuple(str(getattr(record, key)) for key in ("user", "operation", "outcome", "request"))
        for record in caplog.records
        if record.name == "spawner.launcher.log"
    ]


@pytest.fixture(autouse=True)
def _listen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "spawner.launcher.log")


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=20))
def test_what_is_no_word_on_a_request_stays_whole(text: bytes, cuts: list[int]) -> None:
    relayed, at, kept = LogRelay("alice"), 0, b""
    for cut in cuts:
        kept += relayed.filter_reports(text[at : at + cut])
        at += cut
    assert kept + relayed.filter_reports(text[at:]) + relayed.flush() == text


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_word_on_a_request_is_logged_however_it_comes(
    caplog: pytest.LogCaptureFixture, size: int
) -> None:
    relayed, kept = relay(), b""
    text = b"sudo: be careful\n" + make_line() + b"launcher: out of memory\n"
    for at in range(0, len(text), size):
        kept += relayed.filter_reports(text[at : at + size])
    assert kept + relayed.flush() == b"sudo: be careful\nlauncher: out of memory\n"
    assert logged(caplog) == [("alice", "submit", "ok", NAME)]


def test_no_more_is_logged_than_was_asked(caplog: pytest.LogCaptureFixture) -> None:
    assert relay(requests=2).filter_reports(make_line() * 3) == make_line()
    assert len(logged(caplog)) == 2


@pytest.mark.parametrize(
    "line",
    [
        make_line("submit now"),
        make_line("x" * 41),
        make_line(error="Rejected\nlauncher of root"),
        make_line(error=None),
        make_line(request="'; drop"),
        make_line(seconds="1"),
        make_line(seconds=-1),
        make_line(seconds=True),
        make_line(seconds=1e300),
        b'{"launcher":[]}\n',
        b'{"launcher":' + b"[" * 500 + b"\n",
        b'{"launcher": "' + b"x" * MAX_LINE + b'"}\n',
    ],
)
def test_what_has_another_shape_is_not_logged(
    caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    assert relay().filter_reports(line) == line
    assert logged(caplog) == []


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (make_line("submit"), logging.INFO),
        (make_line("read"), logging.DEBUG),
        (make_line("read", seconds=1.5), logging.INFO),
        (make_line("read", error="File"), logging.INFO),
    ],
)
def test_failed_or_slow_reads_are_logged(
    caplog: pytest.LogCaptureFixture, line: bytes, level: int
) -> None:
    relay().filter_reports(line)
    (record,) = caplog.records
    assert record.levelno == level


def test_launcher_logs_operation_outcome_and_request(place: Place) -> None:
    place.command("scancel", REFUSES)
    process = Process(place, stderr=subprocess.PIPE)
    process.ask("ping", request=NAME)
    process.ask("cancel", request="not a name", job_id=4711)
    process.ask("no such\noperation", secret="do-not-tell")
    process.ask("withdraw", uuid=UUID, request=NAME)
    assert process.process.stderr
    process.stdin.close()
    with process.process.stderr as stderr:
        text = stderr.read()
    process.close()
    received = [json.loads(line) for line in text.splitlines()]
    assert [(one["launcher"], one["error"], one["request"]) for one in received] == [
        ("ping", "", NAME),
        ("cancel", "Rejected", ""),
        ("none", "BadRequest", ""),
        ("withdraw", "", NAME),
    ]
    assert b"do-not-tell" not in text
    assert relay(4).filter_reports(text) == b""


@pytest.mark.parametrize("given_", ["", "short", "A" * 32, NAME + "0", f"{NAME}\n", "g" * 16])
def test_a_name_that_cannot_be_one_is_replaced(given_: str) -> None:
    def begun(name: str) -> str:
        made = request_id.set_request_id(name)
        assert request_id.current() == made
        return made

    made = contextvars.Context().run(begun, given_)
    assert made != given_
    assert len(made) == 32
    assert contextvars.Context().run(begun, NAME) == NAME


@pytest.mark.anyio
async def test_what_a_real_launcher_did_is_in_the_log_by_the_requests_name(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    sudo = place.root / "sudo"
    sudo.write_text(
        f"#!{system_python()} -IS\nimport os\nargv = {command(place)!r}\nos.execvp(argv[0], argv)\n"
    )
    sudo.chmod(0o755)
    pool = LauncherPool("/opt/launcher", sudo)

    async def asked(operation: str) -> str:
        name = request_id.set_request_id()
        await pool.call("user", operation, uuid=UUID)
        return name

    names = [await asyncio.create_task(asked(op)) for op in ("ping", "withdraw")]
    (channel,) = pool._channels.values()
    await pool.close()
    await channel._stderr_reader
    assert logged(caplog) == [
        ("user", "ping", "ok", names[0]), ("user", "withdraw", "ok", names[1]),
    ]  # fmt: skip
