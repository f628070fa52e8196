"""The operator's table of nodes: its content, and messages for mistakes."""

import asyncio
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.cluster.node_table import (
    ParsedTable,
    TableAddresses,
    is_address,
    parse_csv,
    parse_yaml,
)
from portal.services.cluster.node_table_file import MAX_BYTES, NodeTable, read

NODE01 = TableAddresses("10.0.0.11", "10.1.0.11", "node01-bmc.example.org")


def list_problems(table: ParsedTable) -> list[str]:
    return [str(problem) for problem in table.problems]


def test_yaml() -> None:
    table = parse_yaml(
        textwrap.dedent("""\
        # our nodes
        node01: {in_band: 10.0.0.11, infiniband: 10.1.0.11, management: node01-bmc.example.org}
        node02:
          in_band: "fd00::12"
          infiniband: ~
        """)
    )
    assert table == ParsedTable({"node01": NODE01, "node02": TableAddresses(in_band="fd00::12")})


@pytest.mark.parametrize("mark", [",", ";"])
def test_csv_with_columns_in_any_order(mark: str) -> None:
    text = "\n".join(
        [
            "infiniband,name,management,in_band",
            "10.1.0.11,node01,node01-bmc.example.org,10.0.0.11",
            "",
            "-, node02 ,,10.0.0.12",
        ]
    )
    table = parse_csv(text.replace(",", mark))
    assert table == ParsedTable({"node01": NODE01, "node02": TableAddresses(in_band="10.0.0.12")})


def test_an_empty_file_is_an_empty_table() -> None:
    assert parse_yaml("") == parse_yaml("# nothing yet\n") == ParsedTable()


def test_mistakes_name_their_line_and_other_lines_count() -> None:
    table = parse_yaml(
        textwrap.dedent("""\
        node01: {in_band: 10.0.0.11}
        node02: {in_band: 10.0.0.300}
        node03: 10.0.0.13
        node04:
          in_band: 10.0.0.14
          inband: 10.0.0.14
          management: [a, b]
        node01: {in_band: 10.0.0.99}
        <b>: {in_band: 10.0.0.15}
        node06: {in_band: 10.0.0.11}
        [a, b]: {}
        """)
    )
    assert table.nodes == {
        "node01": TableAddresses("10.0.0.11"),
        "node02": TableAddresses(),
        "node04": TableAddresses("10.0.0.14"),
        "node06": TableAddresses("10.0.0.11"),
    }
    lines = [problem.line for problem in table.problems]
    assert lines == [2, 3, 6, 7, 8, 9, 10, 11]
    assert list_problems(table)[0] == (
        "line 2: node02: in_band: “10.0.0.300” is neither an address nor a name"
    )
    assert "inband" in list_problems(table)[2]
    assert "twice" in list_problems(table)[4]
    assert "already the address of node01" in list_problems(table)[6]


def test_mistakes_in_csv() -> None:
    table = parse_csv("name,in_band,colour\nnode01,10.0.0.11,red\nnode02\nnode03,no good,\n")
    assert table.nodes == {"node01": TableAddresses("10.0.0.11"), "node03": TableAddresses()}
    assert [problem.line for problem in table.problems] == [1, 3, 4]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("node01: {in_band: [", 1),
        ("- node01\n- node02\n", 1),
        ("node01: {}\n\tnode02: {}\n", 2),
        ("[" * 1000, 1),
    ],
)
def test_what_is_no_table_at_all(text: str, line: int) -> None:
    table = parse_yaml(text)
    assert (table.complete, dict(table.nodes), len(table.problems)) == (False, {}, 1)
    assert table.problems[0].line == line


@pytest.mark.parametrize("text", ["", "node01,10.0.0.11\n", "name,name\n", 'name\n"node01\n'])
def test_what_is_no_csv(text: str) -> None:
    assert not parse_csv(text).complete


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    for table in (parse_csv(text), parse_csv("name,in_band\n" + text), parse_yaml(text)):
        assert table.complete or table.problems


@pytest.mark.parametrize(
    "text", ["10.0.0.1", "fe80::1", "node01", "node01.ib.example.org", "node01.example.org."]
)
def test_these_are_addresses(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize(
    "text", ["10.0.0", "10.0.0.300", "1:2", "-node", "a b", "<i>", "10.0.0.1/24", "a" * 254]
)
def test_these_are_not(text: str) -> None:
    assert not is_address(text)


class TestFile:
    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        assert list_problems(read(tmp_path / "none.yaml")) == [
            "it can't be read: No such file or directory"
        ]
        (tmp_path / "bad.csv").write_bytes(b"name\n\xff")
        assert list_problems(read(tmp_path / "bad.csv")) == ["it isn't UTF-8 text"]
        with (tmp_path / "huge.yaml").open("wb") as file:
            file.truncate(MAX_BYTES + 1)
        assert "larger" in list_problems(read(tmp_path / "huge.yaml"))[0]

    def test_a_spreadsheets_csv_has_a_mark_of_its_own(self, tmp_path: Path) -> None:
        (tmp_path / "nodes.CSV").write_bytes(b"\xef\xbb\xbfname;in_band\r\nnode01;10.0.0.11\r\n")
        assert read(tmp_path / "nodes.CSV").nodes == {"node01": TableAddresses("10.0.0.11")}

    def test_it_is_read_again_and_what_was_good_stays(self, tmp_path: Path) -> None:
        file = tmp_path / "nodes.yaml"
        table = NodeTable(file)

        def after(text: str | None) -> tuple[list[str], int]:
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
            asyncio.run(table.refresh())
            return sorted(table.nodes), len(table.problems)

        assert after("node01: {}\n") == (["node01"], 0)
        assert after("node01: {}\nnode02: {}\n") == (["node01", "node02"], 0)
        assert after("node01: [\n") == (["node01", "node02"], 1)
        assert after(None) == (["node01", "node02"], 1)
        assert after("node03: {}\n") == (["node03"], 0)
