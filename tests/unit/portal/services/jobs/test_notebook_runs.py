"""The location of the executed copy of a notebook that ran as a job."""

from __future__ import annotations

from typing import Any

import pytest

from portal.models import BatchJob
from portal.services.jobs.notebook_runs import find_executed_copy


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("~/out/b.ipynb", "/home/alice/out/b.ipynb"),
        ("out/b.ipynb", "/home/alice/out/b.ipynb"),
        ("/data/b.ipynb", "/data/b.ipynb"),
        ("~/out", "/home/alice/out/a.ipynb"),
        (None, "/home/alice/portal/runs/nightly-0123abcd/a.ipynb"),
    ],
)
def test_find_executed_copy_follows_the_program(output: str | None, expected: str) -> None:
    assert find_executed_copy(job(output=output)) == expected


def test_find_executed_copy_other_jobs_have_none() -> None:
    assert find_executed_copy(job(template="bash")) is None
    assert find_executed_copy(job(notebook=["a.ipynb"])) is None


def job(template: str = "notebook", notebook: Any = "~/work/a.ipynb", **more: Any) -> BatchJob:
    return BatchJob(
        id="0123abcd-0000-4000-8000-000000000000", name="nightly", template=template,
        workdir="/home/alice", parameters={"notebook": notebook, **more},
    )  # fmt: skip
