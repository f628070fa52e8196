"""The log of an app: bounded, and safe to show."""

from __future__ import annotations

from pathlib import Path

from spawner.node.apps.output import FILE_BYTES, LINE_CHARS, TAIL_LINES, OutputLog, read_tail


def test_a_flood_keeps_its_end_in_two_files(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "log")
    for number in range(400):
        log.write(b"x" * 9_000 + b"\n%d\n" % number)
    log.write(b"y" * 10 * FILE_BYTES + b"\nlast\n")
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * FILE_BYTES
    assert read_tail(tmp_path / "log")[-1] == "last"


def test_what_is_written_is_read_at_once_across_the_files(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "log")
    log.write(b"first\n")
    log.write(b"a" * (FILE_BYTES - 20) + b"\nsecond\n")
    log.write(b"third, not ended")
    assert read_tail(tmp_path / "log")[-2:] == ["second", "third, not ended"]
    log.close()


def test_lines_have_no_control_characters_and_a_length(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "log")
    log.write(b"\x1b[31mred\x1b[0m\r\n10%\r20%\r\nbad \xff\x00 \xe2\x80\xae bidi\n\ttab\n")
    log.write(b"z" * 3000 + b"\n" + b"line\n" * 100)
    log.close()
    lines = read_tail(tmp_path / "log")
    assert len(lines) == TAIL_LINES
    log = OutputLog(tmp_path / "log")
    log.write(b"\x1b[31mred\x1b[0m\r\n10%\r20%\r\nbad \xff\x00 \xe2\x80\xae bidi\n\ttab\n")
    log.write(b"z" * 3000 + b"\n")
    log.close()
    assert read_tail(tmp_path / "log")[-5:] == [
        "red", "20%", "bad \ufffd  bidi", "    tab", "z" * LINE_CHARS,
    ]  # fmt: skip


def test_without_a_log_there_are_no_lines(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "log") == []
