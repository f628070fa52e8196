"""A job's measured usage, read by the files program from files that may contain anything."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from spawner.files.jobs import usage as operation
from spawner.usage_file import MAX_BYTES, Header, Point, encode_header, encode_point
from tests.unit.spawner.files.file_home import Filer
from tests.unit.spawner.launcher.launcher_home import GID, UID, UUID

pytest_plugins = ["tests.unit.spawner.files.file_fixtures"]


def lines(*starts: float, step_s: float = 10.0) -> bytes:
    points = (encode_point(Point(start, (100.0 + start, 1.0))) for start in starts)
    return (encode_header(Header(step_s)) + "".join(points)).encode()


def put(filer: Filer, name: str, data: bytes) -> None:
    filer.write(f".local/share/portal/jobs/{UUID}/usage/{name}", data)


def read(filer: Filer, task: int = 0) -> Any:
    return filer.ask("usage", uuid=UUID, task=task)


def starts(node: Any) -> list[float]:
    return [row[0] for row in node["points"]]


def test_job_without_measurements_has_none(filer: Filer) -> None:
    assert read(filer) == {"nodes": [], "left_out": 0}
    filer.folder(f".local/share/portal/jobs/{UUID}")
    assert read(filer) == {"nodes": [], "left_out": 0}


def test_nodes_of_a_task_are_read_with_all_its_runs(filer: Filer) -> None:
    put(filer, "0-0-b.jsonl", lines(1, 11))
    put(filer, "0-1-b.jsonl", lines(5, 30, step_s=20.0))
    put(filer, "0-0-a.jsonl", lines(2))
    put(filer, "7-0-a.jsonl", lines(3))
    found = read(filer)["nodes"]
    assert [(node["node"], starts(node)) for node in found] == [("a", [2]), ("b", [1, 11, 30])]
    assert found[1]["header"]["step_s"] == 20.0
    assert [starts(node) for node in read(filer, 7)["nodes"]] == [[3]]


def test_other_names_links_and_pipes_are_left_alone(filer: Filer) -> None:
    put(filer, "0-0-a.jsonl", lines(2))
    put(filer, "0-0-a.new", lines(9))
    put(filer, "0-0-..jsonl", lines(9))
    folder = filer.home / f".local/share/portal/jobs/{UUID}/usage"
    (folder / "0-0-link.jsonl").symlink_to(folder / "0-0-a.jsonl")
    (folder / "0-0-device.jsonl").symlink_to("/dev/zero")
    (folder / "0-0-folder.jsonl").mkdir()
    os.mkfifo(folder / "0-0-pipe.jsonl")
    os.chown(folder / "0-0-pipe.jsonl", UID, GID)
    assert [node["node"] for node in read(filer)["nodes"]] == ["a"]


@pytest.mark.parametrize("kind", ["link", "file"])
def test_folder_that_is_none_is_not_followed(filer: Filer, kind: str) -> None:
    folder = filer.folder(f".local/share/portal/jobs/{UUID}")
    if kind == "file":
        filer.write(f".local/share/portal/jobs/{UUID}/usage")
    else:
        filer.write("elsewhere/0-0-a.jsonl", lines(2))
        (folder / "usage").symlink_to(filer.home / "elsewhere")
    assert read(filer) == {"nodes": [], "left_out": 0}


def test_huge_files_are_bounded(filer: Filer) -> None:
    put(filer, "0-0-a.jsonl", lines(2) + b"\n" * (MAX_BYTES + 1) + lines(3))
    put(filer, "0-0-b.jsonl", b"x" * (2 * MAX_BYTES))
    put(filer, "0-0-c.jsonl", lines(*range(10_000)))
    found = read(filer)["nodes"]
    assert [node["node"] for node in found] == ["a", "c"]
    assert starts(found[0]) == [2]
    assert len(starts(found[1])) == 4000


def test_answer_for_many_nodes_is_thinned_to_fit(filer: Filer) -> None:
    gpus = [{"name": "V100" * 25, "memory_total_mb": 1}] * 16
    header = json.dumps({"step_s": 10, "gpus": gpus}) + "\n"
    rows = [f"{json.dumps([1.7e9 + at, 1, 1e9, *[1e9] * 33])}\n" for at in range(1000)]
    data = (header + "".join(rows)).encode()
    for number in range(operation.MAX_NODES + 3):
        put(filer, f"0-0-node{number:03}.jsonl", data)
    answer = read(filer)
    assert (len(answer["nodes"]), answer["left_out"]) == (operation.MAX_NODES, 3)
    counts = {len(node["points"]) for node in answer["nodes"]}
    assert counts == {50}
    assert answer["nodes"][0]["header"]["step_s"] == 200.0
    assert len(json.dumps(answer)) < 1 << 20
