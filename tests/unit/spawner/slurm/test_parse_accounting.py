"""Slurm's accounting: recorded responses, and the commands sent to it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.slurm import parse_accounting as parse
from spawner.slurm.parse import BadOutput
from spawner.slurm.parse_accounting import InUse, JobTime
from tests.paths import TESTS

RECORDED = TESTS / "data/slurm/22.05.8"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def test_associations_with_their_figures() -> None:
    found = parse.parse_associations(recorded("associations.txt"))
    assert found["research", "carol", ""] == {
        "QOS": ["normal"],
        "cpu": 8,
        "gres/gpu": 1,
        "gres/gpu:v100": 1,
        "mem": 5632,
        "MaxSubmitJobs": 12,
        "MaxWall": 1530,
    }
    assert found["teaching", "", ""] == {"QOS": ["normal"], "gres/gpu": 2, "GrpSubmitJobs": 50}
    assert found["teaching", "bob", "cpu"] == {"QOS": ["normal"], "MaxSubmitJobs": 0}


def test_burst_buffers_with_units_do_not_spoil_a_record() -> None:
    assert parse.parse_tres("bb/datawarp=100G,cpu=2,gres/gpu=1") == {"cpu": 2, "gres/gpu": 1}


@pytest.mark.parametrize("text", ["research|bob\n", "a|b||q||mem=lots|||\n", "a|b||||||x|1:2\n"])
def test_what_can_not_be_read_is_not_believed(text: str) -> None:
    with pytest.raises((BadOutput, ValueError)):
        parse.parse_associations(text)


def test_how_the_cluster_is_set_up() -> None:
    facts = parse.parse_facts(recorded("config.txt"), recorded("tres.txt"), "normal\nhigh\n")
    assert facts.cluster == "demo"
    assert facts.enforces == {"associations", "limits", "qos"}
    assert facts.tres == {"cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"} | {
        "gres/gpu",
        "gres/gpu:v100",
    }
    assert facts.qos == {"normal", "high"}
    with pytest.raises(BadOutput):
        parse.parse_facts("", "", "")


def test_what_running_jobs_hold() -> None:
    found = parse.parse_in_use(recorded("in_use.txt"))
    assert found["research", "bob"] == InUse(1, {"v100": 1}, 1, 64, 1)
    assert found["research", ""].gpus == 1  # the account's own usage includes its users'
    assert found["root", "root"] == InUse()


def test_each_run_of_a_job_that_began() -> None:
    found = parse.parse_job_times(recorded("job_times.txt"))
    odd = "9|alice|research|2026-11-01T00:00:00|Unknown|fs/x=3Q,gres/gpu=2,gres/gpu:v100=2|8"
    assert [(job.gpus, job.cpus) for job in parse.parse_job_times(odd)] == [(2, 8)]
    started = datetime(2026, 11, 22, 5, 43, 22, tzinfo=UTC)
    assert found[-1] == JobTime(107, "bob", "research", started, None, gpus=1, cpus=1)
    assert all(job.start for job in found)
    assert len(found) < len(recorded("job_times.txt").splitlines())  # some never started


def test_what_was_refused_is_one_sentence_without_what_helps_at_a_terminal() -> None:
    text = parse.refusal(recorded("sacctmgr_refused.txt"))
    assert "no TRES known by type gres/gpu:k80" in text
    assert "Job(s) active, cancel job(s) before remove" in text
    assert "Use keyword" not in text
    assert "\n" not in text
    assert parse.refusal("") == ""


# --- lines --------------------------------------------------------------------------------------


def test_a_line_for_users_with_the_same_figures() -> None:
    figures = {"gres/gpu": 1, "mem": 4096, "cpu": None, "MaxWall": 60, "MaxSubmitJobs": None}
    assert parse.modify("demo", "research", ["alice", "bob"], "", figures) == (
        "modify user alice,bob where account=research cluster=demo partition= set"
        " GrpTRES=gres/gpu=1,mem=4096M,cpu=-1 MaxWall=60 MaxSubmitJobs=-1"
    )


def test_a_line_for_an_account_and_for_qos() -> None:
    assert parse.modify("demo", "research", [], "", {"GrpSubmitJobs": 9}) == (
        "modify account research where cluster=demo set GrpSubmitJobs=9"
    )
    qos = {"QOS": ["high", "normal"], "DefaultQOS": "high"}
    assert parse.modify("demo", "r", ["bob"], "gpu", qos).endswith(
        "partition=gpu set QOS=high,normal DefaultQOS=high"
    )
    ended = {"QOS": None, "DefaultQOS": None}
    assert parse.modify("demo", "r", ["bob"], "", ended).endswith("set QOS= DefaultQOS=-1")


def test_lines_that_add_and_remove() -> None:
    assert parse.add("demo", "r", ["alice", "bob"]) == "add user alice,bob account=r cluster=demo"
    assert parse.add("demo", "r", ["bob"], "cpu").endswith("account=r cluster=demo partition=cpu")
    assert parse.remove("demo", "r", "bob") == "remove user bob where account=r cluster=demo"
    assert parse.set_default_account("demo", "bob", "r").endswith("set DefaultAccount=r")
    made = parse.add_account("demo", "r", 'the "group"\nexit')
    assert made == 'add account r cluster=demo Description="the groupexit"'


@given(st.text(min_size=1, max_size=20))
def test_no_name_can_begin_a_line_or_a_word_of_its_own(name: str) -> None:
    try:
        lines = [
            parse.add("demo", name, ["bob"]),
            parse.remove("demo", "r", name),
            parse.modify("demo", "r", [name], "", {"cpu": 1}),
            parse.modify("demo", "r", ["bob"], "", {"QOS": [name]}),
        ]
    except ValueError:
        return
    for line in lines:
        assert line.isascii()
        assert line.isprintable()
        assert not set("\"'\\;,") & set(name)
        assert " " not in name
        assert "=" not in name
