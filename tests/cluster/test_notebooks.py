"""Notebooks as batch jobs, in each language's own environment, through the portal's API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.job_tools import SMALL, log_of, refused, settled
from tests.images import needs
from tests.live import Live

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Language:
    """An environment and a notebook's cells: the first is tagged “parameters”."""

    environment: str
    default: str
    report: str


LANGUAGES = [
    Language("r", "count <- 1", 'cat(R.version$language, 2 * count, text, "\\n")'),
    Language(
        "python2", "count = 1", "import sys\nprint 'two', sys.version_info[0], 2 * count, text"
    ),
]
SAYS = {"r": "R 42 it's $(id)", "python2": "two 2 42 it's $(id)"}


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


def write(portal: Live, name: str, *sources: str) -> None:
    """Write a notebook in alice's home directory, without kernel metadata."""
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {} if number else {"tags": ["parameters"]},
         "source": source, "execution_count": None, "outputs": [], "id": f"cell-{number}"}
        for number, source in enumerate(sources)
    ]  # fmt: skip
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    portal.exec_as("alice", ["/bin/sh", "-c", f"cat > {name} <<'END'\n{text}\nEND\n"])


@needs("python2", "r")
async def test_a_notebook_runs_in_the_environment_of_its_language(
    portal: Live, alice: Client
) -> None:
    mark = token_hex(3)
    wanted = []
    for language in LANGUAGES:
        name = f"{language.environment}-{mark}.ipynb"
        write(portal, name, language.default, language.report)
        body = {
            "template": "notebook",
            "environment": language.environment,
            "parameters": {"notebook": f"~/{name}", "parameters": ["count=21", "text=it's $(id)"]},
            "resources": {**SMALL, "memory_gb": 1},
        }
        wanted.append(alice.api("POST", "/jobs", body))
    for language, submitted in zip(LANGUAGES, await asyncio.gather(*wanted), strict=True):
        assert submitted["environment"] == language.environment
        job = await settled(alice, submitted["id"], timeout_s=180)
        output = await log_of(alice, job)
        assert job["outcome"] == "completed", (output, await log_of(alice, job, stream="stderr"))
        assert SAYS[language.environment] in output
        copy = executed(job, f"{language.environment}-{mark}.ipynb")
        injected = [c for c in copy["cells"] if "injected-parameters" in c["metadata"]["tags"]]
        assert len(injected) == 1
        assert "21" in "".join(injected[0]["source"])
        assert SAYS[language.environment] in json.dumps(copy["cells"][-1]["outputs"])
    portal.exec_as("alice", ["/bin/sh", "-c", f"rm -f *-{mark}.ipynb"])


def executed(job: Any, name: str) -> Any:
    """Return the executed copy that was kept."""
    copy = json.loads((Path(job["logdir"]) / name).read_text())
    for cell in copy["cells"]:
        cell["metadata"].setdefault("tags", [])
    return copy


@needs("r")
async def test_unavailable_environment_is_reported_at_its_field(alice: Client) -> None:
    notebook: dict[str, Any] = {"template": "notebook", "parameters": {"notebook": "~/a.ipynb"}}
    for environment, about in (
        ("torch7", "image of this environment"),
        ("none", "There is no environment"),
    ):
        answer = await refused(alice, **notebook, environment=environment)
        assert about in answer.fields["environment"]
    answer = await refused(alice, template="python-training", environment="r")
    assert answer.fields == {"environment": "This template runs in python3."}
    body = {"parameters": notebook["parameters"], "environment": "r"}
    rendered = await alice.api("POST", "/templates/notebook/render", body)
    assert "run_notebook" in rendered["script"]
    known = await alice.api("GET", "/templates/notebook")
    assert (known["environment"], known["environments"]) == ("python3", "kernel")


async def test_a_session_s_notebooks_are_listed_for_their_owner_alone(
    portal: Live, alice: Client
) -> None:
    name = f"listed-{token_hex(3)}.ipynb"
    write(portal, name, "1")
    session = await alice.start_session(resources={**SMALL, "memory_gb": 1})
    path = f"/sessions/{session['id']}/notebooks"
    found = await alice.api("GET", path)
    newest = next(item for item in found["items"] if item["path"] == f"~/{name}")
    assert newest["environment"] == "python3"
    url = f"{alice.base_url}/api/v1{path}"
    async with portal.login("bob") as bob, bob.http.get(url) as answer:
        assert answer.status == 404
    portal.exec_as("alice", ["rm", name])
    await alice.stop_session(session["id"])
