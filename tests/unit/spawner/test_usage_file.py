"""Files with a job's measured usage: what is written is read; anything else is skipped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner import usage_file
from spawner.usage_file import (
    MAX_GPUS,
    MAX_LINE,
    MAX_POINTS,
    GpuInfo,
    Header,
    Point,
    encode_header,
    encode_point,
    file_name,
    merge_groups,
    parse_file,
    parse_header,
    parse_point,
    thin_points,
)

HEADER = Header(10.0, 8192.0, 1_800_000_000.0, (GpuInfo("V100", 32768.0), GpuInfo("A", None)))
POINT = Point(1_800_000_000.5, (512.0, 1.25, 40.0, 1024.0, None, None), 3)


def test_what_is_written_is_read() -> None:
    text = encode_header(HEADER) + encode_point(POINT)
    assert parse_file(text) == (HEADER, [POINT])


def test_last_header_counts() -> None:
    text = encode_header(Header(10.0)) + encode_point(POINT) + encode_header(HEADER)
    assert parse_file(text)[0] == HEADER


@pytest.mark.parametrize(
    "line",
    [
        "", "nonsense", "null", "3", '"text"', "{}", "[]", "[1,1]", '{"step_s":0}',
        '{"step_s":NaN}', "[" * 100_000, "[" * (MAX_LINE - 1), "9" * 5000, '["1",1,1,1]',
        "[NaN,1,1,1]", "[1e999,1,1,1]", "[-1,1,1,1]", "[true,1,1,1]", "[5,0,1,1]", "[5,1.5,1,1]",
        f"[5,1{',1' * (3 + 2 * MAX_GPUS)}]", '[5,1,1,1', "\x00", "[5,1,Infinity,1]",
    ],
)  # fmt: skip
def test_malformed_line_is_skipped(line: str) -> None:
    text = f"{encode_header(HEADER)}{line}\n{encode_point(POINT)}"
    assert parse_file(text) == (HEADER, [POINT])


@pytest.mark.parametrize("value", [-1, 1e300, "5", True, [], {}, None, 10**400])
def test_value_out_of_range_is_unknown(value: Any) -> None:
    assert parse_point([5, 1, value, value, value, value]) == Point(5.0, (None,) * 4)
    header = parse_header({"step_s": 1, "memory_limit_mb": value, "killed_at": value})
    assert header == Header(1.0)


@pytest.mark.parametrize("gpus", [5, {}, "x"])
def test_gpus_that_are_no_list_are_unknown(gpus: Any) -> None:
    assert parse_header({"step_s": 1, "gpus": gpus}) == Header(1.0)


def test_names_of_gpus_are_bounded_and_printable() -> None:
    names: list[Any] = ["A\n\u202e" + "x" * 500, None, 7]
    header = parse_header({"step_s": 1, "gpus": [{"name": name} for name in names] + [3] * 50})
    assert header is not None
    assert header.gpus is not None
    assert [gpu.name for gpu in header.gpus[:3]] == ["A" + "x" * 97, "", ""]
    assert len(header.gpus) == MAX_GPUS


def test_points_ascend_and_are_bounded() -> None:
    lines = [f"[{at},1,1,1]\n" for at in (5, 3, 5, 7)]
    assert [point.start for point in parse_file("".join(lines))[1]] == [5, 7]
    many = "".join(f"[{at},1,1,1]\n" for at in range(3 * MAX_POINTS))
    assert len(parse_file(many)[1]) == 2 * MAX_POINTS


@given(st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
))  # fmt: skip
def test_any_json_is_parsed_or_skipped(value: Any) -> None:
    header, points = parse_file(json.dumps(value) + "\n")
    assert header is None or header.step_s > 0
    assert all(v >= 0 for point in points for v in point.values if v is not None)


def test_merging_keeps_the_peak_of_memory_and_the_mean_of_the_rest() -> None:
    points = [Point(0, (100, None, 10, 5)), Point(10, (300, 1.0, 30, 2), 3), Point(20, (7, 2.0))]
    assert merge_groups(points, 2) == [Point(0, (300, 1.0, 25.0, 5), 4), Point(20, (7, 2.0))]


@pytest.mark.parametrize("most", [1, 2, 7, 10, 11])
def test_thinning_keeps_the_bound_and_all_samples(most: int) -> None:
    points = [Point(at, (at, 1.0)) for at in range(10)]
    thinned = thin_points(points, most)
    assert 0 < len(thinned) <= most
    assert sum(point.samples for point in thinned) == 10
    assert max(point.values[0] or 0 for point in thinned) == 9
    assert thin_points([], most) == []


@pytest.mark.parametrize("node", ["", "../x", "a/b", "-a", "a\n", "x" * 64])
def test_a_node_s_name_makes_no_path(node: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        file_name("0", "0", node)
    assert usage_file.NAME.fullmatch(file_name("12", "1", "node-1.site"))
