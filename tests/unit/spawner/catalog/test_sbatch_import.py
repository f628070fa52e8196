"""Import of sbatch scripts: options become fields, and every option is reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.api.common_schemas import JobResourcesIn
from spawner.catalog.own_script import ScriptRefused, parse_script
from spawner.catalog.sbatch_import import MAX_OPTIONS, ImportedScript, import_script

SCRIPT = """#!/bin/bash -l
#SBATCH --job-name=resnet
#SBATCH -p gpu -N 2 -A physics
#SBATCH --gres=gpu:a100:4
#SBATCH --cpus-per-task 8 --mem=64G # per node
#SBATCH --time=1-02:30:00
#SBATCH --exclusive
#SBATCH --output=log-%j.txt
#SBATCH --array=0-9
#SBATCH --constraint='a100 & nvlink' --qos=high

srun python train.py
#SBATCH --time=1
"""


def imported(*lines: str) -> ImportedScript:
    text = "".join(f"#SBATCH {line}\n" for line in lines)
    return import_script(f"#!/bin/bash\n{text}hostname\n")


def resources(*lines: str) -> dict[str, Any]:
    return imported(*lines).resources


def notes(result: ImportedScript) -> dict[str, str | None]:
    return {option.text: option.note for option in result.options if option.outcome == "left_out"}


def test_options_become_fields() -> None:
    result = import_script(SCRIPT)
    assert result.name == "resnet"
    assert result.resources == {
        "partition": "gpu", "nodes": 2, "account": "physics", "qos": "high", "gpus": 4,
        "gpu_type": "a100", "cpus": 8, "memory_gb": 64.0, "time_limit_minutes": 1590,
    }  # fmt: skip


def test_the_script_keeps_what_is_no_field() -> None:
    result = import_script(SCRIPT)
    assert result.script == (
        "#!/bin/bash -l\n##SBATCH --exclusive\n##SBATCH --output=log-%j.txt\n"
        "##SBATCH --array=0-9\n#SBATCH '--constraint=a100 & nvlink'\n\n"
        "srun python train.py\n#SBATCH --time=1\n"
    )
    assert parse_script(result.script, 10_000).sbatch_lines == (
        "#SBATCH '--constraint=a100 & nvlink'",
    )


def test_what_is_left_out_has_its_reason() -> None:
    assert notes(import_script(SCRIPT)) == {
        "--exclusive": "It is not supported here.",
        "--output=log-%j.txt": "The portal saves and shows the script's output.",
        "--array=0-9": "Use a template with an array.",
        "#SBATCH --time=1": "sbatch ignores it here, after the first command.",
    }


def test_an_indented_comment_is_no_command() -> None:
    result = import_script("#!/bin/bash\n  # long jobs\n#SBATCH --time=60\nhostname\n")
    assert result.resources == {"time_limit_minutes": 60}
    assert notes(result) == {}


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("90", 90),
        ("90:01", 91),
        ("2:00:00", 120),
        ("1-0", 1440),
        ("1-2:30", 1590),
        ("0-0:0:1", 1),
    ],
)
def test_times_are_those_of_sbatch(text: str, minutes: int) -> None:
    assert resources(f"--time={text}", "") == {"time_limit_minutes": minutes}


@pytest.mark.parametrize("text", ["0", "UNLIMITED", "1:2:3:4", "9999999", "٣", "-5", "1h"])
def test_other_times_are_left_out(text: str) -> None:
    result = imported(f"--time={text}")
    assert result.resources == {}
    assert "##SBATCH " in result.script


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("--gres=gpu",), {"gpus": 1}),
        (("--gres=gpu:v100",), {"gpus": 1, "gpu_type": "v100"}),
        (("-G 4", "-N2"), {"gpus": 2, "nodes": 2}),
        (("--gpus-per-task=1", "--ntasks=4"), {"gpus": 4, "cpus": 4}),
        (("--ntasks=8", "--nodes=2", "-c2"), {"nodes": 2, "cpus": 8}),
        (("--mem-per-cpu=2G", "-c 4"), {"cpus": 4, "memory_gb": 8.0}),
        (("--mem-per-gpu=512", "--gres=gpu:2"), {"gpus": 2, "memory_gb": 1.0}),
        (("--cpus-per-gpu=3", "--gpus-per-node=2"), {"gpus": 2, "cpus": 6}),
        (("--nodes=2-4",), {"nodes": 2}),
    ],
)
def test_resources_are_those_of_a_node(lines: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert resources(*lines) == expected


def test_the_last_of_several_values_counts() -> None:
    result = imported("--time=10", "--mem=4G", "--mem-per-cpu=1G", "--time=20")
    assert result.resources == {"time_limit_minutes": 20, "memory_gb": 1.0}
    assert notes(result) == {
        "--time=10": "It is set again below; the last one counts, as in sbatch.",
        "--mem=4G": "It contradicts another option; the last one counts.",
    }
    assert "##SBATCH --time=10\n##SBATCH --mem=4G\n" in result.script


@pytest.mark.parametrize(
    "line",
    [
        f"--job-name={'n' * 300}", "--partition=a,b", "--mem=0", "--gres=gpu:1,fpga:1", "--gpus=x",
        "--cpus-per-task=100000", "hello", "--account='a b'", "--mem-per-gpu=4G", "--unknown=1",
        "--time", "-J", "--comment 'open", "--begin=a\\b", "--nodes=4096",
    ],
)  # fmt: skip
def test_an_option_without_a_field_stays_as_a_comment(line: str) -> None:
    result = imported(line)
    assert result.resources == {}
    assert result.name is None
    assert [option.outcome for option in result.options] == ["left_out"]
    assert all(option.note for option in result.options)
    assert "\n##SBATCH " in result.script


def test_too_many_cpus_in_total_are_left_out() -> None:
    result = imported("--ntasks-per-node=4096", "--cpus-per-task=2")
    assert result.resources == {}
    assert len(notes(result)) == 2


def test_windows_line_endings_are_replaced() -> None:
    result = import_script("#!/bin/bash\r\n#SBATCH --time=5\r\nhostname\r\n")
    assert (result.script, result.resources) == (
        "#!/bin/bash\nhostname\n",
        {"time_limit_minutes": 5},
    )


def test_a_script_without_options_is_unchanged() -> None:
    assert import_script("echo hi\n") == ImportedScript("echo hi\n", None, {}, [])


def test_too_many_options_are_refused() -> None:
    with pytest.raises(ScriptRefused):
        imported(*["--nice"] * (MAX_OPTIONS + 1))


WORDS = st.one_of(
    st.sampled_from(["--time=", "--mem=", "-N", "--gres=gpu:", "-c", "-n", "--ntasks-per-node="]),
    st.sampled_from(["-J ", "--mem-per-cpu=", "--gpus-per-task=", "1", "4096", "G", " ", "-", ":"]),
    st.text(max_size=4),
)


@given(st.lists(st.lists(WORDS, max_size=6).map("".join), max_size=6))
def test_any_import_fits_a_job(lines: list[str]) -> None:
    result = imported(*lines)
    JobResourcesIn.model_validate(result.resources)
    assert all(option.note for option in result.options if option.outcome == "left_out")
    assert import_script(result.script).resources == {}
