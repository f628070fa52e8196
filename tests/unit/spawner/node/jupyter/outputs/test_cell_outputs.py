"""Outputs of a cell from the kernel's messages: text as in a terminal, and bounded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.node.jupyter.outputs.cell_outputs import (
    LINE_CHARACTERS,
    TEXT_CHARACTERS,
    CellOutputs,
    StreamText,
)


def text_of(*parts: str, limit: int = TEXT_CHARACTERS) -> str:
    stream = StreamText(limit)
    for part in parts:
        stream.write(part)
    return stream.text


def stream(text: str, name: str = "stdout") -> tuple[str, dict[str, Any]]:
    return "stream", {"name": name, "text": text}


def display(text: str, **transient: str) -> tuple[str, dict[str, Any]]:
    return "display_data", {"data": {"text/plain": text}, "metadata": {}, "transient": transient}


def outputs_of(*messages: tuple[str, dict[str, Any]], limit: int = 10_000) -> CellOutputs:
    outputs = CellOutputs(limit)
    for version, (kind, content) in enumerate(messages, 1):
        outputs.add_message(kind, content, version)
    return outputs


def texts(outputs: CellOutputs) -> list[str]:
    values = outputs.to_json()
    return [one["text"] if "text" in one else one["data"]["text/plain"] for one in values]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("a\nb",), "a\nb"),
        (("10%\r20%",), "20%"),
        (("10%", "\r", "9%"), "9%%"),
        (("10%\r\n20%\r\n",), "10%\n20%\n"),
        (("done\n10%\r", "100%\nend"), "done\n100%\nend"),
        (("ab\b", "c"), "ac"),
        (("\b\ba",), "a"),
    ],
)
def test_stream_text_is_what_a_terminal_shows(parts: tuple[str, ...], expected: str) -> None:
    assert text_of(*parts) == expected


@given(st.text(alphabet="ab\r\b\n", max_size=60), st.integers(0, 60))
def test_stream_text_does_not_depend_on_the_messages(text: str, at: int) -> None:
    assert text_of(text) == text_of(text[:at], text[at:])


def test_progress_bar_stays_one_line() -> None:
    stream = StreamText()
    for step in range(10_000):
        stream.write(f"\r{step:5}/10000 |####      |")
    assert stream.size < 100


def test_long_text_keeps_beginning_and_end() -> None:
    text = text_of(*(f"line {number}\n" for number in range(10_000)), limit=1000)
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 9999\n")
    assert "characters left out: the session keeps" in text
    assert len(text) < 1200


def test_endless_line_is_bounded() -> None:
    stream = StreamText(4 * LINE_CHARACTERS)
    for _ in range(100):
        stream.write("x" * LINE_CHARACTERS)
    assert stream.size <= 5 * LINE_CHARACTERS
    assert "characters left out" in stream.text


def test_long_lines_of_one_message_are_bounded() -> None:
    stream = StreamText(4 * LINE_CHARACTERS)
    stream.write(f"{'x' * (100 * LINE_CHARACTERS)}\nend")
    assert stream.size <= 5 * LINE_CHARACTERS
    assert stream.text.endswith("x\nend")
    assert "characters left out" in stream.text


def test_short_lines_are_stored_together() -> None:
    stream = StreamText(100_000)
    for number in range(100_000):
        stream.write(f"{number}\n")
    assert len(stream._beginning) + len(stream._recent) < 200
    assert stream.text.startswith("0\n1\n")
    assert stream.text.endswith("99998\n99999\n")


@pytest.mark.parametrize(
    "output",
    [
        ("error", {"ename": "E", "evalue": "v" * 5000, "traceback": []}),
        ("display_data", {"data": {}, "metadata": {"a": "m" * 5000}}),
    ],
)
def test_every_large_field_counts(output: tuple[str, dict[str, Any]]) -> None:
    assert outputs_of(output).size > 5000


def test_shortened_outputs_keep_beginning_and_end() -> None:
    outputs = outputs_of(stream("begin" + "x" * 3000), display("1"), stream("y" * 3000 + "end"))
    assert not outputs.truncated
    outputs.shorten(9)
    outputs.shorten(10)
    first, note, last = texts(outputs)
    assert first.startswith("beginxx")
    assert "1 outputs left out" in note
    assert last.endswith("yyend")
    assert outputs.size < 3000
    assert (outputs.truncated, outputs.reset_at) == (True, 9)
    outputs.clear(10)
    assert not outputs.truncated


def test_consecutive_text_of_a_stream_is_one_output() -> None:
    outputs = outputs_of(stream("a"), stream("b"), stream("c", "stderr"), stream("d"))
    assert texts(outputs) == ["ab", "c", "d"]
    assert [at for at, _ in outputs.changed_since(2)] == [1, 2]


def test_clear_output_waits_for_the_next_output() -> None:
    waiting = ("clear_output", {"wait": True})
    outputs = outputs_of(stream("a"), waiting)
    assert texts(outputs) == ["a"]
    assert texts(outputs_of(stream("a"), waiting, stream("b"))) == ["b"]
    assert texts(outputs_of(stream("a"), ("clear_output", {"wait": False}))) == []
    assert outputs_of(stream("a"), waiting, stream("b")).reset_at == 3


def test_update_display_replaces_the_output_with_this_id() -> None:
    outputs = outputs_of(display("10%", display_id="bar"), display("other"))
    assert outputs.update_display("bar", {"data": {"text/plain": "20%"}}, 9)
    assert not outputs.update_display("none", {"data": {}}, 10)
    assert texts(outputs) == ["20%", "other"]
    assert [at for at, _ in outputs.changed_since(8)] == [0]


def test_error_and_result_have_the_notebook_s_fields() -> None:
    error = ("error", {"ename": "E", "evalue": "v", "traceback": ["t"], "more": 1})
    result = ("execute_result", {"data": {"text/plain": "1"}, "execution_count": 4})
    assert outputs_of(error, result).to_json() == [
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]},
        {
            "output_type": "execute_result",
            "data": {"text/plain": "1"},
            "metadata": {},
            "execution_count": 4,
        },
    ]


def test_many_outputs_keep_beginning_and_end() -> None:
    outputs = outputs_of(*(display(f"{number:03}" + "x" * 500) for number in range(100)))
    shown = [text[:3] for text in texts(outputs)]
    assert shown[:2] == ["000", "001"]
    assert shown[-1] == "099"
    assert sum("outputs left out" in text for text in texts(outputs)) == 1
    assert outputs.size <= 10_000
    assert outputs.changed_since(0)[-1][1] == outputs.to_json()[-1]
    assert outputs.reset_at == 100


def test_single_large_output_becomes_a_note() -> None:
    outputs = outputs_of(stream("before\n"), display("x" * 20_000), stream("after\n"))
    assert texts(outputs)[0] == "before\n"
    assert "1 outputs left out" in texts(outputs)[1]
    assert texts(outputs)[2] == "after\n"
