"""Names, ranges, previews and launcher responses: the pure parts of files."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.api.file_answer import ByteRange, disposition, parse_range
from portal.services.files import notebook_preview, previews
from portal.services.files.problems import to_file_error
from spawner.errors import FileProblem, LauncherUnavailable, SpawnerError
from spawner.launcher import file_answers
from spawner.launcher.file_names import from_text, is_text, to_text

THEN = datetime(2026, 1, 2, 3, 4, 5, 600, UTC)
ETAG = '"v"'


class TestNames:
    @given(st.binary(min_size=1, max_size=60))
    def test_each_name_has_one_text_and_comes_back(self, raw: bytes) -> None:
        name = raw.decode("utf-8", "surrogateescape")
        text = to_text(name)
        json.dumps(text, ensure_ascii=False).encode()  # it can be serialized
        assert from_text(text) == name

    @given(st.text(max_size=60))
    def test_each_text_means_one_name(self, text: str) -> None:
        assert is_text(from_text(text)) or any("\uef80" <= char <= "\uefff" for char in text)

    def test_ordinary_names_are_themselves(self) -> None:
        for name in ("a b.txt", "日本", "100%.txt", "\\xff", "\n"):
            assert (to_text(name), from_text(name), is_text(name)) == (name, name, True)
        assert to_text(os.fsdecode(b"caf\xe9")) == "caf\uefe9"
        assert to_text("\uefe9") == "\uefee\uefbf\uefa9"


class TestRanges:
    @pytest.mark.parametrize(
        ("wanted", "part"),
        [
            ("", (200, 0, 100)), ("bytes=0-", (206, 0, 100)), ("bytes=5-9", (206, 5, 5)),
            ("bytes=90-200", (206, 90, 10)), ("bytes=-10", (206, 90, 10)),
            ("bytes=-500", (206, 0, 100)), ("bytes=100-", (416, 0, 0)), ("bytes=-0", (416, 0, 0)),
            ("bytes=9-5", (200, 0, 100)), ("bytes=-", (200, 0, 100)), ("lines=1-2", (200, 0, 100)),
            ("bytes=0-1,5-6", (200, 0, 100)), (f"bytes={'9' * 5000}-", (416, 0, 0)),
        ],
    )  # fmt: skip
    def test_what_is_asked_for(self, wanted: str, part: tuple[int, int, int]) -> None:
        found = parse_range({"range": wanted}, 100, ETAG, THEN)
        assert (found.status, found.offset, found.length) == part

    def test_only_of_what_the_browser_has(self) -> None:
        asked = {"range": "bytes=5-"}
        for tag, status in (
            (ETAG, 206), ('"other"', 200), ("W/" + ETAG, 200), ("nonsense", 200),
            ("Fri, 02 Jan 2026 03:04:05 GMT", 206), ("Fri, 02 Jan 2026 03:04:06 GMT", 200),
        ):  # fmt: skip
            assert parse_range({**asked, "if-range": tag}, 100, ETAG, THEN).status == status
        assert parse_range({"if-none-match": f'"x", W/{ETAG}'}, 100, ETAG, THEN).status == 304
        assert parse_range(asked, 0, ETAG, THEN).status == 416
        assert ByteRange(416, 0, 0, 7).headers["Content-Range"] == "bytes */7"

    def test_unchanged_file_has_no_length(self) -> None:
        assert "Content-Length" not in ByteRange(304, 0, 0, 7).headers
        assert ByteRange(200, 0, 7, 7).headers["Content-Length"] == "7"

    def test_names_in_headers(self) -> None:
        found = disposition('a"\r\nSet-Cookie: x\\é\uefe9')
        assert found.isascii()
        assert "\n" not in found
        assert found.startswith('attachment; filename="a___Set-Cookie: x___"')
        assert found.endswith("filename*=UTF-8''a%22%0D%0ASet-Cookie%3A%20x%5C%C3%A9%EF%BF%BD")


class TestPreviews:
    @given(st.binary(max_size=300), st.booleans(), st.sampled_from(["a", "a.csv", "a.tsv"]))
    def test_anything_has_one(self, data: bytes, more: bool, name: str) -> None:
        found = previews.render_preview(name, data, len(data) + more)
        json.dumps(found)
        assert found["kind"] in {"empty", "text", "csv", "image", "binary"}

    def test_a_character_cut_in_two_is_no_reason(self) -> None:
        data = "ä".encode() * 10
        assert previews.render_preview("a", data[:-1], 20)["encoding"] == "utf-8"
        assert previews.render_preview("a", data[:-1], 19)["encoding"] == "latin-1"

    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
    def test_text_is_saved_as_it_was_read(self, text: str) -> None:
        for encoding in ("utf-8-sig", "utf-16-le", "utf-16-be"):
            found = previews.decode_text(previews.encode_text(text, encoding), cut=False)
            assert found == previews.Text(text, encoding)

    def test_tables(self) -> None:
        found = previews.parse_table('a\tb\n1\t"x\ty"\n')
        assert found is not None
        assert (found["delimiter"], found["columns"]) == ("\t", ["a", "b"])
        assert found["rows"] == [["1", "x\ty"]]
        found = previews.parse_table("1,2\n3\n")
        assert found is not None
        assert (found["columns"], found["rows"]) == (["1", "2"], [["1", "2"], ["3"]])
        long = previews.parse_table("n\n" + "1\n" * 500)
        assert long is not None
        assert (len(long["rows"]), long["truncated"]) == (200, True)
        assert previews.parse_table('"' + "x" * 200_000) is None

    @given(st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cells", "outputs", "data", "source", "text", "output_type",
                             "metadata", "image/png", "traceback", "cell_type"]),
            inner, max_size=4,
        ),
        max_leaves=20,
    ))  # fmt: skip
    def test_no_notebook_is_too_odd(self, found: Any) -> None:
        for whole in (found, {"cells": found}, {"cells": [{"outputs": found}]}):
            json.dumps(notebook_preview.cells(json.dumps(whole).encode()))

    def test_a_notebook_is_bounded(self) -> None:
        cell = {"cell_type": "code", "source": "x" * 100_000, "outputs": [{}] * 50}
        found = notebook_preview.cells(json.dumps({"cells": [cell] * 600}).encode())
        assert found is not None
        assert (len(found["cells"]), found["truncated"]) == (500, True)
        assert len(found["cells"][0]["source"]) == notebook_preview.MAX_SOURCE
        assert notebook_preview.cells(b"[" * 100_000) is None


class TestAnswers:
    ENTRY: ClassVar[dict[str, Any]] = {
        "name": "a\udcff", "kind": "file", "is_link": False, "target_kind": None, "size_bytes": 1,
        "modified_at": 1e300, "mode": 0o7777777, "owner": "o", "readable": True, "writable": True,
        "version": "v",
    }  # fmt: skip

    def test_an_entry_is_checked(self) -> None:
        found = file_answers.entry(self.ENTRY)
        assert (found.name, found.mode, found.modified_at.year) == ("a\uefff", 0o7777, 9999)
        wrong: dict[str, Any]
        for wrong in (
            {"name": 5}, {"name": "\ud800"}, {"kind": "x"}, {"target_kind": []}, {"mode": "1"},
            {"size_bytes": -1}, {"size_bytes": True}, {"modified_at": "x"}, {"version": None},
        ):  # fmt: skip
            with pytest.raises(LauncherUnavailable):
                file_answers.entry({**self.ENTRY, **wrong})

    def test_refusals_carry_their_details(self) -> None:
        more = {"code": "offset", "offset": 5, "secret": "x", "version": [], "modified_at": 1.5}
        found = to_file_error(FileProblem("offset", "No.", more))
        assert (found.status, found.slug) == (409, "wrong-offset")
        assert found.extension == {"offset": 5, "modified_at": "1970-01-01T00:00:01.500000+00:00"}
        assert to_file_error(FileProblem("never heard of", "No.")).slug == "file-failed"
        assert to_file_error(FileProblem("bad-name", "No.")).errors[0].field == "path"
        assert to_file_error(LauncherUnavailable("x")).slug == "files-away"
        assert to_file_error(SpawnerError("x")).status == 503
