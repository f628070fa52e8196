"""The shipped templates as jobs of a real Slurm: their results, and how they end.

Templates that train a framework, and multi-node ones, run in test_frameworks.py; benchmarks in
tests/more/test_benchmarks.py.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.job_runs import run_script, run_template, scalars
from tests.live import Live

INSIDE = "import os; print(count, text, os.path.exists('/.singularity.d'))"


@pytest.fixture(scope="module")
def root() -> Path:
    return Path(os.environ["PORTAL_STATE_ROOT"])


def test_a_users_own_script_runs_where_it_is_wanted(portal: Live, root: Path) -> None:
    script = "#!/usr/bin/env python3\nimport os\nprint(os.path.exists('/.singularity.d'))\n"
    assert run_script(portal, root, script, "python3").completed() == "True\n"
    assert run_script(portal, root, script).completed() == "False\n"


def test_the_same_job_twice_runs_once(portal: Live, root: Path) -> None:
    one = run_script(portal, root, "echo ran; sleep 1\n")
    script = str(one.folder / "script.sh")
    options = ["--parsable", "-p", "debug", "--mem=64M", "--output=/dev/null"]
    again = portal.exec_as("alice", ["sbatch", *options, script])
    other = replace(one, job_id=int(again))
    ends = [*one.ended().values(), *other.ended().values()]
    assert sorted(ends) == ["COMPLETED", "FAILED"]
    assert len(list(one.folder.glob("claimed-*"))) == 1


def test_an_array_has_a_task_for_each_combination(portal: Live, root: Path) -> None:
    run = run_template(
        portal,
        root,
        "hyperparameter-array",
        {"learning_rate": [0.01, 0.5], "hidden": [4, 16], "epochs": 3},
    )
    assert run.rendered.array == 4
    run.completed()
    last = [scalars(run.logdir / f"task-{task}", "loss")[-1] for task in range(4)]
    assert len(set(last)) == 4
    assert last[3] < last[1]  # more neurons, but above all the higher rate


def test_a_job_continues_where_it_was(portal: Live, root: Path) -> None:
    run = run_template(
        portal,
        root,
        "checkpoint-and-continue",
        {"epochs": 24, "pause_s": 0.4, "most_runs": 3},
        cpus=1,
    )
    run.wait_for_output("starting from the beginning")
    portal.exec_as("alice", ["scancel", "--batch", "--signal=USR1", str(run.job_id)])
    run.wait_for_output("back to the queue")
    run.start_now()
    output = run.completed()
    assert output.count("starting from the beginning") == 1
    assert output.count("beginning with epoch") == 1
    assert len(scalars(run.logdir, "loss")) == 24


def test_a_notebook_runs_with_parameters_and_its_copy_is_kept(portal: Live, root: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": "count = 1",
         "execution_count": None, "outputs": [], "id": "a"},
        {"cell_type": "code", "metadata": {}, "source": INSIDE,
         "execution_count": None, "outputs": [], "id": "b"},
    ]  # fmt: skip
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    script = f"cat > ~/\"it's.ipynb\" <<'END'\n{text}\nEND\n"
    portal.exec_as("alice", ["/bin/sh", "-c", script])
    given = {"notebook": "~/it's.ipynb", "parameters": ["count=[1, 2]", "text=$(id) 'x'"]}
    run = run_template(portal, root, "notebook", given)
    output = run.completed()
    assert "[1, 2] $(id) 'x' True" in output
    copy = json.loads((run.logdir / "it's.ipynb").read_text())
    assert [cell["outputs"][0]["text"] for cell in copy["cells"] if cell["id"] == "b"]


def test_a_notebook_that_fails_is_a_job_that_failed(portal: Live, root: Path) -> None:
    run = run_template(portal, root, "notebook", {"notebook": "~/none.ipynb"})
    assert run.ended() == {"": "FAILED"}
    assert "none.ipynb" in run.output()
