"""The interpretation of the job's report, and of clocks, by `portal check --as`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from portal.cli.check_results import MAX_TEXT, format_result
from portal.config.settings import Settings
from portal.health.checks.clocks import check_skew
from portal.health.checks.node import MARK, NodeReport, _run_job, judge_report
from spawner.errors import LauncherUnavailable, SpawnerError, Unreachable
from spawner.node import node_report
from spawner.package_hash import hash_package
from spawner.slurm import client

NOW = 1_790_000_000.0
PORTAL = {"status": 401, "type": "application/problem+json", "date": NOW, "here": NOW}
HUB = {"status": 200, "type": "application/json", "date": NOW, "here": NOW}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    values: dict[str, Any] = {
        "public_url": "https://portal.example.org",
        "same_origin_content": True,
        "node_url": "http://head.cluster:8002",
        "state_dir": tmp_path,
        "hub_token_file": tmp_path / "x",
        "internal_secret_file": tmp_path / "x",
        "ldap_urls": ["ldaps://ldap.example.org"],
        "ldap_user_base": "dc=example",
        "runtime_dir": Path("/opt/portal/runtime"),
        "image_dir": Path("/opt/portal/images"),
    }
    return Settings(**values)


def seen(**changes: Any) -> dict[str, Any]:
    return {
        "node": "node01", "python": "3.11.2", "edition": hash_package(), "home": True,
        "portal": PORTAL, "hub": HUB, "folders": {"/opt/portal/images": True},
        "programs": {"/usr/bin/apptainer": "apptainer version 1.4.5"}, "time": NOW, **changes,
    }  # fmt: skip


def problems(settings: Settings, text: str) -> dict[str, str]:
    found = judge_report(settings, "alice", NodeReport(text))
    assert all(result.suggestion for result in found if result.problem)
    return {result.name: result.problem for result in found if result.problem}


def make_report(**changes: Any) -> str:
    return f"a prolog's words\n{MARK}{json.dumps(seen(**changes))}\nan epilog's"


def test_the_marks_are_one() -> None:
    assert node_report.MARK == MARK


def test_a_node_that_is_well(settings: Settings) -> None:
    assert problems(settings, make_report()) == {}
    assert len(judge_report(settings, "alice", NodeReport(make_report()))) == 7


@pytest.mark.parametrize(
    ("changes", "what", "words"),
    [
        ({"edition": "0" * 16}, "runtime on the nodes", "different version of the node programs"),
        ({"folders": {"/opt/portal/images": False}}, "shared folders on the nodes", "can't read"),
        ({"programs": {"/usr/bin/apptainer": None}}, "Apptainer on the nodes", "can't run"),
        ({"portal": {"error": "timed out"}}, "portal from the nodes", "timed out"),
        ({"portal": {**PORTAL, "status": 503}}, "portal from the nodes", "do not reach"),
        ({"portal": {**PORTAL, "type": "text/html"}}, "portal from the nodes", "do not reach"),
        ({"hub": {**HUB, "status": 502}}, "hub from the nodes", "do not reach the hub: status 502"),
        ({"portal": {**PORTAL, "here": NOW + 95}}, "clock of node01", "95 s ahead"),
        ({"portal": {**PORTAL, "here": NOW - 400}}, "clock of node01", "400 s behind"),
    ],
)
def test_what_is_wrong_with_a_node(
    settings: Settings, changes: dict[str, Any], what: str, words: str
) -> None:
    found = problems(settings, make_report(**changes))
    assert list(found) == [what]
    assert words in found[what]


def test_a_certificate_that_nodes_do_not_know(settings: Settings) -> None:
    refused = {"error": "certificate verify failed: unable to get local issuer certificate"}
    (result,) = [
        one
        for one in judge_report(settings, "alice", NodeReport(make_report(portal=refused)))
        if one.name == "portal from the nodes"
    ]
    assert "node_url_ca_file" in result.suggestion


@pytest.mark.parametrize(
    "text",
    [
        *(f"{MARK}{{", f"{MARK}[]", f"{MARK}{{}}", MARK),
        make_report(portal={**PORTAL, "date": 10**400}),
        make_report(portal={**PORTAL, "here": "now"}),
    ],
)
def test_words_that_are_none_of_ours(settings: Settings, text: str) -> None:
    assert problems(settings, text) == {"job as alice": "the job's output can't be parsed"}


def test_a_job_that_came_to_nothing(settings: Settings) -> None:
    found = judge_report(
        settings,
        "alice",
        NodeReport(problem="the job failed on node01: x", suggestion="y"),
    )
    assert [(one.name, one.problem) for one in found] == [
        ("job as alice", "the job failed on node01: x")
    ]


class Job:
    """A launcher and a Slurm in which a job has succeeded, except for the given failures."""

    def __init__(self, **fails: SpawnerError) -> None:
        self.fails = fails
        self.deleted = 0

    async def submit(self, *_: Any) -> int:
        return 7

    async def find(self, _job_id: int) -> list[Any]:
        self._unless("find")
        return []

    async def read(self, *_: Any) -> tuple[bytes, int, int]:
        return make_report().encode(), 0, 0

    async def delete_job_folder(self, *_: Any) -> None:
        self.deleted += 1
        self._unless("delete_job_folder")

    def _unless(self, what: str) -> None:
        if what in self.fails:
            raise self.fails[what]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "fails",
    [
        {},
        {"find": Unreachable("No answer.")},
        {"delete_job_folder": LauncherUnavailable("No answer.")},
        {"find": Unreachable("No answer."), "delete_job_folder": LauncherUnavailable("No answer.")},
    ],
)
async def test_failure_is_reported_and_the_folder_removed(
    settings: Settings, fails: dict[str, SpawnerError]
) -> None:
    job: Any = Job(**fails)
    found = await _run_job(settings, job, job, "alice", "/home/alice")
    problem = "lost track of job 7: No answer." if fails else None
    assert (found.problem, bool(found.text), job.deleted) == (problem, not fails, 1)


def test_clocks() -> None:
    assert check_skew(29.0).problem is None
    assert check_skew(-31.0).problem == "Its clock is 31 s behind this machine's."
    assert "chrony" in check_skew(31.0).suggestion


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("*****\nsdiag output at Sun Nov 22 15:50:20 2026 (1795362620)\nData", "1795362620"),
        ("sdiag output at Sun Nov 22 15:50:20 2026\nData", None),
    ],
)
def test_the_controllers_own_time(text: str, epoch: str | None) -> None:
    found = client._TIME.search(text)
    assert found is not None
    assert found["epoch"] == epoch


def test_a_node_looks_without_failing(tmp_path: Path) -> None:
    """Nothing listens at the address, and the other paths do not exist either."""
    bodies = {
        "node_url": "http://127.0.0.1:9", "ca": None, "folders": [str(tmp_path), "/nonexistent"],
        "programs": ["/bin/true", "/nonexistent"],
    }  # fmt: skip
    found = node_report.run_checks(bodies)
    assert found["folders"] == {str(tmp_path): True, "/nonexistent": False}
    assert found["programs"] == {"/bin/true": found["programs"]["/bin/true"], "/nonexistent": None}
    assert found["programs"]["/bin/true"] is not None
    assert "error" in found["portal"]
    assert found["edition"] == hash_package()


def test_job_output_cannot_control_the_terminal(settings: Settings) -> None:
    forged = {"/opt/\x1b[2J\x9b8m" + "x" * 10_000: False}
    found = judge_report(settings, "alice", NodeReport(make_report(folders=forged)))
    lines = [format_result(one) for one in found]
    (line,) = [line for line in lines if "/opt/" in line]
    assert all(letter.isprintable() or letter == "\n" for letter in line)
    assert len(line) < 2 * MAX_TEXT


def test_words_that_are_too_deep_are_no_words(settings: Settings) -> None:
    text = MARK + "[" * 100_000 + "\n"
    (one,) = judge_report(settings, "alice", NodeReport(text))
    assert one.problem == "the job's output can't be parsed"
