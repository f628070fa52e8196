"""Environments without a container: kernels, terminals and jobs with real Lmod modules or a
virtualenv.

Also the message where a module is missing.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client, origin_of
from cluster.config.paths import Paths
from tests.cluster.job_tools import SMALL, log_of, settled
from tests.live import Live
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

MISSING = """\
title: Modules that are not there
language: python
version: "3.11"
runtime: modules
modules: [python/3.11, no-such-module/2]
kernel: {argv: [python3, -m, ipykernel_launcher, -f, "{connection_file}"]}
"""
RANKS = """\
title: Ranks with modules
description: For a test.
environment: science
script: |
  on_each_node python3 -c "import os; os.write(1, f'rank with {os.getenv(\\"LOADEDMODULES\\")}\\n'.encode())"
"""  # noqa: E501
SHOW = """
import json, os, sys
print(json.dumps({"prefix": sys.prefix, "contained": os.path.exists("/.singularity.d"),
                  "env": dict(os.environ), "numpy": __import__("numpy").__file__}))
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "metadata": {}, "source": SHOW, "execution_count": None,
         "outputs": [], "id": "a"}
    ],
    "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip
TERMINAL = "echo $(command -v python3) $(type -t module) :$(echo in)$JUPYTERHUB_API_TOKEN:\r"


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.fixture(scope="module")
async def catalog(portal: Live, alice: Client) -> AsyncIterator[Path]:
    """The site's folder with two more files, reloaded by the running portal."""
    folder = Paths(portal.state).catalog
    files = {
        folder / "environments" / "missing_module.yaml": MISSING,
        folder / "templates" / "ranks-in-modules.yaml": RANKS,
    }
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    await until(
        lambda: _names(alice, "/templates"),
        "the new template",
        done=lambda answer: {"ranks-in-modules"} & answer,
        pause_s=0.2,
    )
    assert "missing_module" in await _names(alice, "/environments")
    yield folder
    for path in files:
        path.unlink()


async def _names(client: Client, path: str) -> set[str]:
    return {item["name"] for item in (await client.api("GET", path))["items"]}


@pytest.fixture(scope="module")
async def jobs(portal: Live, alice: Client, catalog: Path) -> dict[str, Any]:
    """All the jobs of this file, submitted at once."""
    home = Paths(portal.state).home / "alice"
    (home / "science.ipynb").write_text(json.dumps(NOTEBOOK))
    script = f"#!/usr/bin/env python3\n{SHOW}"
    bodies: dict[str, Any] = {
        "modules": {"script": script, "environment": "science"},
        "virtualenv": {"script": script, "environment": "science_venv"},
        "missing": {"script": "echo ran", "environment": "missing_module"},
        "ranks": {"template": "ranks-in-modules"},
        "notebook": {
            "template": "notebook",
            "environment": "science",
            "parameters": {"notebook": "~/science.ipynb"},
        },
    }
    more: dict[str, dict[str, Any]] = {
        "ranks": {"nodes": 2, "partition": "debug"},
        "modules": {"cpus": 2},
        "notebook": {"memory_gb": 1},
    }
    return {
        name: await alice.api(
            "POST", "/jobs", {**body, "resources": {**SMALL, **more.get(name, {})}}
        )
        for name, body in bodies.items()
    }


@pytest.fixture(scope="module")
async def running(alice: Client, jobs: dict[str, Any]) -> AsyncIterator[Any]:
    """A session in the modules environment, open in alice's browser."""
    resources = {"cpus": 2, "memory_gb": 2, "time_limit_minutes": 30}
    made = await alice.start_session(name="modules", environment="science", resources=resources)
    session = await alice.wait_session(made["id"], "running", "ended", timeout_s=PATIENCE_S)
    assert session["state"] == "running", session["reason"]
    await alice.open_lab(session)
    yield session
    await alice.stop_session(session["id"])


@pytest.fixture(scope="module")
def wheel(portal: Live) -> Path:
    """A package of one line, in alice's home directory."""
    path = Paths(portal.state).home / "alice" / "onething-1.0-py3-none-any.whl"
    about = "Metadata-Version: 2.1\nName: onething\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("onething.py", "VALUE = 42\n")
        file.writestr("onething-1.0.dist-info/METADATA", about)
        file.writestr("onething-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("onething-1.0.dist-info/RECORD", "onething.py,,\n")
    return path


def seen(text: str) -> Any:
    """Return the output of SHOW."""
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))


async def test_what_the_demo_offers_is_available_with_its_runtime(alice: Client) -> None:
    found = {item["name"]: item for item in (await alice.api("GET", "/environments"))["items"]}
    for name, runtime in (("science", "modules"), ("science_venv", "virtualenv")):
        assert found[name]["available"], found[name]["unavailable_reason"]
        assert (found[name]["runtime"], found[name]["kernel"]) == (runtime, True)
        assert (found[name]["language"], found[name]["version"]) == ("python", "3.11")


async def test_the_node_s_login_shell_has_modules(portal: Live) -> None:
    shell = ["bash", "-lc", "module -t avail 2>&1"]
    shown = portal.exec_as("alice", shell, node="node01").split()
    assert {"python/3.11", "threads/1.0"} <= set(shown)


async def test_a_cell_runs_with_the_modules_loaded(
    portal: Live, alice: Client, running: Any
) -> None:
    async with alice.kernel(running) as kernel:
        shown = seen((await kernel.run(SHOW)).text)
        sent = await kernel.send("import time\nprint('on', flush=True)\ntime.sleep(60)")
        assert "on" in await kernel.first_output(sent)
        await kernel.control("interrupt")
        assert "KeyboardInterrupt" in (await kernel.result(sent)).error
    assert shown["prefix"] == str(Paths(portal.state).science)
    assert not shown["contained"]
    env = shown["env"]
    assert env["LOADEDMODULES"] == "python/3.11:threads/1.0"
    assert env["OMP_NUM_THREADS"] == "2"
    assert env["PORTAL_ENVIRONMENT"] == "science"
    assert not {"JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN"} & env.keys()


@pytest.mark.parametrize("environment", ["science", "science_venv"])
async def test_what_pip_installs_is_the_user_s_own_and_lasts(
    portal: Live, alice: Client, running: Any, wheel: Path, environment: str
) -> None:
    packages = Paths(portal.state).home / "alice/.local/share/portal/packages"
    async with alice.kernel(running, environment) as kernel:
        output = await kernel.run(f"%pip install --no-index {wheel}")
        assert "Successfully installed onething-1.0" in output.text, output
        assert (await kernel.run("import onething; print(onething.__file__)")).text.startswith(
            str(packages / environment)
        )
    async with alice.kernel(running, environment) as kernel:
        assert (await kernel.run("import onething; print(onething.VALUE)")).text == "42\n"
    shutil.rmtree(packages / environment)


async def test_terminals_on_the_node_and_inside_have_modules(
    portal: Live, alice: Client, running: Any
) -> None:
    science = str(Paths(portal.state).science)
    on_node = await _terminal(alice, running, {})
    assert f"{science}/bin/python3" not in on_node
    assert "function :in:" in on_node
    inside = await _terminal(alice, running, {"name": "env_science"})
    assert f"{science}/bin/python3 function :in:" in inside


async def _terminal(client: Client, session: Any, body: Any) -> str:
    """Return a terminal's output up to the answer of TERMINAL, as one line."""
    made = await client.jupyter(session, "POST", "api/terminals", body)
    url = f"{client.address(session['url'])}terminals/websocket/{made['name']}"
    shown = ""
    async with (
        client.http.ws_connect(url, origin=origin_of(url)) as socket,
        asyncio.timeout(PATIENCE_S),
    ):
        await socket.send_json(["set_size", 50, 500])
        await socket.send_json(["stdin", TERMINAL])
        while ":in:" not in shown:
            message: list[Any] = await socket.receive_json()
            kind, text, *_ = [*message, ""]
            shown += str(text) if kind == "stdout" else ""
    await client.jupyter(session, "DELETE", f"api/terminals/{made['name']}")
    return shown


async def test_kernel_with_missing_module_reports_it_in_session_log(
    alice: Client, running: Any
) -> None:
    await alice.jupyter(running, "POST", "api/kernels", {"name": "missing_module"})
    sentence = f"the module no-such-module/2 can't be loaded on {running['node']}: "
    await until(
        lambda: _session_log(alice, running),
        "the reason in the session's log",
        done=lambda answer: sentence in answer,
        pause_s=0.2,
    )


async def _session_log(client: Client, session: Any) -> str:
    query = "stream=stderr&offset=0"
    return str((await client.api("GET", f"/sessions/{session['id']}/log?{query}"))["text"])


@pytest.mark.parametrize("name", ["modules", "virtualenv"])
async def test_a_script_runs_in_the_environment(
    portal: Live, alice: Client, jobs: dict[str, Any], name: str
) -> None:
    job = await settled(alice, jobs[name]["id"], timeout_s=PATIENCE_S)
    assert job["outcome"] == "completed", job["reason"]
    shown = seen(await log_of(alice, job))
    assert shown["prefix"] == str(Paths(portal.state).science)
    assert shown["env"].get("LOADEDMODULES") == (
        "python/3.11:threads/1.0" if name == "modules" else None
    )
    assert shown["env"]["PORTAL_LOGDIR"]
    assert (shown["env"].get("OMP_NUM_THREADS") == "2") == (name == "modules")


async def test_a_job_whose_module_is_missing_fails_with_a_sentence(
    alice: Client, jobs: dict[str, Any]
) -> None:
    job = await settled(alice, jobs["missing"]["id"], timeout_s=PATIENCE_S)
    assert job["outcome"] == "failed"
    assert await log_of(alice, job) == ""
    output = await log_of(alice, job, stream="stderr")
    assert f"portal: the module no-such-module/2 can't be loaded on {job['node']}: " in output


async def test_each_node_loads_the_modules_for_its_ranks(
    alice: Client, jobs: dict[str, Any]
) -> None:
    job = await settled(alice, jobs["ranks"]["id"], timeout_s=PATIENCE_S)
    assert job["outcome"] == "completed", job["reason"]
    lines = sorted((await log_of(alice, job)).splitlines())
    assert lines == [f"{rank}: rank with python/3.11:threads/1.0" for rank in (0, 1)]


async def test_a_notebook_runs_as_a_job_with_the_modules_loaded(
    alice: Client, jobs: dict[str, Any]
) -> None:
    job = await settled(alice, jobs["notebook"]["id"], timeout_s=PATIENCE_S)
    assert job["outcome"] == "completed", (job["reason"], await log_of(alice, job))
    assert seen(await log_of(alice, job))["env"]["LOADEDMODULES"] == "python/3.11:threads/1.0"
