"""Submitted jobs: their script, and the parameters of templates."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from client.commands.run import (
    RunRequest,
    build_body,
    check_outcome,
    check_request,
    parse_values,
    render_script,
)
from client.errors import ExitCode, JobFailed, UsageProblem
from client.models import JobSummary, RequestedResources, TemplateSchema

SCHEMA = TemplateSchema(
    "training",
    {
        "properties": {
            "epochs": {"type": "integer"},
            "rate": {"type": "number"},
            "fast": {"type": "boolean"},
            "note": {"type": ["string", "null"]},
            "layers": {"type": "array", "items": {"type": "integer"}},
            "script": {"type": ["string", "null"], "x-widget": "path"},
            "arguments": {"type": "array", "items": {"type": "string"}},
        }
    },
)


def job(**changes: Any) -> JobSummary:
    values: dict[str, Any] = {
        "id": "11111111-1111-4111-8111-111111111111", "job_id": 7, "name": "train",
        "state": "ended", "outcome": "completed", "exit_code": 0, "reason": None,
        "suggestion": None, "node": None, "submitted_at": "", "started_at": None, "ended_at": None,
        "resources": RequestedResources(None, 1, 0, 1, None, None),
    }  # fmt: skip
    return JobSummary(**{**values, **changes})


def test_parse_values_uses_the_types_of_the_template() -> None:
    values = ["epochs=3", "rate=0.5", "fast=yes", "note=a=b", "layers=1", "layers=2"]
    assert parse_values(values, SCHEMA) == {
        "epochs": 3,
        "rate": 0.5,
        "fast": True,
        "note": "a=b",
        "layers": [1, 2],
    }
    assert parse_values(["note="], SCHEMA) == {"note": None}


@pytest.mark.parametrize("text", ["epochs=many", "fast=perhaps", "layers=x", "other=1", "epochs"])
def test_parse_values_names_what_cannot_be(text: str) -> None:
    with pytest.raises(UsageProblem, match=f"--set {text}"):
        parse_values([text], SCHEMA)


def test_render_script_passes_every_argument_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / "a 'b' $(c)"
    folder.mkdir()
    (folder / "show it.sh").write_text('printf "%s\\n" "$PWD" "$@"\n')
    arguments = ["--x", "two words", "$(touch evil)", "`id`", "'", '"', "-n", "*", "\n"]
    script = render_script(str(folder), "show it.sh", arguments)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n".join([str(folder), *arguments, ""])
    assert not (folder / "evil").exists()


def test_build_body_without_a_template_has_a_script() -> None:
    request = RunRequest("train.py", environment="pytorch", resources={"gpus": 2})
    body = build_body(request, None, "/home/alice/portal-runs/x")
    assert body == {
        "resources": {"gpus": 2},
        "environment": "pytorch",
        "name": "train",
        "script": "#!/bin/bash\ncd -- /home/alice/portal-runs/x || exit\nexec python3 ./train.py\n",
    }


def test_build_body_of_a_template_names_the_program_as_its_script() -> None:
    request = RunRequest("train.py", ["--x"], "training", ["epochs=2"], name="mine")
    body = build_body(request, SCHEMA, "/home/alice/portal-runs/x")
    assert body["template"] == "training"
    assert body["name"] == "mine"
    assert body["parameters"] == {
        "epochs": 2,
        "script": "/home/alice/portal-runs/x/train.py",
        "arguments": ["--x"],
    }


def test_build_body_of_a_template_without_script_is_refused() -> None:
    with pytest.raises(UsageProblem, match="no parameter `script`"):
        build_body(RunRequest("a.py", template="t"), TemplateSchema("t", {}), "/x")


@pytest.mark.parametrize(
    "request_",
    [
        RunRequest(None),
        RunRequest("missing.py"),
        RunRequest("/etc/passwd"),
        RunRequest("../train.py"),
        RunRequest("train.py", values=["a=b"]),
        RunRequest("notes.txt"),
    ],
)
def test_check_request_refuses_before_anything_is_sent(
    tmp_path: Path, request_: RunRequest
) -> None:
    (tmp_path / "train.py").touch()
    (tmp_path / "notes.txt").touch()
    check_request(RunRequest("train.py"), tmp_path)
    with pytest.raises(UsageProblem):
        check_request(request_, tmp_path)


def test_check_outcome_raises_for_a_failed_job_that_was_waited_for() -> None:
    failed = job(outcome="failed", exit_code=3, reason="The script failed.")
    check_outcome(job(), waited=True)
    check_outcome(failed, waited=False)
    with pytest.raises(JobFailed) as raised:
        check_outcome(failed, waited=True)
    assert raised.value.detail == "Job 7 (train) ended: failed, exit code 3. The script failed."
    assert raised.value.code is ExitCode.JOB_FAILED
