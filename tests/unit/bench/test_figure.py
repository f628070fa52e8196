"""The benchmarks' arithmetic: percentiles, verdicts, the end of a response, counted commands."""

from __future__ import annotations

import json

import pytest

from bench.figure import Figure, at_least, at_most, markdown, median, percentile, table
from bench.load import BadResponse, Target, response_end
from bench.queries import commands
from bench.stored import render_stored

HEAD = b"HTTP/1.1 200 OK\r\n"


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(n) for n in range(1, 101)]
    assert percentile(values, 99) == 99
    assert percentile(values, 100) == 100
    assert median([3.0, 1.0, 2.0]) == 2
    assert percentile([7.0], 99) == 7
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_a_budget_is_met_on_its_own_side() -> None:
    assert Figure("a", 1.5, "s", budget=at_most(1.5)).verdict == "met"
    assert Figure("a", 1.6, "s", budget=at_most(1.5)).verdict == "MISSED"
    assert Figure("a", 0.7, "", budget=at_least(0.8)).verdict == "MISSED"
    assert Figure("a", 0.7, "").verdict == ""


def test_the_ratio_is_to_the_alternative() -> None:
    assert Figure("a", 3.0, "s", 6.0, "b").ratio == 0.5
    assert Figure("a", 3.0, "s").ratio is None
    assert Figure("a", 3.0, "s", 0.0, "b").ratio is None


def test_tables_show_every_column() -> None:
    figure = Figure("requests", 9521.4, "/s", 26724.0, "direct", at_least(9000))
    (heading, line) = table([figure]).splitlines()
    assert line.index("26,724 /s") == heading.index("beside")
    assert line.endswith("met")
    assert "| requests | 9,521 /s | 26,724 /s | direct | 0.36 | ≥ 9,000 /s | met |" in markdown(
        [figure]
    )


def test_response_ends_at_its_content_length() -> None:
    answer = HEAD + b"Content-Length: 3\r\n\r\nabc"
    assert response_end(answer) == len(answer)
    assert response_end(answer + b"HTTP/1.1") == len(answer)
    assert response_end(answer[:-1]) is None
    assert response_end(HEAD + b"Content-Le") is None


def test_a_length_in_the_body_is_not_the_answers() -> None:
    body = b"\r\nContent-Length: 9999\r\n"
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    answer = head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    assert response_end(answer) == len(answer)


def test_chunks_end_with_an_empty_one() -> None:
    answer = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\n0\r\n\r\n0\r\n\r\n"
    assert response_end(answer) == len(answer)
    assert response_end(answer[:-2]) is None
    assert response_end(answer[:-5]) is None


def test_an_answer_without_a_length_is_refused() -> None:
    with pytest.raises(BadResponse):
        response_end(HEAD + b"Server: x\r\n\r\nabc")


def test_a_target_sends_the_path_with_its_query() -> None:
    target = Target.get("http://127.0.0.1:8000/a/b?c=d", {"Cookie": "x=y"})
    assert (target.host, target.port) == ("127.0.0.1", 8000)
    assert target.request.startswith(b"GET /a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n")
    assert target.request.endswith(b"\r\nCookie: x=y\r\n\r\n")


def test_commands_are_counted_by_their_own_message() -> None:
    sent = {"REQUEST_JOB_INFO": 15.0, "REQUEST_NODE_INFO": 4.0, "REQUEST_PARTITION_INFO": 20.0}
    assert commands(sent) == 20
    assert commands({**sent, "DBD_GET_JOBS_COND": 2.0}) == 22
    assert commands({"REQUEST_JOB_INFO": 1.0}) == 1


def test_stored_results_are_the_table_with_commit_date_and_machine() -> None:
    figures = (Figure("a", 2.0, "ms", 1.0, "b", at_most(3)), Figure("c", 1.0, ""))
    entry = {
        "at": "2026-11-28T12:00:00+00:00",
        "commit": "abc1234",
        "machine": {"processor": "P", "cpus": 2, "memory": "1 kB", "load": [0.25, 1, 2]},
        "versions": {"python": "3.11"},
        "figures": [figure.as_json() for figure in figures],
    }
    text = render_stored({"one": json.loads(json.dumps(entry))}, ["none", "one"])
    assert text.endswith(markdown(figures))
    for part in ("`one`", "2026-11-28", "abc1234", "0.2, 1.0, 2.0", "2 × P", "python 3.11"):
        assert part in text
